package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/ensemble"
)

func anyFault() *rapid.Generator[ensemble.Fault] {
	return rapid.Custom(func(t *rapid.T) ensemble.Fault {
		f := ensemble.Fault{
			Kind: rapid.SampledFrom([]ensemble.Kind{ensemble.Kill, ensemble.Stop, ensemble.Lag, ensemble.Partition,
				ensemble.Mute, ensemble.Deaf, ensemble.Lossy}).Draw(t, "kind"),
			Target: ensemble.Target(rapid.IntRange(-2, 4).Draw(t, "target")),
		}
		switch f.Kind {
		case ensemble.Lag:
			f.Delay = time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "delay"))
		case ensemble.Lossy:
			f.Percent = rapid.IntRange(0, 100).Draw(t, "percent")
		}
		return f
	})
}

func TestFaultsPrintAsTyped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault().Draw(t, "fault")
		if got, err := ensemble.ParseFault(f.String()); got != f || err != nil {
			t.Fatalf("%q is read as %+v, %v; want %+v", f, got, err, f)
		}
	})
	for _, s := range []string{"kill leader", "stop follower", "lag server.2 200ms", "lossy server.5 20%", "mute leader"} {
		if f, err := ensemble.ParseFault(s); f.String() != s || err != nil {
			t.Errorf("%q prints as %q, %v", s, f, err)
		}
	}
}

func TestParseFaultRefuses(t *testing.T) {
	tests := []struct{ in, says string }{
		{"", "whom it strikes"},
		{"kill", "whom it strikes"},
		{"drown leader", "the kinds are kill, stop"},
		{"kill everybody", "leader, follower, or a member"},
		{"kill server.0", "server.1"},
		{"kill server.x", "server.1"},
		{"kill 2", "server.1"},
		{"kill leader now", "too much"},
		{"lag follower", "needs a delay"},
		{"lag follower 5", "needs a delay"},
		{"lag follower 5s 5s", "needs a delay"},
		{"lossy leader", "needs a share"},
		{"lossy leader 20", "needs a share"},
		{"lossy leader 101%", "needs a share"},
		{"lossy leader -1%", "needs a share"},
	}
	for _, test := range tests {
		_, err := ensemble.ParseFault(test.in)
		wantError(t, err, test.says)
	}
}

// deadline is for what is done to servers in a test.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func strike(t *testing.T, e *ensemble.Ensemble, fault string) *ensemble.Struck {
	t.Helper()
	f, err := ensemble.ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	struck, err := e.Strike(deadline(t), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(struck)
	return struck
}

func wantNoStrike(t *testing.T, e *ensemble.Ensemble, fault string, says ...string) {
	t.Helper()
	f, err := ensemble.ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Strike(deadline(t), f)
	wantError(t, err, append(says, fault)...)
}

// wantWell heals all, and checks by itself that the ensemble is well: one leads, the others follow, each serves.
func wantWell(t *testing.T, e *ensemble.Ensemble) {
	t.Helper()
	began := time.Now()
	if err := e.HealAll(deadline(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("healed in %v", time.Since(began))
	leaders := 0
	for i := range e.Servers() {
		status, err := e.Member(i).Status(t.Context())
		if err != nil {
			t.Error(err)
		}
		if status.Mode != "follower" {
			leaders++
		}
	}
	if leaders != 1 {
		t.Errorf("%d members lead", leaders)
	}
	serves(t, e)
}

// silent tells whether a member does not answer as one that serves.
func silent(t *testing.T, e *ensemble.Ensemble, member int) bool {
	_, err := e.Member(member).Status(t.Context())
	return err != nil
}

// wantStruck checks whom a fault has struck, and that others lead then if it was the leader.
func wantStruck(t *testing.T, e *ensemble.Ensemble, struck *ensemble.Struck, role string) {
	t.Helper()
	if struck.Role != role || !strings.Contains(struck.String(), role) {
		t.Errorf("%v has struck the %s, want the %s", struck, struck.Role, role)
	}
	eventually(t, "it does not serve any more", func() bool { return silent(t, e, struck.Member) })
	leader, err := e.WaitLeader(deadline(t))
	if err != nil || leader == struck.Member {
		t.Errorf("%d leads, %v; the fault struck %d", leader, err, struck.Member)
	}
}

// Faults of processes on one ensemble, each healed after.
func TestProcesses(t *testing.T) {
	e := start(t, ensemble.Options{Nodes: 3, SyncLimit: 5})
	for _, fault := range []string{"kill leader", "stop leader", "kill follower", "stop follower"} {
		t.Run(fault, func(t *testing.T) { strikeProcess(t, e, fault) })
	}
	t.Run("without a network", func(t *testing.T) {
		wantNoStrike(t, e, "partition leader", "Options.Namespaces")
		wantNoStrike(t, e, "kill server.4", "has 3 members")
		_, err := e.Partition([]int{0})
		wantError(t, err, "Options.Namespaces")
	})
	t.Run("all at once", func(t *testing.T) { healAll(t, e) })
	t.Run("who does not come back", func(t *testing.T) { neverComesBack(t, e) })
}

func strikeProcess(t *testing.T, e *ensemble.Ensemble, fault string) {
	stillThere := keepsSession(t, e)
	struck := strike(t, e, fault)
	kind, role := string(struck.Fault.Kind), struck.Fault.Target.String()
	wantStruck(t, e, struck, role)
	stillThere()
	name := ensemble.Target(struck.Member).String()
	wantNoStrike(t, e, kind+" "+name, map[string]string{"kill": "does not run", "stop": "stopped already"}[kind])
	wantNoStrike(t, e, "lag "+name+" 10ms", "does not serve")
	if err := errors.Join(struck.Undo(), struck.Undo()); err != nil {
		t.Error(err)
	}
	eventually(t, "it serves again", func() bool { return !silent(t, e, struck.Member) })
	wantWell(t, e)
}

// healAll heals all that can be wrong at once, when no majority is left.
func healAll(t *testing.T, e *ensemble.Ensemble) {
	strike(t, e, "lag follower 200ms")
	strike(t, e, "stop leader")
	for i := range 3 {
		if !e.Member(i).Paused() {
			strike(t, e, "kill "+ensemble.Target(i).String())
		}
	}
	wantWell(t, e)
}

// neverComesBack checks that the error of HealAll names a server that cannot be started again. It comes last.
func neverComesBack(t *testing.T, e *ensemble.Ensemble) {
	struck := strike(t, e, "kill follower")
	spoil(t, e, struck.Member)
	name := ensemble.Target(struck.Member).String()
	wantError(t, e.HealAll(deadline(t)), name+" at ", "has ended", "server.log", "Invalid config")
}

// spoil makes the configuration of a member one that no server starts with.
func spoil(t *testing.T, e *ensemble.Ensemble, member int) {
	t.Helper()
	path := filepath.Join(e.Dir(), fmt.Sprintf("s%d", member+1), "zoo.cfg")
	if err := os.WriteFile(path, []byte("tickTime=soon\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An undo that comes after HealAll does not undo what has happened since.
func TestUndoAfterHealAll(t *testing.T) {
	e := start(t, ensemble.Options{})
	first := strike(t, e, "stop leader")
	wantWell(t, e)
	second := strike(t, e, "stop leader")
	if err := first.Undo(); err != nil || !e.Member(0).Paused() {
		t.Errorf("undone though healed before: %v, paused %v", err, e.Member(0).Paused())
	}
	if err := second.Undo(); err != nil || e.Member(0).Paused() {
		t.Errorf("not undone: %v, paused %v", err, e.Member(0).Paused())
	}
	strike(t, e, "kill server.1")
	wantWell(t, e)
	wantNoStrike(t, e, "kill follower", "no other members")
	wantNoStrike(t, e, "lag leader 10ms", "leads")
}
