package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// referee is a workload in simulation whose requests are logged as on real servers. What the rules
// make of the log and the last tree is compared with what the fake knows.
type referee struct {
	*Workload

	mu    sync.Mutex
	tally tally
}

// tally counts operations of unknown outcome, and what became of them.
type tally struct{ unknown, none, effect, offered, rounds, silent int }

func (r *referee) Plan(p *sim.Plan) sim.Episode {
	s := r.Workload.Plan(p).(*simulated)
	e, log := logRequests(s.episode)
	if log == nil {
		return s // of which there is no evidence
	}
	return &refereed{&simulated{e, s.path, s.flavour}, s.episode.(settler), log, r}
}

type refereed struct {
	*simulated
	settler settler
	log     *requestLog
	referee *referee
}

func (r *refereed) Judge(w *sim.World) (j sim.Judgement) {
	v := newView(w, r.path)
	o := &observed{log: r.log.snapshot(), tree: map[string]znode{}}
	w.Servers().Walk(sim.Root0, func(path string, n fakezk.NodeInfo) {
		o.tree[path] = znode{string(n.Data), n.Stat}
	})
	found := r.settler.evidence(&view{ops: v.ops, path: v.path, seen: o})
	t := tally{rounds: 1}
	for _, op := range v.ops {
		if !undecided(op) || op.Name == "get" || op.Name == "peek" {
			continue
		}
		t.unknown++
		s, settled := found[op.Number]
		switch {
		case !settled:
			continue
		case s.none:
			t.none++
		case op.Name == "offer":
			t.offered++
		default:
			t.effect++
		}
		if why := disagreement(w, op, s); why != "" {
			j.Violations = append(j.Violations, sim.Violation{Property: "evidence", Ops: []*sim.Op{op}, Message: why})
		}
	}
	if t.unknown > 0 && len(found) == 0 {
		t.silent = 1
	}
	r.referee.add(t)
	return j
}

func (r *referee) add(t tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.unknown, r.tally.none, r.tally.effect = r.tally.unknown+t.unknown, r.tally.none+t.none, r.tally.effect+t.effect
	r.tally.offered, r.tally.rounds, r.tally.silent = r.tally.offered+t.offered, r.tally.rounds+t.rounds, r.tally.silent+t.silent
}

// disagreement says how what was settled differs from what the fake knows; "" if it does not.
func disagreement(w *sim.World, op *sim.Op, s settled) string {
	did := effectsOf(w, op)
	want := []string{}
	if !s.none {
		want = []string{s.value}
	}
	if op.Name == "offer" && !s.none {
		want = []string{op.Arg}
	}
	if slices.Equal(did, want) {
		return ""
	}
	return fmt.Sprintf("%s's %s(%s), which ended with %v: %s (%q); but by the servers it did %q, see %v", who(op), op.Name, op.Arg, op.Err, s.why, s.value, did, changesBy(w, op))
}

// effectsOf lists what was carried out for an operation: the values that it has put in or taken out,
// or the numbers that it has written.
func effectsOf(w *sim.World, op *sim.Op) []string {
	did, held := []string{}, map[string]string{}
	for _, c := range w.Changes() {
		made := c.Op == fakezk.OpCreate || c.Op == fakezk.OpSetData
		value := string(c.Data)
		if made {
			held[c.Path] = value
		}
		if c.By != op.Number {
			continue
		}
		switch {
		case op.Name == "offer" && made && bytes.Contains(c.Data, []byte(op.Arg)):
			did = append(did, op.Arg)
		case op.Name == "add" && made && isNumber(value):
			did = append(did, value)
		case removes(op) && c.Op == fakezk.OpDelete && held[c.Path] != "":
			did = append(did, held[c.Path])
		}
	}
	return did
}

func changesBy(w *sim.World, op *sim.Op) (list []string) {
	for _, c := range w.Changes() {
		if c.By == op.Number {
			list = append(list, fmt.Sprintf("step %d: %v %s %q", c.Step, c.Op, c.Path, c.Data))
		}
	}
	return list
}

// TestEvidenceAgainstTheFake: whatever the rules settle, by requests, answers and the last tree, is
// what the fake has carried out. Of our recipes, and of published ones with all their bugs.
func TestEvidenceAgainstTheFake(t *testing.T) {
	episodes := 400
	if testing.Short() {
		episodes = 200
	}
	for _, w := range refereedWorkloads(t) {
		t.Run(w.Name()+"/"+strings.ReplaceAll(w.Recipe(), "/", "-"), func(t *testing.T) {
			r := &referee{Workload: w}
			result, err := sim.Run(t.Context(), r, sim.Config{Episodes: episodes, Seed: 1, Faults: sim.AllFaults, Workers: 1, NoShrink: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range result.Violations {
				if f.Property != "evidence" {
					continue // that is not what is tested here
				}
				t.Errorf("episode %d, %d times: %s: %s", f.Episode, f.Times, f.Property, f.Message)
			}
			t.Logf("%+v", r.tally)
			if ours := w.Recipe() == Ours; ours && (r.tally.none == 0 || r.tally.effect == 0) {
				t.Errorf("the test is without worth: %+v", r.tally)
			}
		})
	}
}

// refereedWorkloads are all recipes of which evidence can be had.
func refereedWorkloads(t *testing.T) (all []*Workload) {
	t.Helper()
	for _, e := range Entries() {
		if slices.Contains(refereedKinds, e.Kind) {
			all = append(all, e.New())
		}
	}
	for _, a := range Zoo() {
		if w := a.Broken(); slices.Contains(refereedKinds, w.Name()) {
			all = append(all, w)
		}
	}
	return all
}

var refereedKinds = []string{"queue", "priorityqueue", "counter"}
