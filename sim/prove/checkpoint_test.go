package prove_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// searchOf searches what two users can do who each wait and enlist.
func searchOf(t *testing.T, cfg sim.Config) sim.Result {
	t.Helper()
	return searchIn(t, quiet{{"await", "enlist"}, {"enlist"}}, cfg)
}

func searchIn(t *testing.T, w world.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	cfg.Strategy, cfg.AtMost, cfg.Whole, cfg.NoShrink = sim.Exhaustive, 1, true, true
	cfg.Without = bound.ReduceRuns // as a search does that may go on
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// quiet is a scribble in which nothing breaks.
type quiet scribble

func (q quiet) Name() string                              { return "scribble" }
func (q quiet) Recipe() string                            { return "custom" }
func (q quiet) Terms() (t world.Terms)                    { return t }
func (q quiet) Plan(*world.Plan) world.Episode            { return q }
func (q quiet) Users() []int                              { return scribble(q).Users() }
func (q quiet) Parents() []string                         { return scribble(q).Parents() }
func (q quiet) Run(u *world.User)                         { scribble(q).Run(u) }
func (q quiet) MayWaitForever(*world.World) bool          { return false }
func (q quiet) Judge(*world.World) (none world.Judgement) { return none }

// A search that is stopped again and again, and goes on from its checkpoint, sees what one sees that is not stopped.
func TestASearchGoesOn(t *testing.T) {
	whole := searchOf(t, sim.Config{Faults: world.Loss})
	file := filepath.Join(t.TempDir(), "checkpoint")
	var r sim.Result
	for runs := 7; r.Extent.Word != tally.Complete; runs += 7 {
		if r = searchOf(t, sim.Config{Faults: world.Loss, Checkpoint: file, Episodes: runs}); runs > 10000 {
			t.Fatalf("not finished: %v", r.Extent)
		}
	}
	a, b := whole.Extent, r.Extent
	if a.Digest != b.Digest || a.Runs != b.Runs || a.Ends != b.Ends || whole.Hash != r.Hash || whole.Operations != r.Operations {
		t.Errorf("at once %+v, in parts %+v", whole, r)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the checkpoint of a finished search is left: %v", err)
	}
}

// What a search has found until it is stopped is not lost.
func TestASearchGoesOnWithWhatItFound(t *testing.T) {
	w := ScribblePlans()
	whole := searchIn(t, w, sim.Config{NoFaultsAtAll: true})
	r, file := sim.Result{}, filepath.Join(t.TempDir(), "checkpoint")
	for runs := 7; r.Extent.Word != tally.Complete && runs < 2*whole.Extent.Runs; runs += 7 {
		r = searchIn(t, w, sim.Config{NoFaultsAtAll: true, Checkpoint: file, Episodes: runs})
	}
	if !reflect.DeepEqual(found(whole), found(r)) || len(r.Violations) < 5 || r.Hash != whole.Hash {
		t.Errorf("at once %d properties, %v; in parts %d, %v", len(whole.Violations), whole.Extent, len(r.Violations), r.Extent)
	}
}

// found is what was found, and how often.
func found(r sim.Result) map[string]int {
	times := map[string]int{}
	for _, f := range r.Violations {
		times[f.Property] = f.Times
	}
	return times
}

// A checkpoint of another search, or what is none, is refused and left as it is.
func TestACheckpointIsOfOneSearch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "checkpoint")
	searchOf(t, sim.Config{Faults: world.Loss, Checkpoint: file, Episodes: 5})
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if r := searchOf(t, sim.Config{Faults: world.Expiry, Checkpoint: file}); r.Verdict != sim.VerdictUnknown ||
		!strings.Contains(r.Reason, "faults loss") {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the checkpoint was changed: %v", err)
	}
	if err := os.WriteFile(file, before[:len(before)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if r := searchOf(t, sim.Config{Faults: world.Loss, Checkpoint: file}); r.Verdict != sim.VerdictUnknown ||
		!strings.Contains(r.Reason, "cut off") {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}
