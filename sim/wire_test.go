package sim_test

import (
	"context"
	"crypto/rand"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// zkLock is go-zookeeper's own lock, unmodified, which knows no contexts.
type zkLock struct{ of *zk.Lock }

func (l zkLock) Lock(context.Context) error   { return l.of.Lock() }
func (l zkLock) Unlock(context.Context) error { return l.of.Unlock() }

func newZKLock(c *zk.Conn, path string) workload.Locker {
	return zkLock{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
}

// ownLock opens a connection of its own.
type ownLock struct {
	zkLock
	conn *zk.Conn
}

func newOwnLock(s workload.Servers, path string) workload.Locker {
	conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		panic(err)
	}
	return ownLock{zkLock{zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))}, conn}
}

// Go-zookeeper's lock is broken in ways that its source shows: it leaves its znode behind when a request after the
// create fails, and keeps believing in a znode that went with its session.
func TestLockOfGoZooKeeper(t *testing.T) {
	for name, w := range map[string]*workload.Workload{
		"conn": workload.Of(workload.Lock, newZKLock), "dialer": workload.Of(workload.Lock, newOwnLock),
	} {
		t.Run(name, func(t *testing.T) {
			calm := run(t, w, sim.Config{Episodes: 50, Seed: 1, NoFaultsAtAll: true})
			if calm.Verdict != sim.VerdictOK || !calm.Wire {
				t.Errorf("without faults: %s %s, over the wire: %v, %+v", calm.Verdict, calm.Reason, calm.Wire, calm.Violations)
			}
			r := run(t, w, sim.Config{Episodes: testkit.Sized(100, 400), Seed: 1, Faults: world.Loss | world.Expiry, NoShrink: true})
			for _, property := range []string{"orphan", "unexpected-error"} {
				i := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == property })
				if i < 0 {
					t.Errorf("%s was not found: %s %s", property, r.Verdict, r.Reason)
					continue
				}
				story := r.Violations[i].Story(w)
				if !strings.Contains(story, "create       /t/lock/_c_") || !r.Violations[i].Wire {
					t.Errorf("a story without the frames of the lock:\n%s", story)
				}
			}
		})
	}
}

// Over the wire, too, the project's own recipes are clean, whatever strikes.
func TestOwnRecipesOverWire(t *testing.T) {
	testkit.ManyWorlds(t)
	n := int(seedsOf(t, "ZKTORTURE_WIRE", testkit.Sized(6, 80)))
	for _, k := range workload.Kinds() {
		w := find(t, k.Name, "").OverWire()
		r := run(t, w, sim.Config{Episodes: n, Seed: 3})
		if r.Verdict != sim.VerdictOK || !r.Wire || r.Left > 0 {
			t.Errorf("%s: %s %s, left %s", k.Name, r.Verdict, r.Reason, r.LeftAt)
		}
		for _, f := range r.Violations {
			t.Error(f.Story(w))
		}
		if r.Partly > n/2 {
			t.Errorf("%s: %d of %d episodes could be judged in part only", k.Name, r.Partly, n)
		}
	}
}

// wireStrikes are what losses say that only connections over the wire can have.
var wireStrikes = []string{
	"a dial is refused", "a dial succeeds, and nothing else comes through", "the connection is reset",
	"what the client sends gets lost", "what the server sends gets lost",
}

// Each way in which a connection can fail strikes over the wire, and none of those that need one in process.
func TestLossesOverWire(t *testing.T) {
	w := find(t, "lock", "")
	runs := testkit.Sized(60, 200)
	for _, s := range []struct {
		w    *workload.Workload
		wire bool
	}{{w, false}, {w.OverWire(), true}} {
		seen := map[string]int{}
		for i := range uint64(runs) {
			one := sim.RunOne(s.w, sim.Config{Faults: world.Loss}, sim.NewRandomSource(5, i))
			text := strings.Join(replay.Lines(one.Trace), "\n")
			for _, strike := range wireStrikes {
				seen[strike] += strings.Count(text, strike)
			}
		}
		for _, strike := range wireStrikes {
			if (seen[strike] > 0) != s.wire {
				t.Errorf("over the wire: %v; %q struck %d times in %d episodes", s.wire, strike, seen[strike], runs)
			}
		}
	}
}

// What go-zookeeper and others take from crypto/rand is equal in equal runs, and random elsewhere.
func TestRandomnessOverWire(t *testing.T) {
	names := func() (made []string) {
		one := sim.RunOne(workload.Of(workload.Lock, newZKLock), sim.Config{NoFaultsAtAll: true}, sim.NewRandomSource(1, 1))
		for _, s := range one.Trace {
			if s.Made != "" {
				made = append(made, s.Made)
			}
		}
		return made
	}
	a, b := names(), names()
	if len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("znodes made in one run: %v, in the other: %v", a, b)
	}
	var x, y [16]byte
	rand.Reader.Read(x[:])
	rand.Reader.Read(y[:])
	if x == y {
		t.Error("outside of worlds crypto/rand.Reader repeats itself")
	}
}

// waitsBeside is a lock with a goroutine beside it that never ends.
func waitsBeside(l workload.Locker) workload.Locker {
	go waitForever()
	return l
}

func waitForever() { select {} }

// Goroutines that are left behind are a leak, unless nothing could have ended them: then a run says where they stand,
// and ends before they have taken all memory.
func TestGoroutinesLeftOverWire(t *testing.T) {
	testkit.ManyWorlds(t)
	ofConn := workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		return waitsBeside(newZKLock(c, path))
	})
	r := run(t, ofConn, sim.Config{Episodes: 3, Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	if len(r.Violations) != 1 || r.Violations[0].Property != "goroutine-leak" ||
		!strings.Contains(r.Violations[0].Message, "waitForever") || r.Left > 0 {
		t.Errorf("of a *zk.Conn: %s %+v", r.Verdict, r.Violations)
	}
	ofDialer := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, _, err := zk.Connect(s.Literals, 4*time.Second, zk.WithDialer(s.Dial),
			zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return waitsBeside(newZKLock(conn, path))
	})
	r = run(t, ofDialer, sim.Config{Episodes: 3, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK || r.Left != 3 || !strings.Contains(r.LeftAt, "waitForever (wire_test.go:") {
		t.Errorf("of a dialer: %s %s, %d left at %s", r.Verdict, r.Reason, r.Left, r.LeftAt)
	}
	r = run(t, ofDialer, sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictUnknown || r.Episodes > 150 || !strings.Contains(r.Reason, "have left goroutines behind") {
		t.Errorf("of a dialer, many: %s after %d episodes: %s", r.Verdict, r.Episodes, r.Reason)
	}
}

// attributed compares what the world takes for the user behind each create with what the name of the znode tells: the
// project's recipes put an identity there that is one user's.
type attributed struct {
	*workload.Workload
	t                *testing.T
	right, nobodys   int
	shared, episodes int
}

func (a *attributed) Plan(p *world.Plan) world.Episode {
	e := a.Workload.Plan(p)
	a.episodes++
	if slices.Contains(e.Users(), 2) {
		a.shared++
	}
	return attributedEpisode{e, a}
}

func (a *attributed) Terms() world.Terms { return world.Terms{Door: world.OverWire} }

type attributedEpisode struct {
	world.Episode
	of *attributed
}

func (e attributedEpisode) Judge(w *world.World) world.Judgement {
	for _, c := range w.Changes() {
		user, known := userNamedIn(c.Path, e.Users())
		if c.Op != wire.OpCreate || !known {
			continue
		}
		i := slices.IndexFunc(w.Ops(), func(op *world.Op) bool { return op.Number == c.By })
		switch {
		case i < 0:
			e.of.nobodys++
		case w.Ops()[i].User != user:
			e.of.t.Errorf("step %d: %s was made by user %d, and is taken for the work of user %d",
				c.Step, c.Path, user, w.Ops()[i].User)
		default:
			e.of.right++
		}
	}
	return e.Episode.Judge(w)
}

// userNamedIn returns the user whose identity is in a name.
func userNamedIn(path string, users []int) (user int, known bool) {
	for client, n := range users {
		for life := range 8 {
			for user := range n {
				for k := range uint64(20) {
					if strings.Contains(path, goclient.GUID(world.GUIDSeed(client, life), user, k+1)) {
						return user, true
					}
				}
			}
		}
	}
	return 0, false
}

// Requests over a connection that two users share are taken for the right one's, or nobody's.
func TestRequestsAreAttributed(t *testing.T) {
	a := &attributed{Workload: find(t, "lock", "").OverWire(), t: t}
	run(t, a, sim.Config{Episodes: testkit.Share(testkit.Sized(100, 400)), Seed: 4, Workers: 1, Until: "nothing"})
	if a.shared == 0 || a.right < 5*a.nobodys {
		t.Errorf("%d right, %d nobody's; of %d episodes %d have connections with two users",
			a.right, a.nobodys, a.episodes, a.shared)
	}
}

// cutOff is a lock of code that closes its connection when it is cut off, and opens another for the next operation.
type cutOff struct {
	servers workload.Servers
	path    string
	conn    *zk.Conn
	lock    *zk.Lock
}

func newCutOff(s workload.Servers, path string) workload.Locker {
	return &cutOff{servers: s, path: path}
}

func (c *cutOff) Lock(context.Context) error {
	if c.conn == nil || c.conn.State() != zk.StateHasSession {
		c.connect()
	}
	return c.lock.Lock()
}

func (c *cutOff) Unlock(context.Context) error { return c.lock.Unlock() }

func (c *cutOff) connect() {
	conn, events, err := zk.Connect(c.servers.Addresses, 4*time.Second, c.servers.Option, zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		panic(err)
	}
	c.conn, c.lock = conn, zk.NewLock(conn, c.path, zk.WorldACL(zk.PermAll))
	go func() {
		for e := range events {
			if e.State == zk.StateDisconnected {
				conn.Close()
			}
		}
	}()
}

// The end of a world closes the connections of code that is closing them itself at that moment, or does when it
// notices the end.
func TestCodeClosesWhenItIsCutOff(t *testing.T) {
	testkit.ManyWorlds(t)
	n := testkit.Share(testkit.Sized(60, 300))
	r := run(t, workload.Of(workload.Lock, newCutOff), sim.Config{Episodes: n, Seed: 1, NoShrink: true})
	if r.Episodes != n || r.Left > 0 {
		t.Errorf("%s: %d episodes of %d, %d left at %s: %s", r.Verdict, r.Episodes, n, r.Left, r.LeftAt, r.Reason)
	}
}

// outsider connects without what the world gives.
func outsider(addresses func(s workload.Servers) []string) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, _, err := zk.Connect(addresses(s), 4*time.Second, zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return newZKLock(conn, path)
	})
}

// Code that connects without the world's option gets nowhere, and is told at once what it lacks.
func TestCodeConnectsWithoutTheOption(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, addresses := range map[string]func(s workload.Servers) []string{
		"the world's names": func(s workload.Servers) []string { return s.Addresses },
		"numbers":           func(s workload.Servers) []string { return s.Literals },
		"somebody listens":  func(workload.Servers) []string { return []string{silent.Addr().String()} },
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, outsider(addresses), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true})
			if r.Verdict != sim.VerdictUnknown || r.Episodes > 100 || !strings.Contains(r.Reason, "s.Option") ||
				!strings.Contains(r.Reason, "torture test") {
				t.Errorf("%s after %d episodes, %v: %s", r.Verdict, r.Episodes, r.Violations, r.Reason)
			}
			if name != "numbers" && !strings.Contains(r.Reason, "wire_test.go:") {
				t.Errorf("the place in the code is missing in: %s", r.Reason)
			}
		})
	}
}

// Addresses that only exact mode can lead to the servers are dialled in no other build.
func TestDeclaredAddressesInAnOrdinaryBuild(t *testing.T) {
	w := workload.Of(workload.Lock, func(workload.Servers, string) workload.Locker {
		t.Error("the code runs")
		return nil
	}, workload.At("zk1:2181", "zk2:2181"))
	r := run(t, w, sim.Config{Episodes: 300, Seed: 1})
	if r.Verdict != sim.VerdictUnknown || r.Episodes > 10 || !strings.Contains(r.Reason, "zk1:2181, zk2:2181") ||
		!strings.Contains(r.Reason, "torture test") {
		t.Errorf("%s after %d episodes: %s", r.Verdict, r.Episodes, r.Reason)
	}
}

// Nobody can be asked for the world's names: no resolver can put them into a query.
func TestNamesOfTheWorldAreNobodys(t *testing.T) {
	var names []string
	w := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		names = s.Addresses
		return newOwnLock(s, path)
	})
	run(t, w, sim.Config{Episodes: 1, Seed: 1, Workers: 1, NoFaultsAtAll: true})
	for _, address := range names {
		host, _, err := net.SplitHostPort(address)
		unsendable := slices.ContainsFunc(strings.Split(host, "."), func(label string) bool { return len(label) > 63 })
		if err != nil || !strings.HasSuffix(host, ".invalid") || !unsendable {
			t.Errorf("%s is no name below .invalid with a label of more than 63 bytes", address)
		}
	}
	if len(names) == 0 {
		t.Error("there are none")
	}
}
