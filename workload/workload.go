package workload

import (
	"context"
	"errors"
	"net"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// ErrEmpty is what a queue's Poll and Peek return when there is nothing in the queue.
var ErrEmpty = recipes.ErrEmpty

// Workload is one kind of recipe under test, for the simulator ([sim.Run], [sim.Check]) and for
// real servers ([Workload.RunLive]).
//
// A workload of a user's recipe is made from a function, which is called once for each user of a
// session with the session's connection and the path of the episode's object. When the episode
// begins nothing is at that path, and its parent exists; the recipe makes what it needs, there or
// below, and nothing elsewhere: episodes on real servers are under way at the same time, and each
// has a path of its own.
type Workload struct {
	kind   string
	recipe string
	plan   func(p *sim.Plan, path string) episode
	model  linearizability.Model // without a name if histories have none

	// remote plans the same for clients whose recipe another process serves, if the kind's own plan does not do.
	remote func(p *sim.Plan, path string) episode

	flavour fakezk.Flavour // of the client library that the recipe was written for
}

// episode is a planned episode of any kind: scripts and judgement, for both worlds.
type episode interface {
	users() []int
	parents() []string
	run(u user)
	// quiet returns those of the waiting operations whose waiting is in order.
	quiet(all, waiting []*sim.Op) []*sim.Op
	history(v *view) linearizability.History
	judge(v *view) judgement
}

// Name is the kind of recipe: "lock", "queue".
func (w *Workload) Name() string { return w.kind }

// Recipe names the implementation under test.
func (w *Workload) Recipe() string { return w.recipe }

// Model is what the workload's histories are judged against, and false if that is properties alone.
func (w *Workload) Model() (m linearizability.Model, ok bool) { return w.model, w.model.Name != "" }

// Plan implements [sim.Workload].
func (w *Workload) Plan(p *sim.Plan) sim.Episode {
	path := p.Root + "/" + w.kind
	return &simulated{w.plan(p, path), path, w.flavour}
}

// bare lets the object's path be missing at the beginning of every episode, and not of some: no recipe
// need expect a znode of somebody else's there.
func (w *Workload) bare() *Workload {
	w.plan = bare(w.plan)
	if w.remote != nil {
		w.remote = bare(w.remote)
	}
	return w
}

func bare(plan func(*sim.Plan, string) episode) func(*sim.Plan, string) episode {
	return func(p *sim.Plan, path string) episode {
		e := plan(p, path)
		e.(interface{ bare() }).bare()
		return e
	}
}

// forClient says which client library the recipe was written for. On real servers there is none but
// go-zookeeper, except where a counterexample is conducted: see [flavouredWatches].
func (w *Workload) forClient(f fakezk.Flavour) *Workload {
	w.flavour = f
	return w
}

// simulated puts an episode into a simulated world.
type simulated struct {
	episode
	path    string
	flavour fakezk.Flavour
}

// Flavour implements [sim.Flavoured].
func (s *simulated) Flavour() fakezk.Flavour { return s.flavour }

func (s *simulated) Users() []int      { return s.users() }
func (s *simulated) Parents() []string { return s.parents() }
func (s *simulated) Run(u *sim.User)   { s.run(simUser{u}) }

func (s *simulated) Quiet(w *sim.World) bool {
	inOrder := s.quiet(w.Ops(), w.Waiting())
	for _, op := range inOrder {
		w.Cancel(op)
	}
	return len(inOrder) > 0
}

func (s *simulated) Judge(w *sim.World) sim.Judgement { return s.judge(newView(w, s.path)).Judgement }

// user is one user of a session, as scripts see it, in whichever world.
type user interface {
	client() int
	index() int
	conn() recipes.Conn
	begin(name, arg string, cancelable bool) (context.Context, *sim.Op)
	// note says what an operation that has not ended is about, for those who judge.
	note(op *sim.Op, about any)
	end(op *sim.Op, outcome sim.Outcome, result string, err error)
	// do reaches what the clients share outside of ZooKeeper.
	do(what string, f func() string)
	// awaitOthers waits until everybody else has finished.
	awaitOthers()
	// told counts how often the process has learned that its session was gone.
	told() int
	// toldBefore tells whether the last of these was before the present step.
	toldBefore() bool
}

type simUser struct{ *sim.User }

func (u simUser) client() int        { return u.Client }
func (u simUser) index() int         { return u.Index }
func (u simUser) conn() recipes.Conn { return u.Conn() }
func (u simUser) told() int          { return u.Told() }
func (u simUser) toldBefore() bool   { return u.Told() > 0 && u.ToldStep() < u.Step() }
func (u simUser) awaitOthers()       { u.AwaitOthers() }

func (u simUser) begin(name, arg string, cancelable bool) (context.Context, *sim.Op) {
	return u.Begin(name, arg, cancelable)
}

func (u simUser) note(op *sim.Op, about any) { op.Data = about }

func (u simUser) end(op *sim.Op, outcome sim.Outcome, result string, err error) {
	op.End(outcome, result, err)
}

func (u simUser) do(what string, f func() string) { u.Do(what, f) }

// drawUsers draws how many clients there are and how many users share the session of each.
func drawUsers(p *sim.Plan) []int {
	clients := 1 + p.Choose(p.Clients, "clients")
	users := make([]int, clients)
	for i := range users {
		users[i] = 1
		if p.Users > 1 && p.Choose(4, "two users") == 3 {
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

// labels for what each client plans, so that taking something away from one client's plan leaves
// the others' as they are.
var planLabels = func() (labels [20]string) {
	for i := range labels {
		labels[i] = "plan of user " + string(rune('a'+i))
	}
	return labels
}()

func planLabel(slot int) string { return planLabels[slot%len(planLabels)] }

// surprising tells whether an error is one that no fault explains: an answer of ZooKeeper's that
// the recipe itself had to deal with.
func surprising(err error) bool {
	return slices.ContainsFunc(surprises, func(s error) bool { return errors.Is(err, s) })
}

var surprises = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrBadVersion, zk.ErrInvalidPath,
	zk.ErrNoChildrenForEphemerals, zk.ErrInvalidACL, zk.ErrNoAuth, zk.ErrBadArguments,
}

// disconnected tells whether an error says that the connection or the session failed, so that the
// outcome of a request under way is unknown.
func disconnected(err error) bool {
	var netErr net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrClosing) ||
		errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved) || errors.As(err, &netErr)
}
