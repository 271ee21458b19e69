package sim

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// Detail is a line of a trace as facts, for programs. Its words, [Step.Event] and [Step.Result], are for people, and
// made from the facts and from what else is known at that moment.
type Detail struct {
	Kind    Kind
	User    int     // of the client, from 0; -1 if nobody's in particular
	Server  int     // to which the client is connected after the step, -1 if to none
	Session int64   // that the client believes to have after the step, 0 if none
	Op      int64   // [Op.Number] of the operation on whose behalf it happened, 0 if none
	Sent    int     // of a request: the step in which it was sent, -1 if that is not known
	Zxid    int64   // of a watch event: the transaction that fired it
	Fault   Faults  // that strikes or ends: a single one
	Dialled Dialled // of a line of kind connect: what came of it

	// Of a request, answered, lost or neither:
	Request string  // create, children, multi, …: its name, as in [github.com/zktorture/zktorture/recipes.Around]
	Watch   bool    // it sets a watch
	Dropped bool    // the server closes the connection instead of an answer
	Hangs   bool    // the server, a deposed leader, will never answer
	Places  []Place // where the recipe has sent it, innermost first; only a replay knows

	// Of a request that is answered in this step, and of a reply:
	Err    fakezk.Code // the error that is answered
	Made   string      // the path of the znode that a create has made, if the server has made its name
	Answer string      // the names or the data that are answered

	Type   zk.EventType // of a watch event, lost or not
	Lost   Lost         // of a fault: what was lost with the connection
	Fate   string       // what became of it, in words
	Unsent bool         // of a fault: requests that were not sent yet fail, as no server can be reached
	Vain   int64        // of a fault: the session that a server has begun in vain, as its answer was lost
	Lies   Lying        // of a stall: what lies in its channel from this line on, or is handed over in it
	Late   Late         // of a fault of a server, and of its end: which one is behind, and by how much
}

// Late is a server that is behind.
type Late struct {
	Server       int // of several; 0, the first to lead, if there is none
	Transactions int // that it has not applied
}

// Lying is what lies in the channel of a stalled goroutine: a reply, an event of a watch, or the end of a context.
type Lying struct {
	Op, Path string       // of the request of a reply, and of an event, which has no Op
	Type     zk.EventType // of an event
	Context  bool         // that of the user's operation has ended
}

// Comes tells whether it comes from the client: whether it is a reply or an event.
func (l Lying) Comes() bool { return l.Op != "" || l.Type != 0 }

// Kind says what a line of a trace is about.
type Kind string

// The kinds of lines.
const (
	KindCall     Kind = "call"     // a user calls an operation of the recipe
	KindReturn   Kind = "return"   // and it returns
	KindRequest  Kind = "request"  // a request reaches its server; its reply comes later, or never
	KindExchange Kind = "exchange" // a request reaches its server, and the reply its client
	KindReply    Kind = "reply"    // a reply reaches its client
	KindWatch    Kind = "watch"    // a watch event reaches its client
	KindTold     Kind = "told"     // an event of the connection reaches somebody who reads those
	KindClosed   Kind = "closed"   // a client sees that the server has closed the connection
	KindConnect  Kind = "connect"  // a client dials a server
	KindFault    Kind = "fault"    // a fault strikes
	KindHealed   Kind = "healed"   // a fault ends, or a part of it
	KindTime     Kind = "time"     // nothing happens but that time moves
	KindShared   Kind = "shared"   // something that clients share outside of ZooKeeper is reached
)

// Dialled says what came of dialling a server.
type Dialled string

// What can come of it.
const (
	DialledNew     Dialled = "new"     // a session begins
	DialledResumed Dialled = "resumed" // the session goes on
	DialledExpired Dialled = "expired" // the client learns that its session is gone
	DialledRefused Dialled = "refused" // the server is behind the client and refuses it

	DialledUnanswered Dialled = "unanswered" // the server, a deposed leader, does not know the session
	DialledOpen       Dialled = "open"       // nothing yet: the client has sent nothing
)

// Lost says what a breaking connection takes with it.
type Lost string

// What can be lost. A request whose reply is lost was carried out.
const (
	LostRequest Lost = "request"
	LostReply   Lost = "reply"
	LostEvent   Lost = "event"
)

// Subject names what a line is about: a request, with "+watch" if it sets one, or a watch event; "" for all others.
func (d *Detail) Subject() string {
	switch {
	case d.Type != 0:
		return eventName(d.Type)
	case d.Watch:
		return d.Request + "+watch"
	}
	return d.Request
}

// Failed tells whether a request was answered with an error.
func (d *Detail) Failed() bool { return d.Err != fakezk.CodeOK }

// answer says in words what came of a request.
func (d *Detail) answer() string {
	switch {
	case d.Dropped:
		return "dropped: the server closes the connection"
	case d.Hangs:
		return "arrived at a leader that has been deposed, which will not answer"
	case d.Kind == KindRequest:
		return "arrived, the reply is on its way"
	case d.Failed():
		return d.Err.Err().Error()
	case d.Made != "":
		return "-> " + d.Made[strings.LastIndexByte(d.Made, '/')+1:]
	case d.Answer != "":
		return d.Answer
	}
	return "ok"
}

// detail fills in what can be seen of a client's state.
func (w *World) detail(kind Kind, client int) Detail {
	d := Detail{Kind: kind, User: -1, Server: -1, Sent: -1}
	if client < 0 {
		return d
	}
	d.Session = w.procs[client].session()
	for _, c := range w.procs[client].clients {
		if server, connected := c.Connected(); connected {
			d.Server = server
		}
	}
	return d
}

// at notes which of the process's connections it is about.
func (d *Detail) at(c client) {
	d.Session, d.Server = c.Session(), -1
	if server, connected := c.Connected(); connected {
		d.Server = server
	}
}

// asks notes the request and its user.
func (s *Step) asks(w *World, call *fakezk.Call) {
	r := &call.Request
	s.User, s.Op, s.Sent, s.Places = call.User, call.Tag, w.sentAt(call), w.placesOf(call)
	s.Path, s.Request, s.Watch = requestPath(r), requestName(r.Op), r.Watch
}

// answers notes the answer to a request; r is nil if the request arrived in a step before.
func (s *Step) answers(r *fakezk.Request, m *fakezk.Response) {
	s.Err = refusal(m)
	switch {
	case s.Err != fakezk.CodeOK:
	case r == nil && m.Children != nil, r != nil && r.Op == fakezk.OpGetChildren2:
		s.Answer = fmt.Sprint(m.Children)
	case r == nil:
	case r.Op == fakezk.OpCreate && m.Path != r.Path:
		s.Made = m.Path
	case r.Op == fakezk.OpGetData:
		s.Answer = fmt.Sprintf("%q", m.Data)
	}
}

// refusal is the error of a reply. In that of a multi which failed all results are errors, and the first that says why
// counts.
func refusal(m *fakezk.Response) fakezk.Code {
	why := m.Err
	for i := range m.Results {
		switch one := &m.Results[i]; {
		case one.Op != fakezk.OpError:
			return m.Err
		case why == fakezk.CodeOK:
			why = one.Err
		}
	}
	return why
}

// loses notes the request that is lost with the connection, or whose reply is.
func (s *Step) loses(w *World, what Lost, call *fakezk.Call, fate string) {
	if w.trace != nil {
		s.asks(w, call)
		s.Lost, s.Fate, s.Result = what, fate, s.Subject()+" "+fate
	}
}

// losesEvent notes the watch event that is lost with the connection.
func (s *Step) losesEvent(w *World, m fakezk.Message) {
	if w.trace != nil {
		s.Path, s.Zxid, s.Type = m.Path, m.Zxid, m.Event
		s.Lost, s.Fate = LostEvent, "is lost with its connection"
		s.Result = s.Subject() + " " + s.Fate
	}
}

// carriesOut notes that the last request of a dying process reaches its server.
func (s *Step) carriesOut(w *World, call *fakezk.Call) {
	if w.trace != nil {
		s.asks(w, call)
		s.Lost, s.Result = LostReply, "its last request, "+s.Subject()+", is still carried out"
	}
}
