package sim_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zktorture/zktorture/sim"
)

// Parts of a campaign that other processes run add up to the campaign.
func TestPartsAddUp(t *testing.T) {
	for i, recipe := range []string{"", "published/WriteLock"} {
		for _, until := range []string{"", "exclusion"} {
			w := find(t, "lock", recipe)
			cfg := sim.Config{
				Strategy: []string{"random", "mix"}[i], Episodes: 300, Seed: 3, Until: until, NoShrink: true, Audit: 100, Workers: 1,
				Coverage: true,
			}
			whole := run(t, w, cfg)
			cfg.Elsewhere = func(ctx context.Context, from, episodes int) (sim.Part, error) {
				part := cfg
				p, err := sim.RunPart(ctx, w, part, from, episodes)
				return throughJSON(t, p), err
			}
			parts := run(t, w, cfg)
			if until != "" && len(whole.Violations) > 0 { // the sums cover those that had begun
				if parts.Violations[0].Episode != whole.Violations[0].Episode {
					t.Errorf("%q: first in episode %d, not %d", recipe, parts.Violations[0].Episode, whole.Violations[0].Episode)
				}
				continue
			}
			whole.Elapsed, parts.Elapsed = 0, 0
			if !reflect.DeepEqual(comparable(whole), comparable(parts)) {
				t.Errorf("%q, until %q: parts add up to\n%v\nnot\n%v", recipe, until, comparable(parts), comparable(whole))
			}
		}
	}
}

func throughJSON(t *testing.T, p sim.Part) (q sim.Part) {
	t.Helper()
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &q)
	}
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// comparable is a result without pointers.
func comparable(r sim.Result) []any {
	all := []any{r.Episodes, r.Steps, r.Operations, r.Struck, r.Verdict, r.Undecided, r.Reason, r.Sensitivity, r.Rerun.Episodes,
		r.NotJudged, r.Waived, r.Refused, r.Hash, r.Coverage.String(), r.Coverage.Faults, r.Coverage.Never}
	for _, f := range r.Violations {
		all = append(all, f.Property, f.Message, f.Episode, f.Times, f.Clients, f.Faults, f.Steps, f.Choices, f.Hash)
	}
	return all
}

// A process that has died ends the campaign, with its reason.
func TestDeadPartIsNoPass(t *testing.T) {
	r := run(t, find(t, "lock", ""), sim.Config{Episodes: 300, Elsewhere: func(context.Context, int, int) (sim.Part, error) {
		return sim.Part{}, context.DeadlineExceeded
	}})
	if r.Verdict != sim.VerdictUnknown || r.Reason != context.DeadlineExceeded.Error() {
		t.Errorf("%s: %q", r.Verdict, r.Reason)
	}
}
