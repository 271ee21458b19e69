// Package story tells a violation to people.
//
// A [Story] is a data model with everything that the text ([Story.Text]) and the page ([Story.HTML]) need. It is made
// from a replayed counterexample ([Tell]) or from a recorded history and its verdict (package stamps), and is
// small enough to be JSON in a page: a minimised run has some tens of events.
//
// # The model
//
// A run is a list of [Event]s in the order in which they happened. Each has a step, its address. In a step one thing
// happens: a request reaches a server, a message reaches a client, a fault strikes, or time moves. Calls and returns
// of operations carry the step that let them happen. A message on the network is two events joined by From (a reply
// and its request, a watch event and its cause), or one event of kind exchange if nothing came between request and
// reply. A request was sent at an earlier step, Sent: the client's decision may be outdated when it arrives, which is
// how most stories begin.
//
// Beside the events are the things that last: [Session]s, which end at the servers before the client learns of it;
// [Operation]s from call to return; [Znode]s from creation to deletion. References between them are indices into the
// story's lists; -1 is none. The operations, sessions and znodes that the verdict names as fields (see
// [sim.Violation]) are marked Cited. Its sentence is only quoted, and shortened.
//
// A livelock repeats itself until the run is given up. All its events are there, and a [Cycle] says which of them are the
// same again; the text and the page tell them once.
//
// Why it broke is the [Cause], which is found from the events alone; [Help] says what to do about such causes, and a
// [Source] is the code around a line that sent a request. At the end are the [Wait]s that never end, and the [Pivot]: the
// step after which the violation was hardest to avoid, found by experiment (see [replay.Continuations]).
package story

// Format is the value of Story.Format.
const Format = "zktorture story 1"

// Story is one violation with the events that led to it.
type Story struct {
	Format   string `json:"format"`
	Title    string `json:"title"`          // one sentence: what broke which property
	Property string `json:"property"`       // as violations name it
	Message  string `json:"message"`        // one sentence that names operations, sessions and znodes
	Note     string `json:"note,omitempty"` // why it may not be minimal, or the run could differ when it is replayed
	Subject  string `json:"subject"`        // what broke it: a recipe by its type or name, or what a history is judged as
	Workload string `json:"workload"`
	Recipe   string `json:"recipe"`
	Faults   string `json:"faults"` // allowed faults
	Struck   string `json:"struck"` // faults that struck
	Clock    Clock  `json:"clock"`  // the unit of steps and stamps
	Servers  int    `json:"servers"`
	Root     string `json:"root"` // the longest path above all znodes of the story

	Clients    []Client    `json:"clients"`
	Events     []Event     `json:"events"`
	Operations []Operation `json:"operations"` // by call
	Sessions   []Session   `json:"sessions"`   // by begin
	Znodes     []Znode     `json:"znodes"`     // by path
	Waits      []Wait      `json:"waits"`
	Curve      []Point     `json:"curve"` // by step; empty if not computed
	Pivot      *Pivot      `json:"pivot"` // null without a curve, or with a flat one
	Cause      *Cause      `json:"cause"` // null in a recorded history
	Help       *Help       `json:"help"`  // null if no rule is sure
	Sources    []Source    `json:"sources"`
	Commands   []Command   `json:"commands"`
	Left       int         `json:"left"`             // operations of a history that were left out
	Cycles     []Cycle     `json:"cycles,omitempty"` // what repeats, in order; text and page tell each once
}

// Clock is the unit of a story's steps.
type Clock string

// The clocks.
const (
	clockSteps  Clock = "steps"  // of a simulated world
	clockStamps Clock = "stamps" // of a recorded history, in its harness's unit
)

// Client is a client process: one session at a time, one user or more.
type Client struct {
	Name  string `json:"name"` // c1, c2, …
	Users int    `json:"users"`
}

// Kind says what an event is.
type Kind string

// The kinds of events. The comment names the fields in use besides Step, Time and What.
const (
	kindCall     Kind = "call"     // Client, User, Operation
	kindReturn   Kind = "return"   // Client, User, Operation; From is the call
	kindRequest  Kind = "request"  // a request reaches Server; Client, Path, Sent, Operation
	kindExchange Kind = "exchange" // a request, and its reply, Result, reaches the client in the same step
	kindReply    Kind = "reply"    // From is the request
	kindWatch    Kind = "watch"    // a watch event reaches the client; From is the change, Armed set the watch
	kindTold     Kind = "told"     // a connection event reaches User, who subscribed; Result is the event
	kindFull     Kind = "full"     // a connection event is dropped, because the channel of User, who subscribed, is full
	kindFails    Kind = "fails"    // a request fails in the client: no server has answered it; Path, Operation
	kindClosed   Kind = "closed"   // the client sees that the server has closed the connection
	kindBegins   Kind = "begins"   // Session begins
	kindResumes  Kind = "resumes"  // Session resumes at Server
	kindRefused  Kind = "refused"  // the server is behind the client and refuses it
	kindEnds     Kind = "ends"     // Session ends at the servers: it expires, or its client closes it
	kindLearns   Kind = "learns"   // the client learns that Session is gone
	kindFault    Kind = "fault"    // strikes; Lost is what is lost with a connection; Client, if it concerns one
	kindHealed   Kind = "healed"   // a fault ends
	kindTime     Kind = "time"     // time moves
	kindShared   Kind = "shared"   // state that clients share outside of ZooKeeper is accessed
)

// Event is one thing that happened.
type Event struct {
	Step      int64  `json:"step"` // see [Clock]
	Time      int64  `json:"ms"`   // by the servers' clock since the start; 0 in a recorded history
	Kind      Kind   `json:"kind"`
	Client    int    `json:"client"` // -1: the world
	User      int    `json:"user"`   // of the client, from 0; -1: none in particular
	Server    int    `json:"server"` // the client's server afterwards; -1: none
	What      string `json:"what"`   // create, exists+watch; NodeDeleted; acquire(); of a fault its name: expiry
	Path      string `json:"path,omitempty"`
	Result    string `json:"result,omitempty"`  // in words
	Made      string `json:"made,omitempty"`    // path of the created znode, if the server chose its name
	Answer    string `json:"answer,omitempty"`  // of request and reply: ok, arrives, = and the result; empty with Made
	Refused   string `json:"refused,omitempty"` // of a request that is answered by an error, and its reply: which
	Parts     string `json:"parts,omitempty"`   // of a multi, a line each: create /a/b
	Ends      string `json:"ends,omitempty"`    // of a wrap: the counter that comes to its end: numbers, version, …
	Session   int    `json:"session"`           // the client's own view, or the session concerned
	Operation int    `json:"operation"`         // that made the request
	From      int    `json:"from"`              // the event's cause, see [Kind]
	Armed     int    `json:"armed"`             // the request that set the fired watch
	Sent      int64  `json:"sent"`              // step that sent a request; else the event's own
	Code      string `json:"code,omitempty"`    // where the recipe sent a request, or called what is declared: recipes/lock.go:42
	Callers   string `json:"callers,omitempty"` // of that function, innermost first
	Lost      string `json:"lost,omitempty"`    // request, reply (the request was carried out) or event
	Subject   string `json:"subject,omitempty"` // the lost request or event: create, NodeDeleted
	Fate      string `json:"fate,omitempty"`    // what became of it, in words
	Cited     bool   `json:"asked,omitempty"`
}

// blank is an event of the world that refers to nothing.
func blank(step int64, kind Kind) Event {
	return Event{Step: step, Kind: kind, Client: -1, User: -1, Server: -1, Session: -1, Operation: -1, From: -1, Armed: -1,
		Sent: step}
}

// Operation is one call of a recipe by a user, as an interval.
type Operation struct {
	Client  int    `json:"client"`
	User    int    `json:"user"`
	Name    string `json:"name"`
	Arg     string `json:"arg,omitempty"`
	Result  string `json:"result,omitempty"`
	Outcome string `json:"outcome"` // ok, fail, unknown, running
	Error   string `json:"error,omitempty"`
	Call    int64  `json:"call"`   // step or stamp
	Return  int64  `json:"return"` // -1: never
	Cited   bool   `json:"asked"`  // of the verdict's certificate
	Again   bool   `json:"again"`  // the harness repeats one that has failed
}

// Session is a session as the servers see it, and as its client does.
type Session struct {
	ID      string `json:"id"`   // 0x100000000000001
	Name    string `json:"name"` // s1, s2, …
	Client  int    `json:"client"`
	Begin   int64  `json:"begin"`
	End     int64  `json:"end"`     // at the servers; -1: never
	Expired bool   `json:"expired"` // not closed by its client
	Learned int64  `json:"learned"` // step at which the client learns of the end; -1: never
	Cited   bool   `json:"asked"`
}

// Znode is a path that existed at some time; or, without a life, one that never did although an operation of the
// certificate requested it.
type Znode struct {
	Path  string `json:"path"`
	Name  string `json:"name"` // short and unique
	Lives []Life `json:"lives"`
	Cited bool   `json:"asked"`
	Named bool   `json:"named,omitempty"` // by the verdict
}

// Life is a znode from one creation to its deletion.
type Life struct {
	From    int64    `json:"from"`           // it exists after this step
	Until   int64    `json:"until"`          // it does not exist after this step; -1: never deleted
	Owner   int      `json:"owner"`          // the session of an ephemeral; -1: it is persistent
	Maker   int      `json:"maker"`          // the creating operation, -1 if none
	Remover int      `json:"remover"`        // the deleting operation; -1 also if its session ended
	Expired bool     `json:"expired"`        // deleted by the end of its session
	Sets    []int64  `json:"sets,omitempty"` // steps at which its data were set
	Data    []string `json:"data,omitempty"` // short: as it was created with, and after each of Sets
}

// Wait is an operation that waits for ever, and for what.
type Wait struct {
	Operation int       `json:"operation"`
	Session   int       `json:"session"` // in its client's view
	For       []Awaited `json:"for"`     // znodes with armed watches of the session; empty: nothing will wake it
}

// Awaited is a znode on which a watch is armed.
type Awaited struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // data (also of a znode that does not exist), child
	Exists bool   `json:"exists"`
	Owner  int    `json:"owner"` // the session that would delete it by its end or client; -1: none
}

// Point is how many random runs from after a step end in the violation.
type Point struct {
	Step    int64 `json:"step"`
	Runs    int   `json:"runs"`
	Broken  int   `json:"broken"`  // ended in the same violation
	Unknown int   `json:"unknown"` // undecided
}

// Share is the share of the runs that ended in the violation.
func (p Point) Share() float64 { return float64(p.Broken) / float64(max(p.Runs, 1)) }

// Pivot is the step that mattered most: the steepest rise of the curve.
type Pivot struct {
	Step   int64  `json:"step"`
	Before Point  `json:"before"`
	After  Point  `json:"after"`
	Sealed int64  `json:"sealed"` // the first step from which every continuation ends in the violation; -1: none
	Text   string `json:"text"`   // in a sentence
}

// Command is a command line to type.
type Command struct {
	Name string `json:"name"` // replay, explain, …
	Line string `json:"line"`
}
