package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// torture clean whose connection is lost says what to do, and does it when called again.
func TestCleanLosesItsConnection(t *testing.T) {
	first := strike.Place{Client: 1, Request: 1}
	s := fakezktest.Start(t, server.Config{Faults: &server.Faults{
		Plan: strike.Plan{first: {Fault: strike.Loss, Variant: "after"}}, Struck: func(strike.Strike) {},
	}})
	status, printed, said := command(t, "clean", "--servers", s.Addr(0))
	if status != console.ExitUnknown || printed != "" || strings.Count(said, "\n") != 1 ||
		!strings.Contains(said, "the connection was lost on the way, so call torture clean again") {
		t.Errorf("exit status %d, %q, %q", status, printed, said)
	}
	if status, printed, said := command(t, "clean", "--servers", s.Addr(0)); status != console.ExitOK ||
		printed != "no run has left anything here\n" {
		t.Errorf("exit status %d, %q, %q", status, printed, said)
	}
}

// What a killed run had made above its root goes with the last of the roots below it, in whatever order they are found.
func TestCleanRemovesParents(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c := client(t, s.Addr(0))
	all := zk.WorldACL(zk.PermAll)
	mark := func(root, parents string) *zk.CreateRequest {
		return &zk.CreateRequest{Path: root, Acl: all, Data: []byte("zktorture root 1\n" +
			`{"run":"` + root[1:] + `","began":"2026-01-02T03:04:05Z"` + parents + "}\n")}
	}
	_, err := c.Multi(&zk.CreateRequest{Path: "/made", Acl: all}, &zk.CreateRequest{Path: "/made/for", Acl: all},
		mark("/made/for/a", `,"parents":["/made","/made/for"]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Multi(mark("/made/for/b", "")); err != nil {
		t.Fatal(err)
	}
	status, printed, said := command(t, "clean", "--servers", s.Addr(0), "--root", "/made/for", "--yes")
	if status != console.ExitOK || strings.Count(printed, ": removed\n") != 2 {
		t.Errorf("exit status %d, %q, %q", status, printed, said)
	}
	if names, _, err := c.Children("/"); err != nil || !slices.Equal(names, []string{"zookeeper"}) {
		t.Errorf("left: %q, %v", names, err)
	}
}
