package workload_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/zoo/listed"
)

// Words of messages: a znode and a session.
const (
	znode   = `/t/(?:lock|queue)(?:-inner)?/\S*\d{10}`
	session = `session 0x[0-9a-f]+`
)

// What the published recipes are known to break, under which faults, and what the message names.
// The comments give the mechanism; recipes/published marks each in the code.
var known = []struct {
	kind, recipe string
	faults       world.Faults
	property     string
	names        string
}{
	// W2: sorted by session, not by age
	{"lock", "published/WriteLock", world.NoFaults, "exclusion", session + `.*` + session},
	// W2
	{"lock", "published/WriteLock", world.NoFaults, "order", znode + `.*` + znode},
	// W3: one prefix a session
	{"lock", "published/WriteLock", world.NoFaults, "exclusion-in-session", session + `.*` + session},
	// W1: the predecessor has gone before the watch
	{"lock", "published/WriteLock", world.NoFaults, "lost-wakeup", znode + `.*` + znode},
	// W5: an unlock that failed forgets the znode
	{"lock", "published/WriteLock", world.Loss, "orphan", znode + `.*` + session},
	// W7: nobody clears the id
	{"lock", "published/WriteLock", world.Expiry, "belief", session + `.*after learning`},
	// W8: recovery from a server that is behind
	{"lock", "published/WriteLock", world.Loss | world.Lag, "self-block", znode + `.*` + znode},
	// DQ1: two make the root
	{"queue", "published/DistributedQueue", world.NoFaults, "unexpected-error", `c\d's \w+\(.*node already exists`},
	// DQ2: deleted, reply lost, gone
	{"queue", "published/DistributedQueue", world.Loss, "lost", znode + ` with value \w+`},
	// DQ5: numbers start again
	{"queue", "published/DistributedQueue", world.Reap, "duplicate", `\w+\(\) .* returned (v\w+).*\w+\(\) .* returned`},
	// DQ6: sorted as text
	{"queue", "published/DistributedQueue", world.Wrap, "order", `offer\(v\w+\).*offer\(v\w+\)`},
}

// Each is found within 4000 episodes, as a property of its own.
func TestKnownBugsAreFound(t *testing.T) {
	for _, k := range known {
		text := find(t, k.kind, k.recipe, k.faults, k.property)
		if text == "" {
			t.Errorf("%s under %v: %s did not break", k.recipe, k.faults, k.property)
		} else if !regexp.MustCompile(k.names).MatchString(text) {
			t.Errorf("%s under %v: %q does not name what shows %s (%s)", k.recipe, k.faults, text, k.property, k.names)
		}
	}
	// DQ7: reads from a server that is behind
	stale := func(property string) string {
		return find(t, "queue", "published/DistributedQueue", world.Lag, property)
	}
	if stale("false-empty")+stale("stale-peek") == "" {
		t.Errorf("published/DistributedQueue under lag: neither false-empty nor stale-peek broke")
	}
}

// find returns the message of the first violation of a property, "" if 4000 episodes have none.
func find(t *testing.T, kind, recipe string, faults world.Faults, property string) string {
	t.Helper()
	cfg := sim.Config{Episodes: 4000, Until: property, Seed: 1, Faults: faults, NoFaultsAtAll: true, NoShrink: true}
	return messageOf(campaign(t, lookUp(t, kind, recipe), cfg), property)
}

func lookUp(t *testing.T, kind, recipe string) *workload.Workload {
	t.Helper()
	w, err := workload.Find(kind, recipe)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func campaign(t *testing.T, w sim.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	testkit.ManyWorlds(t)
	r, err := sim.Run(context.Background(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func messageOf(r sim.Result, property string) string {
	for _, f := range r.Violations {
		if f.Property == property {
			return f.Message
		}
	}
	return ""
}

// Our own recipes keep their promises under all faults, and every fault has struck.
func TestOursAreClean(t *testing.T) {
	episodes := testkit.Sized(2500, 5000)
	if testing.Short() {
		episodes = 1000
	}
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
