package ensemble_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
)

func fault(kind strike.Fault, target ensemble.Target) ensemble.Fault {
	return ensemble.Fault{Kind: kind, Target: target}
}

func anyFault() *rapid.Generator[ensemble.Fault] {
	return rapid.Custom(func(t *rapid.T) ensemble.Fault {
		return fault(rapid.SampledFrom(strike.Faults(strike.OnEnsemble)).Draw(t, "kind"), ensemble.Target(rapid.IntRange(-2, 4).Draw(t, "target")))
	})
}

// A fault is read from a file as it was written, and whatever can be drawn is valid.
func TestFaultsAreWrittenAndRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault().Draw(t, "fault")
		text, err := json.Marshal(f)
		if err != nil || f.Validate(5) != nil {
			t.Fatalf("%v: %v, %v", f, err, f.Validate(5))
		}
		var got ensemble.Fault
		if err := json.Unmarshal(text, &got); got != f || err != nil {
			t.Fatalf("%s is read as %+v, %v; want %+v", text, got, err, f)
		}
	})
}

func TestFaultsPrint(t *testing.T) {
	for want, f := range map[string]ensemble.Fault{
		"kill leader": fault(strike.Kill, ensemble.Leader), "stop follower": fault(strike.Stop, ensemble.Follower),
		"lag server.2": fault(strike.Lag, 1),
	} {
		if f.String() != want {
			t.Errorf("%+v prints as %q, want %q", f, f, want)
		}
	}
}

// What cannot strike is refused with the reason, when it is read or before it strikes.
func TestFaultsThatCannotBe(t *testing.T) {
	for _, test := range []struct {
		fault   ensemble.Fault
		members int
		says    string
	}{
		{fault("drown", 0), 3, "there are [kill stop"},
		{fault(strike.Kill, 3), 3, "has 3 members"},
		{fault(strike.Kill, ensemble.Follower), 1, "no other members"},
	} {
		wantError(t, test.fault.Validate(test.members), test.says)
	}
	for _, name := range []string{"", "everybody", "server.0", "server.x", "2"} {
		wantError(t, new(ensemble.Target).UnmarshalText([]byte(name)), "leader, follower, or a member", strconv.Quote(name))
	}
}

func hurt(t *testing.T, e *ensemble.Ensemble, f ensemble.Fault) *ensemble.Struck {
	t.Helper()
	struck, err := e.Strike(testkit.Context(t), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(struck)
	return struck
}

func wantNoStrike(t *testing.T, e *ensemble.Ensemble, f ensemble.Fault, says ...string) {
	t.Helper()
	_, err := e.Strike(testkit.Context(t), f)
	wantError(t, err, append(says, f.String())...)
}

// wantWell heals all, and checks by itself that the ensemble is well: one leads, the others follow, each serves.
func wantWell(t *testing.T, e *ensemble.Ensemble) {
	t.Helper()
	began := time.Now()
	if err := e.HealAll(testkit.Context(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("healed in %v", time.Since(began))
	testkit.Until(t, "one leads, and the others follow", func() bool {
		modes := map[string]int{}
		for i := range e.Servers() {
			status, _ := e.Member(i).Status(t.Context())
			modes[status.Mode]++
		}
		return modes["leader"]+modes["standalone"] == 1 && modes["follower"] == len(e.Servers())-1
	})
	serves(t, e)
}

// silent reports whether a member does not answer as one that serves.
func silent(t *testing.T, e *ensemble.Ensemble, member int) bool {
	_, err := e.Member(member).Status(t.Context())
	return err != nil
}

// wantStruck checks which member a fault has struck, and that another leads then if it was the leader.
func wantStruck(t *testing.T, e *ensemble.Ensemble, struck *ensemble.Struck, role string) {
	t.Helper()
	if struck.Role != role || !strings.Contains(struck.String(), role) {
		t.Errorf("%v has struck the %s, want the %s", struck, struck.Role, role)
	}
	testkit.Until(t, "it does not serve any more", func() bool { return silent(t, e, struck.Member) })
	leader, err := e.WaitLeader(testkit.Context(t))
	if err != nil || leader == struck.Member {
		t.Errorf("%d leads, %v; the fault struck %d", leader, err, struck.Member)
	}
}

// Faults of processes on one ensemble, each healed after.
func TestProcesses(t *testing.T) {
	e := three(t)
	all := []ensemble.Fault{
		fault(strike.Kill, ensemble.Leader), fault(strike.Stop, ensemble.Follower),
		fault(strike.Kill, ensemble.Follower), fault(strike.Stop, ensemble.Leader),
	}
	for _, f := range testkit.Sized(all[:2], all) {
		t.Run(f.String(), func(t *testing.T) { strikeProcess(t, e, f) })
	}
	wantNoStrike(t, e, fault(strike.Kill, 3), "has 3 members")
	t.Run("all at once", func(t *testing.T) { healAll(t, e) })
	t.Run("who does not come back", func(t *testing.T) { neverComesBack(t, e) })
}

func strikeProcess(t *testing.T, e *ensemble.Ensemble, f ensemble.Fault) {
	stillThere := keepsSession(t, e)
	struck := hurt(t, e, f)
	wantStruck(t, e, struck, f.Target.String())
	stillThere()
	f.Target = ensemble.Target(struck.Member)
	wantNoStrike(t, e, f, map[strike.Fault]string{strike.Kill: "does not run", strike.Stop: "stopped already"}[f.Kind])
	wantNoStrike(t, e, fault(strike.Lag, f.Target), "does not serve")
	if err := errors.Join(struck.Undo(), struck.Undo()); err != nil {
		t.Error(err)
	}
	testkit.Until(t, "it serves again", func() bool { return !silent(t, e, struck.Member) })
	wantWell(t, e)
}

// healAll heals all that can be wrong at once, when no majority is left.
func healAll(t *testing.T, e *ensemble.Ensemble) {
	hurt(t, e, fault(strike.Lag, ensemble.Follower))
	hurt(t, e, fault(strike.Stop, ensemble.Leader))
	for i := range 3 {
		if !e.Member(i).Paused() {
			hurt(t, e, fault(strike.Kill, ensemble.Target(i)))
		}
	}
	wantWell(t, e)
}

// neverComesBack checks that the error of HealAll names a server that cannot be started again.
func neverComesBack(t *testing.T, e *ensemble.Ensemble) {
	struck := hurt(t, e, fault(strike.Kill, ensemble.Follower))
	config := filepath.Join(e.Dir(), fmt.Sprintf("s%d", struck.Member+1), "zoo.cfg")
	right, err := os.ReadFile(config)
	must(t, err)
	must(t, os.WriteFile(config, []byte("tickTime=soon\n"), 0o644))
	name := ensemble.Target(struck.Member).String()
	wantError(t, e.HealAll(testkit.Context(t)), name+" at ", "has ended", "server.log", "Invalid config")
	must(t, os.WriteFile(config, right, 0o644))
	must(t, e.Member(struck.Member).Restart(testkit.Context(t)))
}

// An undo that comes after HealAll does not undo what has happened since.
func TestUndoAfterHealAll(t *testing.T) {
	e := start(t, ensemble.Options{})
	first := hurt(t, e, fault(strike.Stop, ensemble.Leader))
	wantWell(t, e)
	second := hurt(t, e, fault(strike.Stop, ensemble.Leader))
	if err := first.Undo(); err != nil || !e.Member(0).Paused() {
		t.Errorf("undone though healed before: %v, paused %v", err, e.Member(0).Paused())
	}
	if err := second.Undo(); err != nil || e.Member(0).Paused() {
		t.Errorf("not undone: %v, paused %v", err, e.Member(0).Paused())
	}
	hurt(t, e, fault(strike.Kill, 0))
	wantWell(t, e)
	wantNoStrike(t, e, fault(strike.Kill, ensemble.Follower), "no other members")
	wantNoStrike(t, e, fault(strike.Lag, ensemble.Leader), "it is the leader")
}
