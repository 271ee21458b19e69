package sim

import "github.com/zktorture/zktorture/fakezk"

// Workload is what the clients of one kind of recipe do, and what is checked of it.
type Workload interface {
	// Name is the kind, as in "torture run NAME"; Recipe names the implementation.
	Name() string
	Recipe() string
	// Plan draws one episode. Everything random about what clients will try to do is drawn
	// here; what happens to them is the world's.
	Plan(p *Plan) Episode
}

// Episode is one planned run of a workload.
type Episode interface {
	// Users says for each client (a process with a session) how many users share its session.
	Users() []int
	// Parents are the znodes that the world makes before the clients start.
	Parents() []string
	// Run is the script of one user, on a goroutine of its own. After a crash it is called again
	// for the same Client and Index with a higher Incarnation, and goes on where the script stood.
	Run(u *User)
	// MayWaitForever is called in the liveness phase when nothing moves although an operation still waits. It may
	// cancel waits that are in order (a consumer at an empty queue) and then returns true.
	MayWaitForever(w *World) bool
	// Judge says what was wrong, when all is over and before sessions are closed.
	Judge(w *World) Judgement
}

// WithClientSemantics is an Episode whose recipes were written for another client library than go-zookeeper.
type WithClientSemantics interface {
	ClientSemantics() fakezk.ClientSemantics
}

// WithPlanHash is an Episode with a hash of its plan, known before it begins. Episodes with equal hashes do the same and
// are judged in the same way; with symmetric, apart from the order of their clients. The result is false if there is no
// such hash. A search of all executions runs equal plans once.
type WithPlanHash interface {
	PlanHash(symmetric bool) (uint64, bool)
}

// WithClientPlans is an Episode with a number for the plan of each client, known before it begins. Clients with equal
// numbers do the same and are judged in the same way, in whatever order they act. The result is false if there are no
// such numbers.
type WithClientPlans interface {
	ClientPlans() ([]uint64, bool)
}

// Waiver is a Workload whose recipe does not promise some properties, which are not judged.
type Waiver interface {
	Waived() []string // in alphabetical order
}

// Preparer is an Episode that needs more than its parents: Prepare makes it before any client starts, over a
// connection without faults. With an error the episode is unknown.
type Preparer interface {
	Prepare(c *fakezk.Conn) error
}

// Judgement is what was wrong with an episode, or why that could not be decided.
type Judgement struct {
	Violations []Violation
	Unknown    string // why it could not be decided; empty if it could
	History    any    // what the clients saw, in the form in which it can be written as JSON
	// Disputed, if the judges contradict each other, is what they were given, by name, each in the form of a History.
	Disputed map[string]any
	// NotJudged are the properties that could not be judged in this world.
	NotJudged []string
	// Partly says that some properties could not be judged in this episode, though in others of the same run: see
	// [World.Attributed].
	Partly bool
	// Refused is how many stale writes a resource has refused because of their tokens: without that they would have
	// done harm.
	Refused int
	// Later, if not nil, is a part of the judgement that runs when the world has ended, outside of its bubble; its
	// result is added. It must not look at the world's servers.
	Later func() Judgement
	// Audit, if not nil, measures the verdict on a clean episode: it corrupts the history as often as tries says,
	// drawn from the seed. It is called after Later, likewise.
	Audit func(seed uint64, tries int) Sensitivity
}

// Violation is a broken property. What its message names is in fields, for programs: nothing reads the message.
type Violation struct {
	Property string   // one of the workload's, in words of the field
	Message  string   // one sentence that names what shows it, see [Violation.Saying]
	Ops      []*Op    // those operations, if there are any
	Sessions []int64  // those sessions
	Paths    []string // those znodes
}

// Plan is what a workload draws an episode from.
type Plan struct {
	source  Source
	Clients int    // the most clients
	Users   int    // the most users of a client
	Ops     int    // the most turns of a user
	Faults  Faults // what may strike in this episode (a recipe's promise may depend on it)
	Root    string // objects live below this path
}

// Choose draws a number below n. 0 is the simplest.
func (p *Plan) Choose(n int, label string) int {
	if n < 2 {
		return 0
	}
	return p.source.Choose(n, label)
}

// Turns draws how many turns a user has, from 1 to most, which is Ops at most. The simplest plan of a search
// ([Config.Plain]) takes most.
func (p *Plan) Turns(most int, label string) int {
	p.extends(most)
	return 1 + p.Choose(most, label)
}

// Afresh draws whether each user does something once more when all is over, which one plan in three has, and the
// simplest plan of a search.
func (p *Plan) Afresh() bool {
	p.extends(3)
	return p.Choose(3, "afresh") == 2
}

// extends says that the next choice, one of n, is of how much users do.
func (p *Plan) extends(n int) {
	if s := p.search(); s != nil {
		s.extends = n > 1
	}
}

// Part is Choose for what tells users' parts apart: one writes and another reads. All else, as how much and how often,
// is equal for all users in the simplest plan of a search ([Config.Plain]). The label is the user's [PlanLabel].
func (p *Plan) Part(n int, label string) int {
	if s := p.search(); s != nil {
		s.part = n > 1
	}
	return p.Choose(n, label)
}

// search is the search that the plan is drawn for, nil if it is for none.
func (p *Plan) search() *search {
	r, _ := p.source.(*recorder)
	if r == nil {
		return nil
	}
	s, _ := r.source.(*search)
	return s
}

// NewPlan returns a plan that draws from a source, for runs outside of the simulator.
func NewPlan(source Source, clients, users, ops int, faults Faults, root string) *Plan {
	return &Plan{source: source, Clients: clients, Users: users, Ops: ops, Faults: faults, Root: root}
}

// NewRandomSource returns the source that campaigns draw episode number episode from.
func NewRandomSource(seed, episode uint64) Source { return newRandomSource(seed, episode) }

// TellsTime is a [Workload] that says whether all of its goroutines, also those of the recipe, call
// [fakezk.Conn.BeginsToWait] or [User.Wait] whenever they begin to wait for a time, or set a timer that others wait for.
// A world then has to let time pass less often, which is a fifth of its work; the runs are the same as long as that is
// true. Code that sets a timer and does not say so may make equal choices give different runs.
type TellsTime interface {
	TellsTime() bool
}
