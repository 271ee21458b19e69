package sim

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// quiet is an episode of nobody, in which nothing breaks.
type quiet struct{}

func (quiet) Name() string                              { return "quiet" }
func (quiet) Recipe() string                            { return "custom" }
func (quiet) Terms() (t world.Terms)                    { return t }
func (quiet) Plan(*world.Plan) world.Episode            { return quiet{} }
func (quiet) Users() []int                              { return nil }
func (quiet) Parents() []string                         { return nil }
func (quiet) Run(*world.User)                           {}
func (quiet) MayWaitForever(*world.World) bool          { return false }
func (quiet) Judge(*world.World) (none world.Judgement) { return none }

// doubtful is a workload of whose episodes some cannot be judged, by the draw.
type doubtful struct{ quiet }

func (d doubtful) Plan(p *world.Plan) world.Episode {
	return doubted{d.quiet, p.Choose(2, "doubt")}
}

type doubted struct {
	quiet
	number int
}

func (d doubted) Judge(*world.World) world.Judgement {
	if d.number == 0 {
		return world.Judgement{}
	}
	return world.Judgement{Later: func() world.Judgement {
		return world.Judgement{Unknown: "two judges contradict each other"}
	}}
}

// Episodes that could not be judged are counted, and of the first of them it is kept why.
func TestUndecided(t *testing.T) {
	w := doubtful{}
	r, err := Run(t.Context(), w, Config{Episodes: 100, Seed: 1, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != VerdictUnknown || r.Undecided == 0 || r.Undecided == r.Episodes {
		t.Errorf("the verdict is %s, %d of %d undecided", r.Verdict, r.Undecided, r.Episodes)
	}
	if !strings.HasSuffix(r.Reason, "could not be judged: two judges contradict each other") {
		t.Errorf("the reason is %q", r.Reason)
	}
	cfg := Config{Seed: 1}
	behind, err := cfg.RunPart(t.Context(), w, 40, 60)
	before, err2 := cfg.RunPart(t.Context(), w, 0, 40)
	if err := errors.Join(err, err2, behind.Add(before)); err != nil {
		t.Fatal(err)
	}
	parts, err := cfg.Conclude(t.Context(), w, behind)
	if parts.Elapsed, parts.Running = r.Elapsed, r.Running; err != nil || !reflect.DeepEqual(parts, r) {
		t.Errorf("%v: in parts\n%+v\nat once\n%+v", err, parts, r)
	}
}
