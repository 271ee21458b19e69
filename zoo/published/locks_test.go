package published_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zoo/published"
)

// As printed the class fails at once; with the root mended it fails a little later.
func TestLocksAsPrinted(t *testing.T) {
	world(t, func(t *testing.T, servers *fakezk.Local) {
		for _, test := range []struct {
			bugs published.Bugs
			want error
		}{
			{published.AllBugs(), zk.ErrNoChildrenForEphemerals},
			{published.OnlyBugs("LK5"), strconv.ErrSyntax},
			{published.OnlyBugs("LK7"), published.ErrNullPointer},
		} {
			client := connect(t, servers)
			user := published.NewLocksUser(new(published.LocksClass), client, "/lock", test.bugs)
			if err := user.Lock(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("bugs %v: %v, want %v", test.bugs, err, test.want)
			}
			client.Close()
		}
	})
}

type locker interface {
	Lock(context.Context) error
	Unlock(context.Context) error
}

func TestMendedLocksPassOn(t *testing.T) {
	class := new(published.LocksClass)
	for name, make := range map[string]func(recipes.Conn) locker{
		"Locks": func(c recipes.Conn) locker {
			return published.NewLocksUser(class, c, "/lock", published.NoBugs())
		},
		"GoZKLock":    func(c recipes.Conn) locker { return published.NewGoZKLock(c, "/lock", published.NoBugs()) },
		"ProseLock":   func(c recipes.Conn) locker { return published.NewProseLock(c, "/lock", published.NoBugs()) },
		"HerdLock":    func(c recipes.Conn) locker { return published.NewHerdLock(c, "/lock", published.NoBugs()) },
		"ProseRWLock": func(c recipes.Conn) locker { return published.NewProseRWLock(c, "/lock", published.NoBugs()) },
		"SessionLock": func(c recipes.Conn) locker { return published.NewSessionLock(c, "/lock", published.NoBugs()) },
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				passesOn(t, make(connect(t, servers)), make(connect(t, servers)))
			})
		})
	}
}

// passesOn takes a lock in turns.
func passesOn(t *testing.T, a, b locker) {
	must(t, a.Lock(t.Context()))
	for range 2 {
		got := make(chan error, 1)
		go func() { got <- b.Lock(t.Context()) }()
		synctest.Wait()
		if len(got) != 0 {
			t.Error("the second does not wait for the first")
		}
		must(t, a.Unlock(t.Context()))
		must(t, <-got)
		a, b = b, a
	}
	must(t, a.Unlock(t.Context()))
}
