package command

import (
	"strings"
	"testing"

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
