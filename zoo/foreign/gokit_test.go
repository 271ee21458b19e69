package foreign

import (
	"errors"
	"testing"
	"time"

	"github.com/go-kit/kit/sd"
	gokit "github.com/go-kit/kit/sd/zk"
	"github.com/go-kit/log"
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
)

const goKitPath = "/services/add"

// go-kit's discovery of services connects by itself, and is no recipe of a kind: what breaks is made to happen.
func TestGoKit(t *testing.T) {
	t.Run("deregister", func(t *testing.T) { goKitDeregisters(t, fakezktest.Start(t, server.Config{})) })
	t.Run("deaf", func(t *testing.T) { goKitGoesDeaf(t, fakezktest.Start(t, server.Config{})) })
}

func goKitAt(t *testing.T, servers *server.Server) gokit.Client {
	t.Helper()
	client, err := gokit.NewClient([]string{servers.Addr(0)}, log.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Stop)
	return client
}

// A service is registered as a child of the znode that is to be deleted when it is taken off.
func goKitDeregisters(t *testing.T, servers *server.Server) {
	client := goKitAt(t, servers)
	service := gokit.Service{Path: "/services", Name: "add", Data: []byte("10.0.2.10:80")}
	if err := client.Register(&service); err != nil {
		t.Fatal(err)
	}
	if err := client.Deregister(&service); !errors.Is(err, zk.ErrNotEmpty) {
		t.Errorf("Deregister says %v", err)
	}
	if found, _, err := client.GetEntries(goKitPath); err != nil || len(found) != 1 {
		t.Errorf("found after Deregister: %q %v", found, err)
	}
}

// After an error an Instancer waits on the channel that came with it, which is nil.
func goKitGoesDeaf(t *testing.T, servers *server.Server) {
	instancer, err := gokit.NewInstancer(goKitAt(t, servers), goKitPath, log.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(instancer.Stop)
	told := make(chan sd.Event, 10)
	instancer.Register(told)
	testkit.From(t, "the Instancer tells what is there", told)
	other := goKitAt(t, servers)
	register := func(address string) {
		t.Helper()
		if err := other.Register(&gokit.Service{Path: "/services", Name: "add", Data: []byte(address)}); err != nil {
			t.Fatal(err)
		}
	}
	register("10.0.2.10:80")
	if event := testkit.From(t, "the Instancer tells of an instance", told); len(event.Instances) != 1 {
		t.Fatalf("the Instancer tells of %v", event)
	}
	var session int64
	servers.Inspect(func(e *fakezk.Ensemble) { session = e.Sessions()[0].ID })
	if err := servers.Cut(session, "after"); err != nil {
		t.Fatal(err)
	}
	register("10.0.2.11:80")
	if event := testkit.From(t, "the Instancer tells of the lost reply", told); event.Err == nil {
		t.Fatalf("the reply is not lost: %v", event)
	}
	register("10.0.2.12:80")
	select {
	case event := <-told:
		t.Errorf("the Instancer tells of %v", event)
	case <-time.After(2 * time.Second):
	}
}
