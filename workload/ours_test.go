package workload_test

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/testkit/verdicts"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/workload/cluster"
)

var (
	lookUp, campaign, messageOf = verdicts.Find, verdicts.Run, verdicts.Message
	wantClean, wantBroken       = verdicts.Clean, verdicts.Broken
)

// Our own recipes keep their promises under all faults, and every fault has struck.
func TestOursAreClean(t *testing.T) {
	episodes := testkit.Sized(400, 5000)
	for _, of := range [][2]string{{"lock", "ours"}, {"queue", "ours"}, {"queue", "ours/receipts"}} {
		for _, strategy := range []string{"random", "patterns"} {
			r := campaign(t, lookUp(t, of[0], of[1]), sim.Config{Episodes: episodes, Seed: 1, Strategy: strategy})
			if r.Verdict != sim.VerdictOK {
				t.Errorf("%v, %s: %s (%s) %v", of, strategy, r.Verdict, r.Reason, r.Violations)
			}
			for name, times := range r.Struck {
				if strategy == "random" && times < leastStrikes(of[1], episodes) {
					t.Errorf("%v, %s: %s struck %d times in %d episodes", of, strategy, name, times, episodes)
				}
			}
		}
	}
}

// leastStrikes is how often each fault has to strike at least. A queue with receipts is hardly ever
// an empty parent, so there is seldom anything to reap.
func leastStrikes(recipe string, episodes int) int {
	if recipe == "ours/receipts" {
		return 1
	}
	return episodes / 200
}

func TestFindSaysWhatThereIs(t *testing.T) {
	for _, c := range [][3]string{
		{"lok", "", `unknown workload "lok": there are lock, `},
		{"lock", "mine", `unknown recipe "mine" for lock: there are ours, `},
	} {
		if _, err := workload.Find(c[0], c[1]); err == nil || !strings.HasPrefix(err.Error(), c[2]) {
			t.Errorf("Find(%q, %q) says %v, want %s", c[0], c[1], err, c[2])
		}
	}
}

// Our recipes without what not every recipe of their kind can do are right under all faults.
func TestRecipesThatCanDoLess(t *testing.T) {
	for _, w := range []*workload.Workload{
		workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return struct{ workload.Locker }{recipes.NewLock(c, path)}
		}),
		workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker {
			return struct{ workload.RWLocker }{recipes.NewRWLock(c, path)}
		}),
		workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return struct{ workload.Permitter }{recipes.NewSemaphore(c, path, 2)}
		}),
		workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return struct{ workload.Candidate }{recipes.NewCandidate(c, path)}
		}),
		workload.Queue(func(c recipes.Conn, path string) workload.Queuer {
			return struct{ workload.Queuer }{recipes.NewQueue(c, path)}
		}),
		workload.Membership(func(c recipes.Conn, path, name string) workload.Grouper {
			return struct{ workload.Grouper }{recipes.NewGroup(c, path, name)}
		}),
	} {
		r := campaign(t, w, sim.Config{Episodes: testkit.Sized(60, 20_000), Seed: 1, NoShrink: true})
		if r.Verdict != sim.VerdictOK {
			t.Errorf("%s: %s (%s) %v", w.Name(), r.Verdict, r.Reason, r.Violations)
		}
	}
}
