package sim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// someStrategies are one, or all in a thorough test.
func someStrategies() map[string]string {
	return testkit.Sized(map[string]string{"stages": ""}, sim.Strategies)
}

// campaigns are of strategies, with a recipe in which something breaks.
func campaigns() map[string]sim.Config {
	all := map[string]sim.Config{
		"made small": {Faults: world.Cancel},
	}
	for strategy := range someStrategies() {
		all[strategy] = sim.Config{Strategy: strategy, Near: sim.NearFor(strategy), Coverage: true, NoShrink: true}
	}
	for name, cfg := range all {
		cfg.Episodes, cfg.Seed, cfg.Workers = testkit.Sized(260, 300), 5, 1
		all[name] = cfg
	}
	return all
}

// The parts of a campaign, wherever it is cut, add up to it in any order and any grouping, through JSON.
func TestPartsAddUp(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	for name, cfg := range campaigns() {
		whole := run(t, w, cfg)
		if len(whole.Violations) == 0 || whole.Rerun.Episodes == 0 {
			t.Errorf("%s: little was found: %+v", name, whole)
		}
		parts := cut(t, w, cfg, 0)
		sum := throughJSON(t, sumOf(t, parts))
		sameCampaign(t, name, whole, conclude(t, w, cfg, sum))
		want := inJSON(t, sum)
		if other := inJSON(t, sumOf(t, cut(t, w, cfg, 1))); other != want {
			t.Errorf("%s, cut elsewhere: the sum is\n%s\nnot\n%s", name, other, want)
		}
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			if got := inJSON(t, inSomeOrder(t, parts)); got != want {
				t.Fatalf("the sum is\n%s\nnot\n%s", got, want)
			}
		}))
	}
}

// cut runs a campaign in parts, some of which are empty, by one worker or two.
func cut(t *testing.T, w sim.Workload, cfg sim.Config, seed uint64) (parts []tally.Part) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	cuts := []int{0, 0, cfg.Episodes}
	for range 6 {
		cuts = append(cuts, rng.IntN(cfg.Episodes))
	}
	slices.Sort(cuts)
	cfg.Episodes = 0
	for i := range len(cuts) - 1 {
		cfg.Workers = 1 + i%2
		p, err := cfg.RunPart(t.Context(), w, cuts[i], cuts[i+1]-cuts[i])
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	return parts
}

// failer is a test, or a check of a property.
type failer interface {
	Helper()
	Fatal(...any)
}

func sumOf(t failer, parts []tally.Part) (sum tally.Part) {
	t.Helper()
	for _, p := range parts {
		if err := sum.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return sum
}

// inSomeOrder adds parts up in an order and a grouping that rapid draws, some of the sums through JSON.
func inSomeOrder(t *rapid.T, parts []tally.Part) tally.Part {
	heap := rapid.Permutation(parts).Draw(t, "order")
	for len(heap) > 1 {
		i := rapid.IntRange(0, len(heap)-2).Draw(t, "pair")
		sum := sumOf(t, heap[i:i+2])
		if rapid.Bool().Draw(t, "through JSON") {
			sum = throughJSON(t, sum)
		}
		heap = slices.Concat(heap[:i], []tally.Part{sum}, heap[i+2:])
	}
	return heap[0]
}

func inJSON(t failer, p tally.Part) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func throughJSON(t failer, p tally.Part) (q tally.Part) {
	t.Helper()
	if err := json.Unmarshal([]byte(inJSON(t, p)), &q); err != nil {
		t.Fatal(err)
	}
	return q
}

func conclude(t *testing.T, w sim.Workload, cfg sim.Config, p tally.Part) sim.Result {
	t.Helper()
	r, err := cfg.Conclude(t.Context(), w, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameCampaign compares all but how long it took.
func sameCampaign(t *testing.T, name string, want, got sim.Result) {
	t.Helper()
	if a, b := told(t, want), told(t, got); a != b {
		t.Errorf("%s: the parts add up to\n%s\nnot\n%s", name, b, a)
	}
}

// told is all that a result says.
func told(t *testing.T, r sim.Result) string {
	t.Helper()
	r.Elapsed = 0
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Violations {
		text = append(text, "\n"+strings.Join(replay.Lines(f.Trace), "\n")...)
	}
	return string(text)
}

// Other processes run the episodes of a campaign, and it is the same. If it ends with the first that breaks a property, that
// is the same.
func TestACampaignElsewhere(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	for name, cfg := range campaigns() {
		for _, until := range []string{"", "belief"} {
			cfg.Until, cfg.NoShrink = until, true
			whole := run(t, w, cfg)
			cfg.Elsewhere = func(ctx context.Context, from, episodes int) (tally.Part, error) {
				p, err := cfg.RunPart(ctx, w, from, episodes)
				return throughJSON(t, p), err
			}
			elsewhere := run(t, w, cfg)
			cfg.Elsewhere = nil
			if until != "" { // the sums cover those that had begun
				whole, elsewhere = sim.Result{Violations: whole.Violations}, sim.Result{Violations: elsewhere.Violations}
			}
			sameCampaign(t, name, whole, elsewhere)
		}
	}
}

// A process that has died ends the campaign, with its reason.
func TestDeadPartIsNoPass(t *testing.T) {
	dead := func(context.Context, int, int) (tally.Part, error) { return tally.Part{}, context.DeadlineExceeded }
	r := run(t, find(t, "lock", ""), sim.Config{Episodes: 300, Elsewhere: dead})
	if r.Verdict != sim.VerdictUnknown || r.Reason != context.DeadlineExceeded.Error() {
		t.Errorf("%s: %q", r.Verdict, r.Reason)
	}
}

// What is no part of a campaign is refused, and leaves the sum as it was.
func TestOnlyPartsAddUp(t *testing.T) {
	w := find(t, "lock", "")
	cfg := sim.Config{Seed: 1, Coverage: true}
	sum, err := cfg.RunPart(t.Context(), w, 0, 20)
	if err != nil {
		t.Fatal(err)
	}
	before := inJSON(t, sum)
	refused := func(what string, p tally.Part) {
		t.Helper()
		if err := sum.Add(p); !errors.Is(err, tally.ErrPart) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := cfg.Conclude(t.Context(), w, p); !errors.Is(err, tally.ErrPart) {
			t.Errorf("%s is concluded: %v", what, err)
		}
	}
	for what, change := range map[string]func(*sim.Config){
		"another seed":     func(cfg *sim.Config) { cfg.Seed = 2 },
		"another strategy": func(cfg *sim.Config) { cfg.Strategy = "mix" },
		"other faults":     func(cfg *sim.Config) { cfg.Faults = world.Loss },
		"no coverage":      func(cfg *sim.Config) { cfg.Coverage = false },
	} {
		cfg := cfg
		change(&cfg)
		p, err := cfg.RunPart(t.Context(), w, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		refused(what, p)
	}
	var p tally.Part
	if err := json.Unmarshal([]byte(`{"struck":[1,2]}`), &p); err != nil {
		t.Fatal(err)
	}
	refused("a part that counts two faults", p)
	if after := inJSON(t, sum); after != before {
		t.Errorf("the sum was changed to\n%s\nfrom\n%s", after, before)
	}
}

// A part that was not run to its end says so.
func TestAPartThatIsCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := find(t, "counter", "")
	for strategy := range sim.Strategies {
		cfg := sim.Config{Strategy: strategy, Near: sim.NearFor(strategy)}
		p, err := cfg.RunPart(ctx, w, 0, 100)
		if !errors.Is(err, context.Canceled) || p.Episodes >= 100 {
			t.Errorf("%s: %v after %d episodes", strategy, err, p.Episodes)
		}
		if p, err = cfg.RunPart(ctx, w, 0, 0); err != nil || p.Episodes > 0 {
			t.Errorf("%s: no episodes: %v, %d", strategy, err, p.Episodes)
		}
	}
}

// What cannot be run is refused in a sentence.
func TestPartsThatCannotBe(t *testing.T) {
	w := find(t, "counter", "")
	for _, c := range []struct {
		cfg            sim.Config
		from, episodes int
	}{
		{sim.Config{}, -1, 2}, {sim.Config{}, 1, -1},
		{sim.Config{Strategy: sim.Near}, 0, 1}, {sim.Config{Near: []world.Choices{{1}}}, 0, 1},
	} {
		_, err := c.cfg.RunPart(t.Context(), w, c.from, c.episodes)
		if !errors.Is(err, sim.ErrConfig) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Of what cannot be added up the same is kept in any order: the first, or the simplest.
func TestPartsOfAllKindsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func(p tally.Part) int { return p.Episodes }
		parts := rapid.SliceOfNDistinct(rapid.Custom(drawPart), 2, 6, number).Draw(t, "parts")
		want := inJSON(t, sumOf(t, parts))
		if got := inJSON(t, inSomeOrder(t, parts)); got != want {
			t.Fatalf("the sum is\n%s\nnot\n%s", got, want)
		}
		slices.SortFunc(parts, func(a, b tally.Part) int { return a.Episodes - b.Episodes })
		sum := sumOf(t, parts)
		for _, p := range parts {
			doubt, differed := p.Doubt != nil, p.Differed != nil
			if doubt && p.Doubt.Episode < sum.Doubt.Episode || differed && p.Differed.Episode < sum.Differed.Episode {
				t.Fatalf("a later episode is kept: %s", inJSON(t, sum))
			}
		}
	})
}

// drawPart draws a part with all that a part may have. Its episodes are those of no other.
func drawPart(t *rapid.T) (p tally.Part) {
	number := rapid.IntRange(1, 50).Draw(t, "number")
	text := rapid.SampledFrom([]string{"", "a", "b"})
	flag := rapid.Bool()
	p.Episodes, p.LeftAt, p.Frozen, p.Ended = number, text.Draw(t, "left"), text.Draw(t, "frozen"), text.Draw(t, "ended")
	names := rapid.MapOfN(rapid.SampledFrom([]string{"p", "q", "r"}), flag, 0, 3)
	p.NotJudged = slices.Sorted(maps.Keys(names.Draw(t, "not judged")))
	one := func(message string) *tally.Episode {
		return &tally.Episode{Message: message, Episode: number, Price: []int{number}}
	}
	if flag.Draw(t, "doubt") {
		p.Undecided, p.Doubt = 1, one(fmt.Sprint("doubt ", number))
	}
	if flag.Draw(t, "differed") {
		p.Rerun, p.Differed = tally.Rerun{Episodes: 2, Differed: 1}, one("")
	}
	for _, property := range []string{"p", "q"} {
		if flag.Draw(t, property) {
			price := rapid.IntRange(0, 2).Draw(t, "price")
			choices := world.Choices{rapid.IntRange(0, 3).Draw(t, "choice"), number}
			p.Found = append(p.Found, tally.Episode{
				Property: property, First: number, Times: number, Episode: number, Choices: choices, Price: []int{price},
			})
		}
	}
	if flag.Draw(t, "struck") {
		p.Struck = slices.Repeat([]int{number}, len(slices.Collect(world.EveryFault.Each())))
	}
	return p
}
