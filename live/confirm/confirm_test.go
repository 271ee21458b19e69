package confirm

import (
	"errors"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// A trace in which numbers wrap, or leaders change, is not tried, and says where.
func TestUnconductible(t *testing.T) {
	makes := func(step int, path string) world.Change {
		return world.Change{Change: fakezk.Change{Op: wire.OpCreate, Path: path, Sequential: true}, Step: step}
	}
	wraps := &sim.Replayed{Record: &world.Record{Struck: world.Wrap, Changes: []world.Change{
		makes(3, "/t/lock/x-2147483647"), makes(5, "/t/lock/x--2147483648"),
	}}}
	want := "step 5: the counter of sequential znodes goes on to -2147483648, " +
		"where ZooKeeper 3.8's sticks at 2147483647"
	if got := unconfirmable(wraps, Config{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	wraps.Record.Changes = wraps.Record.Changes[:1]
	want = "step 3: the counter of sequential znodes begins near its end, " +
		"which takes 2147483647 creates on real servers"
	if got := unconfirmable(wraps, Config{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unconfirmable(&sim.Replayed{Record: &world.Record{Struck: world.Crash}}, Config{}); got != "" {
		t.Error(got)
	}
	for fault, want := range map[world.Faults]string{world.Quorum: "lose their majority", world.Deposed: "is deposed"} {
		elects := &sim.Replayed{Record: &world.Record{Struck: fault}, Trace: []world.Step{
			{N: 1, Detail: world.Detail{Kind: world.KindExchange}}, {N: 2, Detail: world.Detail{Kind: world.KindFault, Fault: fault}},
		}}
		if got := unconfirmable(elects, Config{}); !strings.HasPrefix(got, "step 2: ") || !strings.Contains(got, want) {
			t.Errorf("%v: %q", fault, got)
		}
	}
}

// A counterexample is tried again as long as an event was missed or something else was different, up to a bound for each.
func TestTried(t *testing.T) {
	missed, differs := Confirmation{Difference: "a get", missed: true}, Confirmation{Difference: "a get"}
	same := Confirmation{Violation: &sim.Violation{}}
	for name, tc := range map[string]struct {
		found []Confirmation // of the tries in turn; the last stands for all later ones
		tries int
	}{
		"same":                   {[]Confirmation{same}, 1},
		"missed twice":           {[]Confirmation{missed, missed, same}, 3},
		"missed always":          {[]Confirmation{missed}, missedMax},
		"different once":         {[]Confirmation{differs, same}, 2},
		"different always":       {[]Confirmation{differs}, differentMax},
		"missed, then different": {[]Confirmation{missed, missed, missed, missed, differs}, 4 + differentMax},
		"missed, then once":      {[]Confirmation{missed, missed, missed, missed, differs, same}, 6},
	} {
		n := 0
		confirmed, err := tried(func() (*Confirmation, error) {
			found := tc.found[min(n, len(tc.found)-1)]
			n++
			return &found, nil
		})
		if err != nil || confirmed.Tries != tc.tries || n != tc.tries {
			t.Errorf("%s: tried %d times, and says %d, want %d: %v", name, n, confirmed.Tries, tc.tries, err)
		}
	}
	failed := errors.New("no servers")
	if _, err := tried(func() (*Confirmation, error) { return nil, failed }); err != failed {
		t.Error(err)
	}
}
