// Package ensembletest starts real ZooKeeper servers for tests.
package ensembletest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/zkclient"
)

// Need skips a test that takes real servers, unless make live runs it.
func Need(t testing.TB) {
	t.Helper()
	testkit.NeedServers(t)
}

// Lasting is the timeout of sessions that a busy machine does not break. Servers with [Options] grant it.
const Lasting = 20 * time.Second

// Options are those of nodes servers that grant sessions which are [Lasting]. Without them servers grant 20 ticks, 2 s,
// and a client that gets no processor for two thirds of that loses its connection.
func Options(nodes int) ensemble.Options {
	return ensemble.Options{Nodes: nodes, Config: []string{fmt.Sprintf("maxSessionTimeout=%d", Lasting.Milliseconds())}}
}

// Start starts an ensemble of nodes servers, which ends with the test. Without make live the test is skipped.
func Start(t testing.TB, nodes int) *ensemble.Ensemble {
	t.Helper()
	Need(t)
	e, err := ensemble.Start(t.Context(), Options(nodes))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	return e
}

// shared is the ensembles that [Share] has started, by the number of servers.
var shared = map[int]*ensemble.Ensemble{}

// Main runs the tests of a package that calls [Share], and stops the shared ensembles.
func Main(m *testing.M) {
	status := m.Run()
	for _, e := range shared {
		e.Stop()
	}
	os.Exit(status)
}

// Share returns an empty ensemble of nodes servers, shared by the package's tests. It is for tests that leave it
// intact and do not run in parallel. Without make live the test is skipped.
func Share(t testing.TB, nodes int) *ensemble.Ensemble {
	t.Helper()
	Need(t)
	if shared[nodes] == nil {
		e, err := ensemble.Start(context.Background(), Options(nodes))
		if err != nil {
			t.Fatal(err)
		}
		shared[nodes] = e
	}
	empty(t, shared[nodes])
	return shared[nodes]
}

// empty removes all znodes but ZooKeeper's own.
func empty(t testing.TB, e *ensemble.Ensemble) {
	t.Helper()
	c, err := zkclient.Config{Servers: e.ConnectString(), SessionTimeout: Lasting}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, _, err := c.Children("/")
	for i := 0; i < len(names) && err == nil; i++ {
		if names[i] != "zookeeper" {
			err = remove(c, "/"+names[i])
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// remove removes a znode with its descendants, some of which may be about to end with their session.
func remove(c *zkclient.Client, path string) error {
	names, _, err := c.Children(path)
	for i := 0; i < len(names) && err == nil; i++ {
		err = remove(c, path+"/"+names[i])
	}
	if err == nil {
		err = c.Delete(path, -1)
	}
	if err == zk.ErrNoNode {
		return nil
	}
	return err
}

// Witness returns a client with a session that lasts, which ends with the test.
func Witness(t testing.TB, servers string) *zkclient.Client {
	t.Helper()
	return Connect(t, zkclient.Config{Servers: servers, SessionTimeout: Lasting})
}

// connectMax bounds the start of a session, on a busy machine too.
const connectMax = 30 * time.Second

// Connect returns a client with a session, which ends with the test.
func Connect(t testing.TB, cfg zkclient.Config) *zkclient.Client {
	t.Helper()
	c, err := cfg.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ctx, cancel := context.WithTimeout(t.Context(), connectMax)
	defer cancel()
	if err := c.WaitSession(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}
