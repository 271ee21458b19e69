package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/call"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// Workload is one kind of recipe under test, for the simulator ([sim.Run], [sim.Check]) and for package live.
//
// A workload of a user's recipe is made from a function, which is called once for each user of a session with the
// session's connection and the path of the episode's object. When the episode begins nothing is at that path, and its
// parent exists. The recipe makes what it needs, there or below, and nothing elsewhere: several episodes may be under
// way on the same servers, and each has a path of its own.
type Workload struct {
	kind  string
	own   bool // see Own
	terms terms
	model linearizability.Model // without a name if histories have none

	plan   planner
	new    maker                                // nil: the episodes make their recipes themselves
	made   *atomic.Pointer[string]              // the type of what new makes; see Type
	around func(e Episode, path string) Episode // nil: the episodes are as planned
}

// planner plans an episode about the object at a path.
type planner = func(p *world.Plan, path string) Episode

// maker makes a recipe for one user of a session.
type maker = func(c recipes.Conn, path string) any

// workloadOf is the workload of a kind for the recipes that new makes.
func workloadOf[T any](
	kind string, model linearizability.Model, new func(recipes.Conn, string) T, plan planner, opts []Option,
) *Workload {
	w := &Workload{kind: kind, terms: agree(opts), model: model, plan: plan}
	return w.Making(func(c recipes.Conn, path string) any { return new(c, path) })
}

// Episode is one planned episode of a kind: what its users do, and what is judged of it. It is the same in every
// [World]. [Script] is the part that most kinds share.
type Episode interface {
	// Users returns how many users share the session of each client. A client is a process with one session.
	Users() []int
	// Parents are the znodes that exist when the episode begins, each after its own parent.
	Parents() []string
	// Run is the script of one user, on its own goroutine. When the user's process has died Run is called again, and
	// continues where the script stood.
	Run(u User)
	// MayWaitForever returns those of the waiting operations that may wait for ever, such as a take from an empty
	// queue.
	MayWaitForever(all, waiting []*world.Op) []*world.Op
	// History is what the clients saw, for a model of package linearizability.
	History(v *View) linearizability.History
	// Judge returns what was wrong, after all users have finished or nothing moves any more.
	Judge(v *View) Judgement
}

// Name is the kind of recipe: "lock", "queue".
func (w *Workload) Name() string { return w.kind }

// Terms are what the simulated world needs to know.
func (w *Workload) Terms() world.Terms {
	t := world.Terms{
		Door: w.terms.door, At: w.terms.at, Client: w.terms.semantics, TellsTime: w.terms.tellsTime,
		Waived: w.terms.waived, Provisioned: w.terms.provisioned, Follows: follows,
	}
	if len(w.terms.setUp) > 0 {
		t.Prepare = func(c *goclient.Conn, root string) error { return w.SetUp(c, w.pathIn(root)) }
	}
	return t
}

// Episode plans one episode about the object at a path. Equal choices give equal episodes.
func (w *Workload) Episode(p *world.Plan, path string) Episode {
	if w.terms.door == world.ByDialer {
		p.Users = 1 // each has connections of its own, and so sessions
	}
	e := w.plan(p, path)
	if script, ok := e.(interface{ agree(terms, maker) }); ok {
		script.agree(w.terms, w.maker())
	}
	if w.around != nil {
		return w.around(e, path)
	}
	return e
}

// maker is the constructor of an episode's recipes.
func (w *Workload) maker() maker {
	if w.terms.statics != nil {
		return w.terms.statics()
	}
	return w.new
}

// Making returns the workload of a custom kind ([Own]) with the constructor of its recipes, which its episodes call by
// [Script.Make]. So its recipe may be replaced: by one that runs in another process, or by one that code over the wire is
// given ([Of]).
func (w *Workload) Making(new func(c recipes.Conn, path string) any) *Workload {
	w.made = &atomic.Pointer[string]{}
	w.new = func(c recipes.Conn, path string) any { return Typed(w, new(c, path)) }
	return w
}

// Typed notes the type of a recipe that a workload's constructor has made, or a function that the constructor has returned,
// for [Workload.Type].
func Typed[T any](w *Workload, recipe T) T {
	if w.made.Load() == nil {
		if name := fmt.Sprintf("%T", recipe); !strings.HasPrefix(name, "func(") {
			name = strings.TrimLeft(name, "*")
			w.made.Store(&name)
		}
	}
	return recipe
}

// Make makes a recipe as the users of an episode get it; nil if w does not say how ([Own]).
func (w *Workload) Make(c recipes.Conn, path string) any {
	if w.new == nil {
		return nil
	}
	return w.maker()(c, path)
}

// With is the same workload on the same terms, by another name, for recipes that new makes; they are what the
// constructor of the kind is given. Each episode is as around returns it. It is false if w does not say how its recipes
// are made: a kind of the user's own does by [Workload.Making].
func (w *Workload) With(
	recipe string, new func(c recipes.Conn, path string) any, around func(e Episode, path string) Episode,
) (*Workload, bool) {
	v := *w
	v.terms.recipe, v.terms.statics, v.new, v.around = recipe, nil, new, around
	v.terms.tellsTime = false
	return &v, w.new != nil
}

// Recipe names the implementation under test.
func (w *Workload) Recipe() string { return w.terms.recipe }

// Type is the Go type of a recipe without a name, mylock.Lock, once one has been made; else "".
func (w *Workload) Type() string {
	if w.made == nil || w.made.Load() == nil || w.Recipe() != unnamed {
		return ""
	}
	return *w.made.Load()
}

// Model is what the workload's histories are judged against, and false if that is properties alone.
func (w *Workload) Model() (m linearizability.Model, ok bool) { return w.model, w.model.Name != "" }

// Promised returns those violations that are of what the recipe promises.
func (w *Workload) Promised(found []sim.Violation) []sim.Violation {
	return slices.DeleteFunc(found, func(v sim.Violation) bool { return w.terms.waives(v.Property) })
}

// Own makes a workload of a custom kind: plan draws one episode about the object at a path. All that is
// random about it is drawn from p, and what happens to it is the world's. Its Judge begins with [Script.Judging],
// which knows the options. A command knows the kind by name if it was registered ([Register]).
func Own(kind string, plan func(p *world.Plan, path string) Episode, opts ...Option) *Workload {
	t := agree(opts)
	t.existing = true // as the plan says
	return &Workload{kind: kind, own: true, terms: t, model: t.model, plan: plan}
}

// Plan implements [sim.Workload].
func (w *Workload) Plan(p *world.Plan) world.Episode {
	path := w.pathIn(p.Root)
	return &simulated{Episode: w.Episode(p, path), path: path, kind: w.kind, own: w.own}
}

// pathIn is the path of the object below a root.
func (w *Workload) pathIn(root string) string { return root + "/" + w.kind }

// SetUp makes what the recipe of an object at a path needs beside what its episodes' parents are: see the option
// [SetUp].
func (w *Workload) SetUp(c recipes.Conn, path string) error {
	for _, f := range w.terms.setUp {
		if err := f(c, path); err != nil {
			return err
		}
	}
	return nil
}

// simulated puts an episode into a simulated world.
type simulated struct {
	Episode
	path  string
	kind  string
	conns wireConns
	own   bool            // of a custom kind
	found []sim.Violation // at rest
}

func (s *simulated) Run(u *world.User) { s.Episode.Run(simUser{u, &s.conns}) }

func (s *simulated) MayWaitForever(w *world.World) bool {
	if len(s.found) == 0 {
		s.found = world.OutOfDate(w, idleMax)
	}
	inOrder := s.Episode.MayWaitForever(w.Ops(), w.Waiting())
	for _, op := range inOrder {
		w.Cancel(op)
	}
	return len(inOrder) > 0
}

func (s *simulated) Judge(w *world.World) world.Judgement {
	v := newView(w, s.path)
	v.own = s.own
	j := s.Episode.Judge(v)
	if j.Add(s.found...); s.own {
		j.ownerless(v, simWorld{w, s.path})
		j.advise(s.kind)
	}
	if !w.Attributed() {
		j.NotJudged, j.Partly = nil, true
	}
	return j.Judgement
}

// User is one user of a session, as its script sees it, in whichever world.
type User interface {
	// Client numbers the session, Index its users, both from 0.
	Client() int
	Index() int
	// Life is how often its process has died before: what is named after a user may have to be another one then.
	Life() int
	// Conn is the session's connection.
	Conn() recipes.Conn
	// Begin begins an operation. Its context ends when the caller gives up, if it is cancelable, or all is over.
	Begin(name, arg string, cancelable bool) (context.Context, *world.Op)
	// Note says what an operation that has not ended is about, for the judge.
	Note(op *world.Op, about any)
	// Lasts says that what an operation got, which has not ended, is over when lost is closed; and later, with nil, that it
	// was given back.
	Lasts(op *world.Op, lost <-chan struct{})
	// Now is a stamp that is not later than this moment.
	Now() int64
	// End ends an operation with its outcome.
	End(op *world.Op, outcome world.Outcome, result string, err error)
	// Do reaches what the clients share outside of ZooKeeper.
	Do(what string, f func() string)
	// Wait sleeps for d of virtual time; where time is real it may be shorter.
	Wait(d time.Duration)
	// AwaitLiveness waits until all faults are over, for a user who has finished its script. It returns false if that
	// cannot be known.
	AwaitLiveness() bool
	// AwaitOthers waits until all other users have finished.
	AwaitOthers()
	// ExpiriesSeen counts how often the process has learned that its session was gone.
	ExpiriesSeen() int
	// SawExpiryBefore reports whether the process learned of its latest expiry in an earlier step.
	SawExpiryBefore() bool
}

type simUser struct {
	*world.User
	conns *wireConns
}

func (u simUser) Client() int { return u.User.Client }
func (u simUser) Index() int  { return u.User.Index }
func (u simUser) Life() int   { return u.User.Incarnation }
func (u simUser) SawExpiryBefore() bool {
	return u.User.ExpiriesSeen() > 0 && u.User.LastExpiryStep() < u.User.Step()
}

func (u simUser) Conn() recipes.Conn {
	if conn := u.User.Conn(); conn != nil {
		return conn
	}
	return u.conns.of(u.User)
}

func (u simUser) AwaitLiveness() bool {
	u.User.AwaitLiveness()
	return true
}

func (u simUser) Note(op *world.Op, about any) { op.Data = about }

func (u simUser) Lasts(op *world.Op, lost <-chan struct{}) { op.LastsUntil(lost) }

func (u simUser) End(op *world.Op, outcome world.Outcome, result string, err error) {
	op.End(outcome, result, err)
}

// drawUsers draws how many clients there are and how many users share the session of each.
func drawUsers(p *world.Plan) []int {
	clients := 1 + p.Choose(p.Clients, world.LabelClients)
	users := make([]int, clients)
	for i := range users {
		users[i] = 1
		if p.Users > 1 && p.Choose(4, world.LabelShared) == 3 {
			users[i] = 2
		}
	}
	return users
}

// slot numbers a user among all users of an episode.
func slot(users []int, client, index int) int {
	n := index
	for _, u := range users[:client] {
		n += u
	}
	return n
}

// Refused reports whether an error is ZooKeeper's refusal of a request: the recipe has to deal with it, and no fault
// explains it.
func Refused(err error) bool {
	return slices.ContainsFunc(refusals, func(s error) bool { return errors.Is(err, s) })
}

var refusals = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrInvalidPath,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrNoAuth, zk.ErrBadArguments,
}

// Disconnected reports whether an error says that the connection or the session failed, so that the
// outcome of a request under way is unknown.
func Disconnected(err error) bool { return call.Disconnected(err) }
