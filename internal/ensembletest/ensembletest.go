// Package ensembletest starts real ZooKeeper servers for tests.
package ensembletest

import (
	"context"
	"testing"
	"time"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/zkclient"
)

// Need skips a test with -short, which is for what needs no servers.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real ZooKeeper servers")
	}
}

// Start starts so many servers, which end with the test. With -short the test is skipped.
func Start(t testing.TB, nodes int) *ensemble.Ensemble {
	t.Helper()
	Need(t)
	e, err := ensemble.Start(t.Context(), ensemble.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	return e
}

// connectMax is how long a session may take, on a busy machine too.
const connectMax = 30 * time.Second

// Connect returns a client that has a session, which ends with the test.
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
