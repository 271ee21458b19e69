package judges

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// judged is an episode whose history is judged here, too, as it is and with planted errors.
type judged struct {
	workload.Episode
	*comparison
}

// comparison counts what the two judges say.
type comparison struct {
	t      *testing.T
	kind   *kind
	random *rand.Rand
	last   linearizability.History

	judged, planted, broken, missed, accused int
}

func (e judged) Judge(v *workload.View) workload.Judgement {
	j := e.Episode.Judge(v)
	h := j.History.(linearizability.History)
	if found := e.kind.judge(h); found.Outcome != linearizability.Ok {
		e.t.Errorf("%v", found)
	}
	e.last = h
	e.judged++
	for range 5 {
		e.plant(v)
	}
	return j
}

// plant has an operation return what another did, judges that both ways, and takes it back.
func (c judged) plant(v *workload.View) {
	ops := slices.DeleteFunc(slices.Clone(v.Ops), func(op *world.Op) bool { return op.Outcome != world.OK })
	if len(ops) < 2 {
		return
	}
	a, b := ops[c.random.IntN(len(ops))], ops[c.random.IntN(len(ops))]
	forms := c.kind.operations
	of := func(op *world.Op) [2]int {
		return forms[max(0, slices.IndexFunc(forms, func(o operation) bool { return o.name == op.Name }))].result
	}
	before := a.Result
	result := b.Result
	if atRest := a.Name == "list" && a.Data != nil; of(a) == none || of(a) != of(b) || result == before || atRest ||
		of(a) == oneOrNone && before == "" || of(a) != list && result == "" {
		return
	}
	a.Result = result
	defer func() { a.Result = before }()
	for _, op := range v.Ops { // what it got is what it finishes
		if op.Call <= a.Call || op.Client != a.Client || op.User != a.User || op.Incarnation != a.Incarnation ||
			!slices.Contains([]string{"claim", "try", "finish"}, op.Name) {
			continue
		}
		if arg := op.Arg; op.Name == "finish" {
			op.Arg = strings.TrimSuffix(arg, before) + result
			defer func() { op.Arg = arg }()
		}
		break
	}
	own := c.Episode.Judge(v)
	h := c.Episode.History(v)
	says := c.kind.judge(h)
	c.planted++
	breaks := slices.ContainsFunc(own.Violations, func(f sim.Violation) bool { return slices.Contains(c.kind.properties, f.Property) })
	switch {
	case breaks && says.Outcome != linearizability.Violation:
		c.missed++
		c.t.Logf("%v: not %v: %v", own.Violations[0].Message, says, h)
	case breaks:
		c.broken++
	case says.Outcome != linearizability.Ok && len(own.Violations) == 0:
		c.accused++
		c.t.Logf("%v: %v", says, h)
	}
}

// The histories of correct recipes are in order, and of errors that are planted in them both judges say the same.
func TestTheJudgeOfAKindSaysTheSame(t *testing.T) {
	episodes := 300
	if n, err := strconv.Atoi(os.Getenv("ZKTORTURE_JUDGES")); err == nil {
		episodes = n
	}
	for i := range kinds {
		t.Run(kinds[i].name, func(t *testing.T) {
			c := &comparison{t: t, kind: &kinds[i], random: rand.New(rand.NewPCG(1, 2))}
			w, err := workload.Find(c.kind.name, workload.Ours)
			if err != nil {
				t.Fatal(err)
			}
			with, _ := w.With(workload.Ours, func(conn recipes.Conn, path string) any { return w.Make(conn, path) },
				func(e workload.Episode, _ string) workload.Episode { return judged{e, c} })
			r, err := sim.Run(t.Context(), with, sim.Config{Episodes: episodes, Seed: 7, Faults: world.AllFaults, Workers: 1})
			if err != nil || len(r.Violations) > 0 {
				t.Fatal(r.Violations, err)
			}
			t.Logf("%d episodes; planted %d: broken %d, missed %d, accused %d", c.judged, c.planted, c.broken, c.missed, c.accused)
			if c.judged < episodes || c.broken == 0 || c.missed+c.accused > 0 {
				t.Error("the judges differ, or no planted error was noticed")
			}
			var file bytes.Buffer
			if err := histories.Write(&file, c.last); err != nil {
				t.Fatal(err)
			}
			if read, err := histories.Read(&file); err != nil || !slices.Equal(read, c.last) {
				t.Errorf("%v was read, not %v: %v", read, c.last, err)
			}
		})
	}
}
