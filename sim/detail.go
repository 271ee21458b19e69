package sim

import (
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// Detail is what a line of a trace does not say in words, for programs that draw or tell a run.
type Detail struct {
	Kind    Kind
	User    int   // of the client, from 0; -1 if nobody's in particular
	Server  int   // to which the client is connected after the step, -1 if to none
	Session int64 // that the client believes to have after the step, 0 if none
	Op      int64 // [Op.Number] of the operation on whose behalf it happened, 0 if none
	Sent    int   // of a request: the step in which it was sent, -1 if that is not known
	Zxid    int64 // of a watch event: the transaction that fired it
	Lost    Lost  // of a fault: what was lost with the connection
	Unsent  bool  // of a fault: requests that were not sent yet fail, as no server can be reached
	Failed  bool  // of a request or reply: what is answered is an error
	Late    Late  // of a fault of a server, and of its end: which one is behind, and by how much
}

// Late is a server that is behind.
type Late struct {
	Server       int // of several, never the first; 0 if there is none
	Transactions int // that it has not applied
}

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
	KindClosed   Kind = "closed"   // a client sees that the server has closed the connection
	KindConnect  Kind = "connect"  // a client dials a server; Session and Server say what came of it
	KindFault    Kind = "fault"    // a fault strikes
	KindHealed   Kind = "healed"   // a fault ends
	KindTime     Kind = "time"     // nothing happens but that time moves
	KindShared   Kind = "shared"   // something that clients share outside of ZooKeeper is reached
)

// Lost says what a breaking connection takes with it.
type Lost string

// What can be lost. A request whose reply is lost was carried out.
const (
	LostRequest Lost = "request"
	LostReply   Lost = "reply"
	LostEvent   Lost = "event"
)

// kinds has the events of lines that are spelt in one way only.
var kinds = map[string]Kind{
	"reply": KindReply, "event": KindWatch, "closed": KindClosed, "connect": KindConnect, "time": KindTime,
	"watch": KindHealed, "pause": KindHealed, "crash": KindHealed, "lag": KindHealed,
}

func kindOf(event string) Kind {
	for _, marked := range []struct {
		prefix string
		kind   Kind
	}{{"! ", KindFault}, {"> ", KindCall}, {"< ", KindReturn}} {
		if strings.HasPrefix(event, marked.prefix) {
			return marked.kind
		}
	}
	if kind, known := kinds[event]; known {
		return kind
	}
	return KindShared // a request says so itself
}

// detail fills in what can be seen of a client's state.
func (w *World) detail(client int, event string) Detail {
	d := Detail{Kind: kindOf(event), User: -1, Server: -1, Sent: -1}
	if client < 0 || w.procs[client].client == nil {
		return d
	}
	c := w.procs[client].client
	d.Session = c.Session()
	if server, connected := c.Connected(); connected {
		d.Server = server
	}
	return d
}

// The details that only the caller of note knows. All do nothing when no trace is kept.

func (d *Detail) by(op *Op) {
	if d != nil {
		d.User, d.Op = op.User, op.Number
	}
}

func (d *Detail) of(user int) {
	if d != nil {
		d.User = user
	}
}

func (d *Detail) asks(w *World, call *fakezk.Call, answer fakezk.Message) {
	if d == nil {
		return
	}
	d.Kind, d.User, d.Op, d.Sent = KindRequest, call.User, call.Tag, w.sentAt(call)
	if answer.Reply != nil {
		d.Kind = KindExchange
		d.answers(answer)
	}
}

func (d *Detail) answers(m fakezk.Message) {
	if d != nil {
		d.Failed = m.Reply.Err != fakezk.CodeOK
	}
}

func (d *Detail) falls(server, transactions int) {
	if d != nil {
		d.Late = Late{server, transactions}
	}
}

func (d *Detail) fired(m fakezk.Message) {
	if d != nil {
		d.Zxid = m.Zxid
	}
}

func (d *Detail) loses(w *World, what Lost, call *fakezk.Call) {
	if d != nil {
		d.Lost, d.User, d.Op, d.Sent = what, call.User, call.Tag, w.sentAt(call)
	}
}

// refuses says that requests which were not sent yet fail.
func (d *Detail) refuses() {
	if d != nil {
		d.Unsent = true
	}
}

// breaks says that the client has no connection after the step.
func (d *Detail) breaks() {
	if d != nil {
		d.Server = -1
	}
}

func (d *Detail) losesEvent(m fakezk.Message) {
	if d != nil {
		d.Lost, d.Zxid = LostEvent, m.Zxid
	}
}
