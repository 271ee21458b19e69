package workload

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/thorough"
	"github.com/zktorture/zktorture/linearizability"
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
	e, log := LogRequests(s.of)
	return &refereed{&simulated{of: e, path: s.path, terms: s.terms}, s.of.(resolver), log, r}
}

type refereed struct {
	*simulated
	resolver resolver
	log      *RequestLog
	referee  *referee
}

func (r *refereed) Judge(w *sim.World) (j sim.Judgement) {
	v := newView(w, r.path)
	o := &Requests{log: r.log.snapshot(), tree: map[string]Znode{}}
	w.Servers().Walk(sim.Root0, func(path string, n fakezk.NodeInfo) {
		o.tree[path] = Znode{string(n.Data), n.Stat}
	})
	live := &View{World: &seenWorld{scene: &scene{}, seen: o}, Ops: v.Ops, Left: v.Left}
	found := r.resolver.resolve(live)
	t := tally{rounds: 1}
	for _, op := range v.Ops {
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
	j.Later = func() sim.Judgement { return sim.Judgement{Violations: alarms(r.referee.Name(), r.of.History(live))} }
	return j
}

// alarms judges a history as resolved.
func alarms(kind string, h linearizability.History) (found []sim.Violation) {
	model, err := linearizability.ByName(kind, linearizability.Parameters{})
	if err == nil {
		err = linearizability.Validate(model, h)
	}
	if err != nil {
		return []sim.Violation{{Property: "invalid", Message: err.Error()}}
	}
	for _, verdict := range linearizability.Check(model, h, linearizability.Options{Timeout: judgeTime}) {
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
func disagreement(w *sim.World, op *sim.Op, s resolved) string {
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
	return fmt.Sprintf("%s's %s(%s), which ended with %v: %s (%q); but by the servers it did %q, see %v", Who(op),
		op.Name, op.Arg, op.Err, s.why, s.value, did, changesBy(w, op))
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

// TestResolutionAgainstTheFake: whatever the rules resolve, by requests, answers and the last tree, is
// what the fake has carried out, of correct recipes and of broken ones; and no history of a correct one
// is accused by it.
func TestResolutionAgainstTheFake(t *testing.T) {
	episodes := thorough.Of(250, 400)
	if testing.Short() {
		episodes = 100
	}
	var all referee
	for _, c := range refereedRecipes() {
		t.Run(c.w.Name()+"/"+strings.ReplaceAll(c.w.Recipe(), "/", "-"), func(t *testing.T) {
			r := &referee{Workload: c.w}
			result, err := sim.Run(t.Context(), r, sim.Config{Episodes: episodes, Seed: 1, Workers: 1, NoShrink: true})
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
	w       *Workload
	correct bool
}

// Animals are those of the zoo, broken and mended: the zoo imports this package, so that a test outside of it says.
var Animals func() (broken, mended []*Workload)

// refereedRecipes are the recipes whose outcomes can be resolved: ours, and published ones with and
// without their bugs.
func refereedRecipes() (all []refereedRecipe) {
	add := func(w *Workload, correct bool) {
		known := slices.ContainsFunc(all,
			func(r refereedRecipe) bool { return r.w.Name() == w.Name() && r.w.Recipe() == w.Recipe() })
		_, can := w.Episode(sim.NewPlan(sim.NewRandomSource(1, 1), 1, 1, 1, sim.NoFaults, "/t"), "/t/x").(resolver)
		if can && !known {
			all = append(all, refereedRecipe{w, correct})
		}
	}
	for _, e := range Entries() {
		add(e.New(), strings.HasPrefix(e.Recipe, Ours))
	}
	broken, mended := Animals()
	for i := range broken {
		add(broken[i], false)
		add(mended[i], true)
	}
	return all
}
