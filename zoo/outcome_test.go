package zoo_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/outcome"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// referee is a workload in simulation whose requests are logged as on real servers. What the rules
// make of the log and the last tree is compared with what the fake knows.
type referee struct {
	of *workload.Workload

	mu    sync.Mutex
	tally tally
}

// tally counts operations of unknown outcome, and what became of them.
type tally struct{ unknown, none, effect, offered, rounds, silent int }

// workload has the referee's episodes.
func (r *referee) workload() *workload.Workload {
	return workload.Own(r.of.Name(), func(p *world.Plan, path string) workload.Episode {
		log := outcome.NewLog(r.of.Name(), path)
		return &refereed{log.Around(r.of.Episode(p, path)), log, r}
	})
}

type refereed struct {
	workload.Episode
	log     *outcome.Log
	referee *referee
}

// server is the simulated world, which knows everything.
type server interface {
	workload.World
	Servers() *fakezk.Ensemble
}

// outside knows of a round what is seen on real servers.
type outside struct {
	workload.World
	seen *outcome.Requests
}

func (outside) Changes() ([]world.Change, bool)                        { return nil, false }
func (o outside) Resolved(ops []*world.Op) map[int64]workload.Resolved { return o.seen.Resolve(ops) }

func (r *refereed) Judge(v *workload.View) (j workload.Judgement) {
	w := v.World.(server)
	tree := map[string]outcome.Znode{}
	w.Servers().Walk(world.Root0, func(path string, n fakezk.NodeInfo) {
		tree[path] = outcome.Znode{Data: string(n.Data), Stat: n.Stat}
	})
	seen := r.log.With(tree)
	live := &workload.View{World: outside{w, seen}, Ops: v.Ops, Left: v.Left}
	found := seen.Resolve(v.Ops)
	t := tally{rounds: 1}
	for _, op := range v.Ops {
		if op.Outcome != world.Unknown && op.Outcome != world.Running || op.Name == "get" || op.Name == "peek" {
			continue
		}
		t.unknown++
		s, settled := found[op.Number]
		switch {
		case !settled:
			continue
		case s.None:
			t.none++
		case op.Name == "offer":
			t.offered++
		default:
			t.effect++
		}
		if why := disagreement(w, op, s); why != "" {
			j.Violations = append(j.Violations, sim.Violation{Property: "evidence", Ops: []*world.Op{op}, Message: why})
		}
	}
	if t.unknown > 0 && len(found) == 0 {
		t.silent = 1
	}
	r.referee.add(t)
	j.Later = func() world.Judgement {
		return world.Judgement{Violations: alarms(r.referee.of.Name(), r.History(live))}
	}
	return j
}

// alarms judges a history as resolved.
func alarms(kind string, h linearizability.History) (found []sim.Violation) {
	model, err := linearizability.ByName(kind, linearizability.Parameters{})
	if err == nil {
		err = model.Validate(h)
	}
	if err != nil {
		return []sim.Violation{{Property: "invalid", Message: err.Error()}}
	}
	for _, verdict := range linearizability.Check(model, h, linearizability.Options{Timeout: 4 * time.Second}) {
		if verdict.Outcome == linearizability.Violation {
			found = append(found, sim.Violation{Property: "alarm",
				Message: fmt.Sprint(verdict.Message, verdict.Operations)})
		}
	}
	return found
}

func (r *referee) add(t tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tally.unknown, r.tally.none, r.tally.effect = r.tally.unknown+t.unknown, r.tally.none+t.none,
		r.tally.effect+t.effect
	r.tally.offered, r.tally.rounds, r.tally.silent = r.tally.offered+t.offered, r.tally.rounds+t.rounds,
		r.tally.silent+t.silent
}

// disagreement says how what was resolved differs from what the fake knows; "" if it does not.
func disagreement(w server, op *world.Op, s workload.Resolved) string {
	did := effectsOf(w, op)
	want := []string{}
	if !s.None {
		want = []string{s.Value}
	}
	if op.Name == "offer" && !s.None {
		want = []string{op.Arg}
	}
	if slices.Equal(did, want) {
		return ""
	}
	return fmt.Sprintf("%s's %s(%s), which ended with %v: %s (%q); but by the servers it did %q, see %v", workload.Who(op),
		op.Name, op.Arg, op.Err, s.Why, s.Value, did, changesBy(w, op))
}

var number = regexp.MustCompile(`^-?\d+$`)

// effectsOf lists what was carried out for an operation: the values that it has put in or taken out,
// or the numbers that it has written.
func effectsOf(w server, op *world.Op) []string {
	did, held := []string{}, map[string]string{}
	for _, c := range changes(w) {
		made := c.Op == wire.OpCreate || c.Op == wire.OpSetData
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
		case op.Name == "add" && made && number.MatchString(value):
			did = append(did, value)
		case (op.Name == "poll" || op.Name == "take") && c.Op == wire.OpDelete && held[c.Path] != "":
			did = append(did, held[c.Path])
		}
	}
	return did
}

func changes(w server) []world.Change {
	all, _ := w.Changes()
	return all
}

func changesBy(w server, op *world.Op) (list []string) {
	for _, c := range changes(w) {
		if c.By == op.Number {
			list = append(list, fmt.Sprintf("step %d: %v %s %q", c.Step, c.Op, c.Path, c.Data))
		}
	}
	return list
}

// TestResolutionAgainstTheFake: whatever the rules resolve, by requests, answers and the last tree, is
// what the fake has carried out, of correct recipes and of broken ones; and no history of a correct one
// is accused by it.
func TestResolutionAgainstTheFake(t *testing.T) {
	episodes := testkit.Sized(250, 400)
	if testing.Short() {
		episodes = 100
	}
	var all referee
	for _, c := range refereedRecipes() {
		t.Run(c.w.Name()+"/"+strings.ReplaceAll(c.w.Recipe(), "/", "-"), func(t *testing.T) {
			r := &referee{of: c.w}
			result, err := sim.Run(t.Context(), r.workload(), sim.Config{Episodes: episodes, Seed: 1, Workers: 1, NoShrink: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range result.Violations {
				if c.correct || f.Property == "evidence" || f.Property == "invalid" {
					t.Errorf("episode %d, %d times: %s: %s", f.Episode, f.Times, f.Property, f.Message)
				}
			}
			if c.correct && r.tally.none < r.tally.unknown/2 {
				t.Errorf("hardly anything was settled: %+v", r.tally)
			}
			all.add(r.tally)
			t.Logf("%+v", r.tally)
		})
	}
	if all.tally.effect == 0 || all.tally.offered == 0 {
		t.Errorf("nothing was found to have had an effect: %+v", all.tally)
	}
	t.Logf("%+v", all.tally)
}

type refereedRecipe struct {
	w       *workload.Workload
	correct bool
}

// refereedRecipes are the recipes whose outcomes can be resolved: ours, and published ones with and
// without their bugs.
func refereedRecipes() (all []refereedRecipe) {
	add := func(w *workload.Workload, correct bool) {
		known := slices.ContainsFunc(all,
			func(r refereedRecipe) bool { return r.w.Name() == w.Name() && r.w.Recipe() == w.Recipe() })
		if !known && outcome.NewLog(w.Name(), "") != nil {
			all = append(all, refereedRecipe{w, correct})
		}
	}
	for _, e := range workload.Entries() {
		add(e.New(), strings.HasPrefix(e.Recipe, workload.Ours))
	}
	for _, a := range zoo.Animals() {
		add(a.Broken(), false)
		add(a.Twin(), true)
	}
	return all
}
