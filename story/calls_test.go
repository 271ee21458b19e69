package story_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

// byName is a lock of the one whose name, a random one, is the first, or of who has asked for the other.
type byName struct {
	conn      recipes.Conn
	path, own string
	asks      bool
}

func (l *byName) Lock(ctx context.Context) (err error) {
	l.conn.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
	if l.own, err = l.conn.CreateProtectedEphemeralSequential(l.path+"/x-", nil, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	for {
		names, _, changed, err := l.conn.ChildrenW(l.path) // the list
		if l.asks && len(names) == 2 {
			_, _, err = l.conn.Exists(l.path + "/" + names[slices.Index(names, path.Base(l.own))^1]) // the answer
			return err
		}
		if err != nil || l.own == l.path+"/"+slices.Min(names) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *byName) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }

// thief is a lock that is deleted by whoever gives up.
type thief struct {
	conn recipes.Conn
	path string
}

func (l thief) Lock(ctx context.Context) error {
	_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		l.Unlock(ctx)
	}
	return err
}

func (l thief) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) } // the theft

// Lease and Free make of it the only number that there is: the kind ids, which grants nothing.
func (l thief) Lease(ctx context.Context) (int64, error) { return 0, l.Lock(ctx) }
func (l thief) Free(ctx context.Context) error           { return l.Unlock(ctx) } // the call

// blind is a queue that does not heed whether its delete has deleted.
type blind struct {
	conn recipes.Conn
	path string
}

func (q blind) Offer(_ context.Context, data []byte) error {
	q.conn.Create(q.path, nil, 0, zk.WorldACL(zk.PermAll))
	_, err := q.conn.Create(q.path+"/x-", data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (q blind) Poll(context.Context) ([]byte, error) {
	names, _, err := q.conn.Children(q.path)
	if len(names) == 0 {
		return nil, errors.Join(err, recipes.ErrEmpty)
	}
	first := q.path + "/" + slices.Min(names)
	data, _, err := q.conn.Get(first)
	q.conn.Delete(first, -1) // unheeded
	return data, err
}

// naive has the mistakes of a beginner, each in a method, and is used as a lock or a counter.
type naive struct {
	conn recipes.Conn
	path string
	lock func(n *naive) error
	free func(n *naive) error
	own  string
}

func (n *naive) Lock(context.Context) error   { return n.lock(n) }
func (n *naive) Unlock(context.Context) error { return n.free(n) }

func (n *naive) enter() (err error) {
	n.own, err = n.conn.Create(n.path+"/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll)) // no parent
	return err
}

func (n *naive) leave() error { return n.conn.Delete(n.own, -1) }

// leaveAgain asks until it is answered.
func (n *naive) leaveAgain() error {
	for {
		if err := n.conn.Delete(n.own, -1); !errors.Is(err, zk.ErrConnectionClosed) { // again
			return err
		}
	}
}

// takes makes one znode, and takes it for its own if it is there.
func (n *naive) takes() error {
	_, err := n.conn.Create(n.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)) // refused
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// remembers does not ask again before its delete has been answered.
func (n *naive) remembers() error {
	if n.own != "" {
		return nil
	}
	_, err := n.conn.Create(n.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err == nil {
		n.own = n.path
	}
	return err
}

func (n *naive) forgets() error {
	_, stat, err := n.conn.Get(n.path)
	if err == nil && stat.EphemeralOwner == n.conn.SessionID() {
		err = n.conn.Delete(n.path, stat.Version)
		n.own = ""
	}
	return err
}

// looks lists before it makes its znode.
func (n *naive) looks() error {
	n.conn.Create(n.path, nil, 0, zk.WorldACL(zk.PermAll))
	if names, _, err := n.conn.Children(n.path); err != nil || len(names) > 0 { // before
		return errors.Join(err, errors.New("busy"))
	}
	return n.enter()
}

// items are a queue by names.
type items struct {
	blind
	again bool
}

func (q items) Offer(ctx context.Context, data []byte) error {
	if !q.again {
		return q.blind.Offer(ctx, data)
	}
	q.conn.Create(q.path, nil, 0, zk.WorldACL(zk.PermAll))
	for {
		_, err := q.conn.Create(q.path+"/"+string(data), data, 0, zk.WorldACL(zk.PermAll)) // anew
		if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			return err
		}
		time.Sleep(time.Second)
	}
}

func (q items) Poll(context.Context) ([]byte, error) {
	q.conn.Sync(q.path)
	names, _, err := q.conn.Children(q.path) // the items
	if len(names) == 0 {
		return nil, errors.Join(err, recipes.ErrEmpty)
	}
	first := q.path + "/" + slices.Min(names)
	data, _, err := q.conn.Get(first) // the item
	if err == nil {
		err = q.conn.Delete(first, -1) // the race
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil, recipes.ErrEmpty
	}
	return data, err
}

// ranked is a queue by priorities.
type ranked struct{ items }

func (q ranked) Offer(_ context.Context, priority int32, data []byte) error {
	q.conn.Create(q.path, nil, 0, zk.WorldACL(zk.PermAll))
	_, err := q.conn.Create(fmt.Sprintf("%s/%d-", q.path, priority), data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

// sum is a counter in the data of a znode.
type sum struct {
	conn    recipes.Conn
	path    string
	version bool
}

func (s sum) Add(_ context.Context, delta int64) (int64, error) {
	data, stat, err := s.conn.Get(s.path) // the value
	if err != nil {
		return 0, err
	}
	old, _ := strconv.ParseInt(string(data), 10, 64)
	version := int32(-1)
	if s.version {
		version = stat.Version
	}
	_, err = s.conn.Set(s.path, strconv.AppendInt(nil, old+delta, 10), version) // the sum
	return old + delta, err
}

func (s sum) Get(context.Context) (int64, error) {
	data, _, err := s.conn.Get(s.path)
	n, _ := strconv.ParseInt(string(data), 10, 64)
	return n, err
}

// once is an instance that registers once.
type once struct {
	conn       recipes.Conn
	path, name string
}

func newOnce(c recipes.Conn, path, name string) cluster.Registrar { return once{c, path, name} }

func (o once) Register(context.Context) error {
	o.conn.Create(o.path, nil, 0, zk.WorldACL(zk.PermAll))
	_, err := o.conn.Create(o.path+"/"+o.name, []byte(o.name), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)) // once
	return err
}

func (o once) Deregister(context.Context) error { return o.conn.Delete(o.path+"/"+o.name, -1) }

func (o once) Changed(ctx context.Context, _ []string) ([]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (o once) List(context.Context) ([]string, error) {
	o.conn.Sync(o.path)
	names, _, err := o.conn.Children(o.path)
	return names, err
}

// call is a recipe that breaks something, and how that is told: by which mechanism, with which line of this file.
type call struct {
	workload                  *workload.Workload
	faults                    world.Faults
	property, mechanism, line string
}

func calls() []call {
	beginner := func(lock, free func(n *naive) error, opts ...workload.Option) *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &naive{conn: c, path: path, lock: lock, free: free}
		}, opts...)
	}
	adder := func(version bool, opts ...workload.Option) *workload.Workload {
		return workload.Counter(func(c recipes.Conn, path string) workload.Adder { return sum{c, path, version} }, opts...)
	}
	nothing := func(*naive) error { return nil }
	there := workload.Existing()
	return []call{
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &byName{conn: c, path: path} }), 0, "exclusion", "misread-order", "// the list"},
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &byName{conn: c, path: path, asks: true} }), 0, "exclusion", "", ""},
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return thief{c, path} }), 0, "exclusion", "foreign-delete", "// the theft"},
		{cluster.IDs(1, func(c recipes.Conn, path string) cluster.Leaser { return thief{c, path} }), 0, "exclusion", "foreign-delete", "// the theft"},
		{workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return blind{c, path} }), 0, "duplicate", "missed-delete", "// unheeded"},
		{beginner(nothing, nothing), 0, "exclusion", "no-request", ""},
		{beginner((*naive).enter, (*naive).leave), 0, "unexpected-error", "no-parent", "// no parent"},
		{beginner((*naive).enter, (*naive).leaveAgain, there), world.Loss, "unexpected-error", "already-done", "// again"},
		{beginner((*naive).takes, func(n *naive) error { n.conn.Delete(n.path, -1); return nil }), 0, "exclusion", "taken", "// refused"},
		{beginner((*naive).remembers, (*naive).forgets), world.Expiry, "exclusion", "from-memory", ""},
		{beginner((*naive).looks, (*naive).leave), 0, "exclusion", "list-first", "// no parent"},
		{workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return items{blind: blind{c, path}} }), 0, "false-empty", "raced", "// the item"},
		{workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return items{blind{c, path}, true} }), world.Loss, "duplicate", "consumed", "// anew"},
		{workload.PriorityQueue(func(c recipes.Conn, path string) workload.PriorityQueuer { return ranked{items{blind: blind{c, path}}} }), 0, "order", "priorities", "// the race"},
		{cluster.Registry(newOnce), world.Expiry, "missing", "with-session", "// once"},
		{adder(true), 0, "unexpected-error", "not-there", "// the value"},
		{adder(true, there), 0, "unexpected-error", "conflict", "// the sum"},
		{adder(false, there), 0, "lost-update", "check-then-act", "// the sum"},
	}
}

// What has not been heeded is told, with its line and what helps. Nothing is told that is not sure.
func TestWhatCallsDo(t *testing.T) {
	for _, of := range calls() {
		c := caught(t, of.workload, sim.Config{Seed: 1, Faults: of.faults, Until: of.property})
		r, err := sim.Replay(of.workload, c)
		if err != nil {
			t.Fatal(err)
		}
		s := newStory(t, of.workload, c, r)
		if s.Cause == nil || string(s.Cause.Mechanism) != of.mechanism || (s.Help == nil) != (of.mechanism == "") {
			t.Errorf("%s: the cause is %+v, want %s:\n%s", of.property, s.Cause, of.mechanism, s.Text(story.TextOptions{Brief: true}))
			continue
		}
		decisive := s.Decisive()
		if of.line == "" && decisive != nil {
			t.Errorf("%s: %v is said to decide, and nobody knows", of.property, decisive)
		}
		if of.line != "" && (decisive == nil || decisive[0] != world.SourceModule()+"/"+lineIn(t, "calls_test.go", of.line)) {
			t.Errorf("%s: %v decides, want the line with %s", of.mechanism, decisive, of.line)
		}
	}
}

// Who is granted something because it reads the znode of its old session, on a server that still has it, is told so.
func TestOldSession(t *testing.T) {
	of := func(step int64, what string, session, op int) story.Event {
		return story.Event{Step: step, Kind: "exchange", What: what, Path: "/lock", Answer: "ok", Session: session, Operation: op, From: -1, Code: what + ".go:1"}
	}
	s := &story.Story{
		Clock: "steps", Property: "exclusion", Workload: "lock", Servers: 3, Clients: []story.Client{{Name: "c1", Users: 1}},
		Sessions: []story.Session{{Name: "s1", End: 3, Expired: true, Learned: 4}, {Name: "s2", Begin: 5, End: -1}},
		Events:   []story.Event{of(1, "create", 0, 0), of(6, "get", 1, 1)},
		Operations: []story.Operation{{Name: "acquire", Outcome: "ok", Return: 1, Cited: true},
			{Name: "acquire", Outcome: "ok", Call: 5, Return: 6, Cited: true}},
		Znodes: []story.Znode{{Path: "/lock", Name: "lock", Cited: true, Lives: []story.Life{{From: 1, Until: 3, Owner: 0, Maker: 0, Expired: true}}}},
	}
	if c := story.CauseOf(s); string(c.Mechanism) != "old-session" || c.Event != 1 {
		t.Errorf("the cause is %+v", c)
	}
}

// A process that follows a znode, and whose last read of it was lost, is told so.
func TestNotReadAgain(t *testing.T) {
	s := &story.Story{
		Clock: "steps", Property: "deaf", Workload: "config", Clients: []story.Client{{Name: "c1", Users: 1}},
		Events: []story.Event{
			{Step: 1, Kind: "exchange", What: "get+watch", Path: "/x", Answer: "= \"\"", Session: -1, Operation: -1, From: -1},
			{Step: 2, Kind: "watch", What: "NodeDataChanged", Path: "/x", Session: -1, Operation: -1, From: -1, Armed: 0},
			{Step: 3, Kind: "fault", What: "loss", Subject: "get+watch", Lost: "reply", Path: "/x", Session: -1, Operation: -1, From: -1},
		},
		Znodes: []story.Znode{{Path: "/x", Name: "x", Cited: true, Named: true}},
	}
	if c := story.CauseOf(s); string(c.Mechanism) != "not-read-again" || c.Event != 2 {
		t.Errorf("the cause is %+v", c)
	}
}

// Who deletes the claim of an item before the item is told so, if another has claimed it in between.
func TestClaimFirst(t *testing.T) {
	of := func(step int64, what, path string, op int) story.Event {
		return story.Event{Step: step, Kind: "exchange", Client: op % 2, What: what, Path: path, Answer: "ok", Operation: op, From: -1, Code: what + ".go:1"}
	}
	claim := func(from, until int64, maker int) story.Life {
		return story.Life{From: from, Until: until, Owner: -1, Maker: maker, Remover: -1}
	}
	s := &story.Story{
		Clock: "steps", Property: "duplicate", Workload: "lockingqueue", Servers: 1, Clients: []story.Client{{Name: "c1", Users: 1}, {Name: "c2", Users: 1}},
		Events: []story.Event{of(1, "create", "/claims/x", 0), of(3, "delete", "/claims/x", 2), of(4, "create", "/claims/x", 1), of(5, "delete", "/jobs/x", 2)},
		Operations: []story.Operation{{Name: "claim", Outcome: "ok", Return: 1}, {Client: 1, Name: "claim", Outcome: "ok", Return: 4},
			{Name: "finish", Outcome: "ok", Call: 2, Return: 5, Cited: true}},
		Znodes: []story.Znode{{Path: "/claims/x", Name: "claims/x", Lives: []story.Life{claim(1, 3, 0), claim(4, -1, 1)}}},
	}
	if c := story.CauseOf(s); string(c.Mechanism) != "claim-first" || c.Read != 1 || c.Event != 3 {
		t.Errorf("the cause is %+v", c)
	}
}

// Each rule has a recipe for which it is right, a known bug's or one of this file, and others for which it does not speak.
func TestEveryRule(t *testing.T) {
	told := map[string]int{"old-session": 1, "claim-first": 1, "not-read-again": 1} // below
	all := 0
	for _, of := range calls() {
		told[of.mechanism]++
		all++
	}
	found, err := os.ReadFile("../zoo/stories/testdata/found.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(found)) {
		told[strings.Split(line, "\t")[1]]++
		all++
	}
	for _, m := range story.Mechanisms() {
		if n := told[string(m)]; n == 0 || all-n < 2 {
			t.Errorf("%s is told of %d of %d stories", m, n, all)
		}
	}
}
