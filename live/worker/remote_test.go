package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// nobody is a Remote that does nothing.
type nobody struct{ Remote }

func (nobody) Can(string) bool { return false }

// loopback is a Remote without a process: it serves a recipe over the connection of a simulated client, and
// passes on of errors what a worker would.
type loopback struct {
	nobody
	user   workload.User
	conn   recipes.Conn
	served Served
}

func (l *loopback) Do(ctx context.Context, call Call) (Answer, error) {
	session := l.conn.SessionID()
	result, err := l.served[call.Op](ctx, call.Arg)
	if l.conn.SessionID() != session {
		session = 0
	}
	if err != nil {
		return Answer{Session: session, Incarnation: 1}, callError(call, err.Error(), outcomeOpen(err), result)
	}
	return Answer{Result: result, Session: session, Incarnation: 1}, nil
}

func (l *loopback) Can(op string) bool { return l.served[op] != nil }
func (l *loopback) SessionID() int64   { return l.conn.SessionID() }
func (l *loopback) Connected() bool    { return true }
func (l *loopback) ExpiriesSeen() int  { return l.user.ExpiriesSeen() }
func (l *loopback) Broken() int        { return 0 }

// loopedEpisode is a remote episode in simulation.
type loopedEpisode struct {
	*episode
	serve *workload.Workload
	path  string
	t     *testing.T
}

// Parents must not have the object: its recipe makes that.
func (e loopedEpisode) Parents() []string {
	parents := e.episode.Parents()
	if slices.Contains(parents, e.path) {
		e.t.Errorf("%s is made before its recipe makes it", e.path)
	}
	return parents
}

func (e loopedEpisode) Run(u workload.User) { e.episode.Run(loopedUser{u, e}) }

type loopedUser struct {
	workload.User
	e loopedEpisode
}

func (u loopedUser) Conn() recipes.Conn {
	served, err := serve(u.e.serve.Name(), u.e.serve.Make(u.User.Conn(), u.e.path))
	if err != nil {
		u.e.t.Error(err)
	}
	return &remoteConn{Conn: u.User.Conn(), remote: &loopback{user: u.User, conn: u.User.Conn(), served: served}}
}

// looped is a workload of a recipe that is reached through a Remote.
func looped(t *testing.T, kind, recipe string) *workload.Workload {
	t.Helper()
	served, err := workload.Find(kind, recipe)
	if err != nil {
		t.Fatal(err)
	}
	return loopedTo(t, served)
}

func loopedTo(t *testing.T, served *workload.Workload) *workload.Workload {
	k := kindNamed(served.Name())
	w, _ := served.With(served.Recipe(), k.recipe, func(e workload.Episode, path string) workload.Episode {
		return loopedEpisode{k.episode(e, path).(*episode), served, path, t}
	})
	return w
}

func messages(r sim.Result) (text string) {
	for _, found := range r.Violations {
		text += "\n\t" + found.Message
	}
	return text
}

func runRemote(t *testing.T, w *workload.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	testkit.ManyWorlds(t)
	cfg.Seed, cfg.NoShrink = 1, true
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// oneEach is an episode whose users have one object each, which they make, and nothing else over their sessions, as in
// processes of their own.
type oneEach struct {
	workload.Episode
	path string
}

func (e oneEach) Parents() []string { return without(e.path, e.Episode.Parents()) }

func (e oneEach) Run(u workload.User) { e.Episode.Run(oneUser{u}) }

type oneUser struct{ workload.User }

func (u oneUser) Conn() recipes.Conn { return oneConn{u.User.Conn().(*goclient.Conn)} }

type oneConn struct{ *goclient.Conn }

func (oneConn) OneObject() {}

// What is served and called is the recipe, no more and no less: without faults, every step of every episode is
// the same as without the detour. (The question who leads is not in the protocol, so elections differ.)
func TestDetourChangesNothing(t *testing.T) {
	for _, kind := range kindNames() {
		if kind == "election" {
			continue
		}
		direct, err := workload.Find(kind, workload.Ours)
		if err != nil {
			t.Fatal(err)
		}
		direct, _ = direct.With(workload.Ours, direct.Make, func(e workload.Episode, path string) workload.Episode {
			return oneEach{e, path}
		})
		cfg := sim.Config{Episodes: testkit.Sized(80, 300), Faults: world.NoFaults, NoFaultsAtAll: true}
		want, got := runRemote(t, direct, cfg), runRemote(t, looped(t, kind, workload.Ours), cfg)
		if got.Hash != want.Hash || got.Verdict != sim.VerdictOK {
			t.Errorf("%s: %s, hash %x, want ok, %x: %s", kind, got.Verdict, got.Hash, want.Hash, messages(got))
		}
	}
}

// What is lost on the way, such as the kind of an error, causes no violation: correct recipes pass
// under all faults, as without the detour.
func TestDetourAccusesNobody(t *testing.T) {
	for _, kind := range kindNames() {
		r := runRemote(t, looped(t, kind, workload.Ours), sim.Config{Episodes: testkit.Sized(200, 1500)})
		if r.Verdict != sim.VerdictOK {
			t.Errorf("%s: %s (%s) %s", kind, r.Verdict, r.Reason, messages(r))
		}
	}
}

// A broken recipe is found out all the same.
func TestDetourHidesNothing(t *testing.T) {
	for _, of := range [][3]string{
		{"lock", "broken", "exclusion"},
		{"queue", "broken", "false-empty"},
	} {
		r := runRemote(t, looped(t, of[0], of[1]),
			sim.Config{Episodes: 1500, Until: of[2], Faults: world.NoFaults, NoFaultsAtAll: true})
		if !slices.ContainsFunc(r.Violations, func(f sim.Found) bool { return f.Property == of[2] }) {
			t.Errorf("%v: %s %s", of, r.Verdict, messages(r))
		}
	}
}

func TestKinds(t *testing.T) {
	for _, kind := range kindNames() {
		if _, err := Find(kind, "exec:x"); err != nil {
			t.Error(err)
		}
	}
	_, err := Find("priorityqueue", "exec:x")
	if err == nil || !strings.Contains(err.Error(), "lock, rwlock, semaphore") {
		t.Errorf("Find says %v; want what there is", err)
	}
}

// In simulation there are no processes: no operation can be carried out, which is no violation.
func TestRemoteNeedsRealServers(t *testing.T) {
	w, err := Find("lock", "exec:x")
	if err != nil {
		t.Fatal(err)
	}
	r := runRemote(t, w, sim.Config{Episodes: 3, Faults: world.NoFaults, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "only on real servers") {
		t.Errorf("%s (%s), want that it is not known%s", r.Verdict, r.Reason, messages(r))
	}
}

// A recipe in another process has those optional operations that the process says it has.
func TestQueueHasWhatItsProcessHas(t *testing.T) {
	for _, can := range [][]string{nil, {"take"}, {"peek"}, {"take", "peek"}} {
		q := &handle{kind: kindNamed("queue"), conn: &remoteConn{remote: able{can: can}}}
		take, peek := q.HasMethod("Take"), q.HasMethod("Peek")
		if !q.HasMethod("Poll") {
			t.Error("a queue cannot be polled")
		}
		if take != slices.Contains(can, "take") || peek != slices.Contains(can, "peek") {
			t.Errorf("of a process that can %v: take %v, peek %v", can, take, peek)
		}
	}
}

// able is a Remote with these optional operations.
type able struct {
	nobody
	can []string
}

func (a able) Can(op string) bool { return slices.Contains(a.can, op) }

func TestInProcesses(t *testing.T) {
	for of, may := range map[[2]string]bool{
		{"lock", "broken"}: true, {"queue", workload.Ours}: true, {"queue", "exec:x"}: true,
		{"queue", "ours/receipts"}: false, {"priorityqueue", workload.Ours}: false,
	} {
		w, err := Find(of[0], of[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := InProcesses(w); (err == nil) != may {
			t.Errorf("%v: %v, want that it may: %v", of, err, may)
		}
	}
	if _, err := InProcesses(workload.Own("lock", nil)); err == nil {
		t.Error("a kind of a user's own may be in processes, although its episodes make their recipes themselves")
	}
}

// scripted is a Remote whose answers are given.
type scripted struct {
	nobody
	answers []Answer
	err     error
	calls   []Call
	told    int
}

func (s *scripted) Do(_ context.Context, call Call) (Answer, error) {
	s.calls = append(s.calls, call)
	if len(s.answers) == 0 {
		return Answer{}, s.err
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer, nil
}

func (s *scripted) ExpiriesSeen() int { return s.told }

// What is held is asked for, and given back to, the process that granted it, and to no other.
func TestHoldBelongsToAProcess(t *testing.T) {
	r := &scripted{answers: []Answer{{Result: linearizability.Int(7), Session: 1, Incarnation: 3}}, err: recipes.ErrLost}
	lock := &handle{conn: &remoteConn{remote: r, user: 1}, path: "/a"}
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lock.Token(); got != 7 {
		t.Errorf("token %d, want 7", got)
	}
	if !lock.IsOwner() {
		t.Error("the holder is no owner")
	}
	r.told++
	if lock.IsOwner() {
		t.Error("whose session is gone is still an owner")
	}
	if err := lock.Unlock(t.Context()); !errors.Is(err, recipes.ErrLost) {
		t.Errorf("Unlock says %v, want that it was lost", err)
	}
	want := []Call{{User: 1, Path: "/a", Op: "acquire"}, {User: 1, Path: "/a", Op: "release", Incarnation: 3}}
	if !slices.Equal(r.calls, want) {
		t.Errorf("calls %v, want %v", r.calls, want)
	}
}

// ended is a world of which it is known when sessions ended.
type ended struct {
	workload.World
	at map[int64]int64
}

func (w ended) SessionEnd(session int64) (int64, bool) { end, is := w.at[session]; return end, is }

// An operation is put into the session in which it took place, whatever its client has by then. What was got
// hold of in none that is known, or in one whose end is not known, counts for nothing.
func TestAttribution(t *testing.T) {
	for _, c := range []struct {
		session int64 // of the answer; 0xf: the operation has not ended
		hold    bool
		want    int64
		counts  bool
	}{
		{0xa, true, 0xa, true},  // alive
		{0xb, true, 0xb, true},  // ended at 7
		{0xc, true, 0xc, false}, // ended, nobody knows when
		{0, true, 0, false},     // unknown
		{0, false, 0, true},     // of what is not held no session matters
		{0xf, false, 0xe, true}, // still under way
		{0xc, false, 0xc, true}, // likewise
	} {
		e := &episode{sessions: map[int64]int64{}, unjudged: map[int64]string{}}
		op := &world.Op{Number: 1, Call: 5, Return: 6, SessionAt: 0xe, Outcome: world.OK}
		if c.hold {
			op.Data = &workload.Held{}
		}
		if c.session != 0xf {
			e.note(op, &remoteConn{session: c.session})
		}
		e.attribute(&workload.View{World: ended{at: map[int64]int64{0xb: 7, 0xc: 0}}, Ops: []*world.Op{op}})
		if op.SessionAt != c.want || (op.Outcome == world.OK) != c.counts {
			t.Errorf("%+v: session %x, outcome %v", c, op.SessionAt, op.Outcome)
		}
	}
}

// A member of a double barrier whose process has died is missed until its session ends: the leave that no process was
// asked for does not count, and who comes back in another process is another. Whom an unknown session let in was inside
// for nobody knows how long.
func TestMembersDieWithTheirProcess(t *testing.T) {
	e := kindNamed("doublebarrier").episode(nil, "/b").(*episode)
	v := &workload.View{World: ended{}}
	for i, of := range []remoteConn{{session: 0xa, incarnation: 1}, {}, {session: 0xb, incarnation: 2}, {incarnation: 2}} {
		op := &world.Op{Number: int64(i + 1), Name: [...]string{"enter", "leave", "enter", "enter"}[i], Outcome: world.OK}
		e.note(op, &of)
		v.Ops = append(v.Ops, op)
	}
	e.attribute(v)
	var got []string
	for _, op := range v.Ops {
		got = append(got, fmt.Sprintf("%d %s %d %t", op.Number, op.Name, op.Incarnation, op.Outcome == world.OK))
	}
	want := []string{"1 enter 0 true", "3 enter 1 true", "4 enter 1 false"}
	if !slices.Equal(got, want) {
		t.Errorf("operations %q, want %q", got, want)
	}
}

// limited is a counter that cannot subtract, and one that does not tell the sum.
type limited struct {
	workload.Adder
	negative, sum bool
}

func (l limited) Adds() (negative, sum bool) { return l.negative, l.sum }

func (l limited) Add(ctx context.Context, delta int64) (int64, error) {
	if delta < 0 && !l.negative {
		return 0, errors.New("a negative addend")
	}
	sum, err := l.Adder.Add(ctx, delta)
	if !l.sum {
		sum = 0
	}
	return sum, err
}

// A counter is judged by what it has, here and in another process.
func TestLimitedCounters(t *testing.T) {
	for _, has := range []limited{{sum: true}, {negative: true}} {
		ours := workload.Counter(func(c recipes.Conn, path string) workload.Adder {
			return limited{recipes.NewCounter(c, path), has.negative, has.sum}
		})
		for where, w := range map[string]*workload.Workload{"here": ours, "in a process": loopedTo(t, ours)} {
			r := runRemote(t, w, sim.Config{Episodes: 300, Faults: world.NoFaults, NoFaultsAtAll: true})
			if r.Verdict != sim.VerdictOK {
				t.Errorf("%+v %s: %s (%s)%s", has, where, r.Verdict, r.Reason, messages(r))
			}
		}
	}
}
