package foreign

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	libkv "github.com/docker/libkv/store/zookeeper"
	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/go-hclog"
	vault "github.com/hashicorp/vault/physical/zookeeper"
	"github.com/kvtools/zookeeper"
	samuel "github.com/samuel/go-zookeeper/zk"
	"github.com/wvanbergen/kazoo-go"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/workload"
)

// A store is what its constructor makes, but for the connection, and the timeout for that.
func TestStoresAreAsConstructed(t *testing.T) {
	servers := fakezktest.Start(t, server.Config{})
	at := []string{servers.Addr(0)}
	quiet := kazoo.NewConfig()
	quiet.Chroot = "/path"
	stores := []struct {
		conn   string
		theirs func() (any, error)
		ours   any
	}{
		{"client", func() (any, error) { return zookeeper.New(t.Context(), at, nil) }, valkeyrieStore(new(zk.Conn))},
		{"client", func() (any, error) { return libkv.New(at, nil) }, libkvStore(new(samuel.Conn))},
		{"conn", func() (any, error) { return kazoo.NewKazoo(at, quiet) }, kazooStore(new(samuel.Conn), "/path")},
		{"client", func() (any, error) {
			conf := map[string]string{"address": at[0], "path": "/path"}
			return vault.NewZooKeeperBackend(conf, hclog.NewNullLogger())
		}, vaultBackend(new(zk.Conn), "/path")},
	}
	for _, store := range stores {
		theirs, err := store.theirs()
		if err != nil {
			t.Fatal(err)
		}
		their, our := reflect.ValueOf(theirs).Elem(), reflect.ValueOf(store.ours).Elem()
		t.Cleanup(fieldOf(their, store.conn).Interface().(interface{ Close() }).Close)
		for i := range their.NumField() {
			name := their.Type().Field(i).Name
			if name == store.conn || name == "timeout" {
				continue
			}
			if a, b := fieldOf(their, name).Interface(), fieldOf(our, name).Interface(); !reflect.DeepEqual(a, b) {
				t.Errorf("%T.%s: constructed %#v, here %#v", theirs, name, a, b)
			}
		}
	}
}

func fieldOf(of reflect.Value, name string) reflect.Value {
	f := of.FieldByName(name)
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// On a good day, over TCP, each recipe does what its kind promises: clients get in one at a time, and all of them do.
func TestGoodDays(t *testing.T) {
	servers := fakezktest.Start(t, server.Config{})
	for _, recipe := range listed {
		t.Run(recipe.Kind+" "+recipe.Name, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			var inside, terms atomic.Int32
			for range 3 {
				client, err := recipe.Connect(t.Context(), []string{servers.Addr(0)}, 4*time.Second, func(zk.State) {})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(client.Close)
				enter, leave := methods(client.Make("/" + strings.ReplaceAll(t.Name(), "/", "-")))
				all.Go(func() {
					for range 2 {
						if err := enter(t.Context()); err != nil {
							t.Error(err)
							return
						}
						if inside.Add(1) > 1 {
							t.Error("there are two inside")
						}
						terms.Add(1)
						inside.Add(-1)
						if err := leave(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			if n := terms.Load(); n != 6 {
				t.Errorf("%d terms of 6", n)
			}
		})
	}
}

func methods(recipe any) (enter, leave func(context.Context) error) {
	if c, is := recipe.(workload.Candidate); is {
		return c.Campaign, c.Resign
	}
	l := recipe.(workload.Locker)
	return l.Lock, l.Unlock
}
