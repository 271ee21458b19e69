package world

import (
	"fmt"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Workload is what the clients of one kind of recipe do, and what is checked of it.
type Workload interface {
	// Name is the kind, as in "torture run NAME"; Recipe names the implementation.
	Name() string
	Recipe() string
	// Terms are what else the world needs to know; they are the same whenever it asks.
	Terms() Terms
	// Plan draws one episode. Everything random about what clients will try to do is drawn
	// here; what happens to them is the world's.
	Plan(p *Plan) Episode
}

// Terms are on what terms a recipe is tested. The zero value is right for one that goes in process by a client such as
// go-zookeeper, and promises all that is judged; nil functions say nothing.
type Terms struct {
	Door   Door                     // how clients reach the servers
	At     []string                 // in exact mode: other addresses at which [ByDialer] code reaches them, as host:port
	Client goclient.ClientSemantics // of the client library that the recipe was written for
	Waived []string                 // properties that it does not promise, which are not judged, in alphabetical order
	// TellsTime says that all goroutines, also those of the recipe, call [goclient.Conn.BeginsToWait] or [User.Wait]
	// whenever they begin to wait for a time, or set a timer that others wait for. A world then has to let time pass less
	// often, which is a fifth of its work; the runs are the same as long as that is true. Code that sets a timer and does
	// not say so may make equal choices give different runs.
	TellsTime bool
	// Prepare makes what an episode below a root needs beside its parents, before any client starts, over a connection
	// without faults. With an error the episode is unknown.
	Prepare func(c *goclient.Conn, root string) error
	// Provisioned says that what there is when the clients start was made long ago: nobody removes it. Else an empty parent of
	// it may be reaped.
	Provisioned bool
	// Follows reports whether a violation of the property may result from a violation of the cause. It is transitive,
	// and no property follows from itself.
	Follows func(property, cause string) bool
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

// Judgement is what was wrong with an episode, or why that could not be decided.
type Judgement struct {
	Violations []Violation
	Unknown    string // why it could not be decided; empty if it could
	History    any    // what the clients saw, in the form in which it can be written as JSON
	// NotJudged are the properties that could not be judged in this world.
	NotJudged []string
	// Partly says that some properties could not be judged in this episode, though in others of the same run: see
	// [World.Attributed].
	Partly bool
	// Refused is how many stale writes fencing has refused: without that they would have done harm.
	Refused int
	// Later, if not nil, is a part of the judgement that runs when the world has ended, outside of its bubble; its
	// result is added. It must not look at the world's servers.
	Later func() Judgement
}

// Violation is a broken property. What its message names is in fields, for programs: nothing reads the message.
type Violation struct {
	Property string   // one of the workload's, in words of the field
	Message  string   // one sentence that names what shows it, see [Violation.Saying]
	Ops      []*Op    // those operations, if there are any
	Sessions []int64  // those sessions
	Paths    []string // those znodes
	Help     string   // what to do about it, as a kind of one's own says; "" if it does not
}

// Plan is what a workload draws an episode from.
type Plan struct {
	source  Source
	Clients int      // the most clients
	Users   int      // the most users of a client
	Ops     int      // the most turns of a user
	Faults  Faults   // what may strike in this episode (a recipe's promise may depend on it)
	Root    string   // objects live below this path
	Follows []string // the workload says it: a process that has watched one of these znodes follows it, see [OutOfDate]
}

// Choose draws a number below n. 0 is the simplest.
func (p *Plan) Choose(n int, label string) int {
	if n < 2 {
		return 0
	}
	return p.source.Choose(n, label)
}

// Turns draws how many turns a user has, from 1 to most, which is Ops at most. In the simplest plan, which
// sim.Explore takes, that is most.
func (p *Plan) Turns(most int, label string) int {
	p.extends(most)
	return 1 + p.Choose(most, label)
}

// Afresh draws whether each user does something once more when all is over, which one plan in three has, and the
// simplest one.
func (p *Plan) Afresh() bool {
	p.extends(3)
	return p.Choose(3, "afresh") == 2
}

// extends says that the next choice, one of n, is of how much users do.
func (p *Plan) extends(n int) {
	if h := p.hinted(); h != nil && n > 1 {
		h.Extends()
	}
}

// Part is Choose for what tells users' parts apart: one writes and another reads. All else, as how much and how often,
// is equal for all users in the simplest plan, see sim.Explore. The label is the user's [PlanLabel].
func (p *Plan) Part(n int, label string) int {
	if h := p.hinted(); h != nil && n > 1 {
		h.Parts()
	}
	return p.Choose(n, label)
}

// hinted is a source that is told what the next choice of a plan, which has several answers, is about: how much users do,
// or a user's part.
type hinted interface {
	Extends()
	Parts()
}

// hinted is the source of the plan if it wants to be told, else nil.
func (p *Plan) hinted() hinted {
	if r, _ := p.source.(*recorder); r != nil {
		h, _ := r.source.(hinted)
		return h
	}
	return nil
}

// NewPlan returns a plan that draws from a source, for runs outside of the simulator.
func NewPlan(source Source, clients, users, ops int, faults Faults, root string) *Plan {
	return &Plan{source: source, Clients: clients, Users: users, Ops: ops, Faults: faults, Root: root}
}

// Sentence is a text for people, with the sessions and znodes that it names.
type Sentence struct {
	Text     string
	Sessions []int64
	Paths    []string
}

// Path is a znode in a [Sentence].
type Path string

// SessionID is a session in a [Sentence]; it prints as 0x100000000000001.
type SessionID int64

func (id SessionID) String() string { return fmt.Sprintf("0x%x", int64(id)) }

// Say makes a sentence as [fmt.Sprintf] does. It names the arguments of the types [Path] and [SessionID], and what
// arguments of the type Sentence name.
func Say(format string, args ...any) Sentence {
	s := Sentence{Text: fmt.Sprintf(format, args...)}
	for _, a := range args {
		switch a := a.(type) {
		case Path:
			s.Paths = append(s.Paths, string(a))
		case SessionID:
			s.Sessions = append(s.Sessions, int64(a))
		case Sentence:
			s.Sessions, s.Paths = append(s.Sessions, a.Sessions...), append(s.Paths, a.Paths...)
		}
	}
	return s
}

func (s Sentence) String() string { return s.Text }

// Saying returns the violation with a message that is made as [Say] makes sentences, and with what that names.
func (v Violation) Saying(format string, args ...any) Violation {
	s := Say(format, args...)
	v.Message, v.Sessions, v.Paths = s.Text, s.Sessions, s.Paths
	return v
}

// WireNote says what is different about runs over the wire.
const WireNote = bubble.WireNote
