package zoo_test

import (
	"cmp"
	"regexp"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/testkit/verdicts"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
	"github.com/zktorture/zktorture/zoo/published"
)

var (
	lookUp, campaign, messageOf = verdicts.Find, verdicts.Run, verdicts.Message
	wantClean, wantBroken       = verdicts.Clean, verdicts.Broken
)

// What the kinds and the simulator say of recipes that are known to be broken.

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

// Published barriers, each with one of its bugs.
func TestBrokenDoubleBarriers(t *testing.T) {
	for _, c := range []struct {
		id             string
		faults         world.Faults
		property, part string
	}{
		{"P1", world.NoFaults, "lost-wakeup", "although"},
		{"SP1", world.NoFaults, "early-leave", "inside"},
		{"SP8", world.NoFaults, "lost-wakeup", "nobody works inside"},
		{"SP12", world.NoFaults, "early-enter", "at most 1 of 2 members were present"},
		{"SP13", world.NoFaults, "lost-wakeup", "although"},
		{"B4", world.Cancel, "early-enter", "at most 1 of 2 members were present"},
		{"SP10", world.Loss, "early-enter", "members were present"},
	} {
		bugs, err := zoo.Find([]string{c.id})
		if err != nil {
			t.Fatal(err)
		}
		wantBroken(t, bugs[0].Broken(), c.faults, c.property, c.part)
	}
}

// oneSession is a connection that ends with its session, as the handles of Java's client do: what is
// asked of it in another session fails.
type oneSession struct {
	recipes.Conn
	session *int64
}

func newOneSession(c recipes.Conn) recipes.Conn { return oneSession{c, new(int64)} }

// live returns the error of a handle whose session is over, or that of the request.
func (c oneSession) live(err error) error {
	now := c.SessionID()
	if *c.session == 0 {
		*c.session = now
	}
	if now != *c.session {
		return zk.ErrSessionExpired
	}
	return err
}

func (c oneSession) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	made, err := c.Conn.Create(path, data, flags, acl)
	return made, c.live(err)
}

func (c oneSession) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := c.Conn.Children(path)
	return names, stat, c.live(err)
}

// NewGUID is the simulated connection's.
func (c oneSession) NewGUID() string { return recipes.NewGUID(c.Conn) }

// A lock that does not notice that its znode has gone with its session is broken by a client that goes on in
// a new session, and not by one whose handle ends with the session.
func TestHandlesThatEndWithTheirSession(t *testing.T) {
	for _, test := range []struct {
		name   string
		conn   func(recipes.Conn) recipes.Conn
		faults world.Faults
		broken bool
	}{
		{"a new session under the same handle", func(c recipes.Conn) recipes.Conn { return c }, world.Expiry, true},
		{"one session", newOneSession, world.Expiry, false},
		{"no new session without an expiry", func(c recipes.Conn) recipes.Conn { return c },
			world.Loss | world.Watch | world.Cancel, false},
	} {
		w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker {
			return published.NewGoZKLock(test.conn(c), "/t/lock", published.OnlyBugs("L9"))
		})
		r := campaign(t, w, sim.Config{Episodes: testkit.Sized(1000, 6000), Until: "exclusion", Seed: 1, Faults: test.faults,
			NoShrink: true})
		if text := messageOf(r, "exclusion"); (text != "") != test.broken {
			t.Errorf("%s: exclusion %q", test.name, text)
		}
	}
}

// A lost connection is no lost session.
func TestFalseLost(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return published.NewOwnLock(c, path, published.OnlyBugs("F1"))
	})
	wantBroken(t, w, world.Loss, "false-lost", "is told by step")
	wantClean(t, w, world.Expiry|world.Crash) // then it is right
}

// What is broken in process is broken over the wire.
func TestKnownBugsOverWire(t *testing.T) {
	testkit.ManyWorlds(t)
	const most = 5
	hunted := 0
	for _, a := range zoo.KnownBugs() {
		w := a.Broken()
		if w.Terms().Client != goclient.SemanticsGo || hunted == most {
			continue // published for a client that treats its watches otherwise
		}
		hunted++
		faults, err := world.ParseFaults(cmp.Or(a.Needs, "none"))
		if err != nil {
			t.Fatal(err)
		}
		r := campaign(t, w.OverWire(), sim.Config{
			Episodes: 5000, Seed: 1, Faults: faults, NoFaultsAtAll: true, Clients: a.Clients, Until: a.Property,
			NoShrink: true,
		})
		t.Logf("%s: %s in %d episodes", a.ID, a.Property, r.Episodes)
		if len(r.Violations) == 0 {
			t.Errorf("%s: %s is not found over the wire in %d episodes: %s %s",
				a.ID, a.Property, r.Episodes, r.Verdict, r.Reason)
		}
	}
	if hunted < most {
		t.Errorf("only %d known bugs were hunted", hunted)
	}
}

// That an owner is not told of its session's end shows only if the end is learned between two writes of one hold, and where
// something depends on a fault is where conflicts has them strike.
func TestConflictsFindWhatDependsOnTheMoment(t *testing.T) {
	testkit.ManyWorlds(t)
	w := lookUp(t, "lock", "published/WriteLock")
	broken := func(strategy string) int {
		r := campaign(t, w, sim.Config{Strategy: strategy, Episodes: 3000, Seed: 1, NoShrink: true})
		found := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == "belief" })
		if found < 0 {
			return 0
		}
		return r.Violations[found].Times
	}
	if conflicts, random := broken("conflicts"), broken("random"); 4*conflicts < 5*random {
		t.Errorf("of 3000 episodes %d show it with faults where something depends on them, and %d at random", conflicts, random)
	}
}

// A correct lock whose owners are told by a flag is not accused when goroutines stand still.
func TestStalledOwnersAreNotAccused(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return published.NewFlagLock(c, path, published.NoBugs())
	}, workload.Existing())
	r := campaign(t, w, sim.Config{Episodes: 4000, Seed: 9, Clients: 2, Faults: world.Stall | world.Expiry})
	if r.Verdict != sim.VerdictOK || r.Struck["stall"] < 1000 {
		t.Errorf("%s, %d stalls, %v", r.Verdict, r.Struck["stall"], r.Violations)
	}
}
