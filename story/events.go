package story

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// traceReader turns the lines of a trace into events, and links related events.
type traceReader struct {
	*storyBuilder
	clients []clientState
	calls   map[int]int        // call event by operation
	lines   map[int]world.Step // trace line by event
}

// clientState is the reader's state of a client.
//
// Invariant: a connection is two streams, so replies come in the order of their requests. A reply that is due when
// the connection breaks never comes.
type clientState struct {
	session   int            // its last, -1 if none
	connected int64          // step of its last connect
	due       []int          // requests that have arrived, without a reply yet, oldest first
	armed     []int          // requests whose watch has not fired
	dialled   map[int64]bool // steps with a line about the outcome of dialling
}

func (b *storyBuilder) tellEvents() {
	r := &traceReader{storyBuilder: b, calls: map[int]int{}, lines: map[int]world.Step{}}
	for range b.story.Clients {
		r.clients = append(r.clients, clientState{session: -1, dialled: map[int64]bool{}})
	}
	for _, step := range b.trace {
		if step.Kind == world.KindConnect {
			r.clients[step.Client].dialled[int64(step.N)] = true
		}
	}
	r.sessionsAt(0)
	for i, step := range b.trace {
		r.line(step)
		if step.N > 0 && (i == 0 || b.trace[i-1].N < step.N) {
			r.sessionsAt(int64(step.N))
		}
	}
	for i, s := range r.lines {
		if s.Client >= 0 && s.Type != 0 {
			r.story.Events[i].From = r.cause(s.Zxid)
		}
	}
}

// sessionsAt adds the sessions that begin or end in a step without a line of their own.
func (r *traceReader) sessionsAt(step int64) {
	for i, s := range r.story.Sessions {
		e := blank(step, kindBegins)
		e.Client, e.What, e.Session = s.Client, "session", i
		if s.Begin == step && !r.clients[s.Client].dialled[step] {
			r.clients[s.Client].session = i
			r.add(e)
		}
		if s.End == step {
			e.Kind = kindEnds
			r.add(e)
		}
	}
}

// add appends an event. Its time is that of the previous event if both are of the same step.
func (r *traceReader) add(e Event) {
	if n := len(r.story.Events); n > 0 && e.Time == 0 {
		e.Time = r.story.Events[n-1].Time
	}
	r.story.Events = append(r.story.Events, e)
}

// line adds the event of one line of the trace.
func (r *traceReader) line(s world.Step) {
	e := Event{
		Step: int64(s.N), Time: s.At.Milliseconds(), Kind: Kind(s.Kind), Client: s.Client, User: s.User, Server: s.Server,
		What: r.what(s), Path: s.Path, Result: s.Result, Made: s.Made, Answer: answer(s), Lost: string(s.Lost),
		Session: r.session(s.Session), Operation: r.operation(s.Op), From: -1, Armed: -1, Sent: int64(s.N),
	}
	if s.Sent > 0 {
		e.Sent = int64(s.Sent)
	}
	if (s.Kind == world.KindExchange || s.Kind == world.KindReply) && s.Failed() {
		e.Refused = reason(s.Err)
	}
	for _, p := range s.Parts {
		e.Parts += p.Request + " " + p.Path + "\n"
	}
	e.Ends = counters[s.End]
	e.Code, e.Callers = code(s.Places)
	if s.Lost != "" {
		e.Subject, e.Fate = s.Subject(), s.Fate
	}
	r.add(e)
	at := len(r.story.Events) - 1
	r.lines[at] = s
	if s.Client >= 0 {
		r.tie(at, &r.story.Events[at], &r.clients[s.Client])
	}
}

// counters names the counters that come to their ends.
var counters = map[fakezk.CounterEnd]string{
	fakezk.EndSticks: "sticks", fakezk.EndNumbers: "numbers", fakezk.EndVersion: "version", fakezk.EndAversion: "aversion", fakezk.EndCversion: "cversion",
}

// code names where a request was sent, and the functions that led there.
func code(places []world.Place) (at, callers string) {
	if len(places) == 0 {
		return "", ""
	}
	var from []string
	for _, p := range places[1:] {
		from = append(from, p.String())
	}
	return places[0].String(), strings.Join(from, ", ")
}

// what names the subject of a line.
func (r *traceReader) what(s world.Step) string {
	switch s.Kind {
	case world.KindCall, world.KindReturn:
		return r.story.Operations[r.operation(s.Op)].call()
	case world.KindRequest, world.KindExchange, world.KindWatch, world.KindFails:
		return s.Subject()
	case world.KindFault, world.KindHealed:
		return s.Fault.String()
	case world.KindShared:
		return s.Event
	}
	return string(s.Kind)
}

// answer is the outcome of a request in a line: it arrives, or its result.
func answer(s world.Step) string {
	answered := s.Kind == world.KindExchange || s.Kind == world.KindReply
	switch {
	case s.Dropped:
		return "= dropped: the server closes the connection"
	case s.Kind == world.KindRequest:
		return "arrives"
	case !answered || s.Made != "":
		return ""
	case s.Failed():
		return "= " + reason(s.Err)
	case s.Answer != "":
		return "= " + s.Answer
	}
	return "ok"
}

// reason is a ZooKeeper error without the name of the library.
func reason(code wire.Code) string { return strings.TrimPrefix(code.Err().Error(), "zk: ") }

// tie links an event to earlier ones of its client.
func (r *traceReader) tie(at int, e *Event, c *clientState) {
	switch e.Kind {
	case kindCall:
		r.calls[e.Operation] = at
	case kindReturn:
		e.From = r.calls[e.Operation]
	case kindRequest:
		c.due = append(c.due, at)
	case kindExchange:
		r.answered(at, r.lines[at], c)
	case kindReply:
		r.reply(at, e, c)
	case kindWatch:
		e.Armed = r.disarm(r.lines[at], c)
	case Kind(world.KindConnect):
		r.connect(e, c)
	}
	if e.Sent > e.Step || (e.Kind == kindRequest || e.Kind == kindExchange) && e.Sent < c.connected {
		e.Sent = c.connected // it waited for a connection
	}
}

func (r *traceReader) reply(at int, e *Event, c *clientState) {
	if len(c.due) == 0 {
		return
	}
	e.From = c.due[0]
	c.due = c.due[1:]
	request := &r.story.Events[e.From]
	e.What, e.Path, e.User, e.Operation = request.What, request.Path, request.User, request.Operation
	e.Code, e.Callers = request.Code, request.Callers
	r.answered(e.From, r.lines[at], c)
}

// answered records the result of a request: whether the znode is missing, and whether a watch is armed. Any request
// that succeeds arms its watch; exists arms it for a missing znode too.
func (r *traceReader) answered(request int, answer world.Step, c *clientState) {
	asked := r.lines[request]
	if asked.Watch && (asked.Request == "exists" || !answer.Failed()) {
		c.armed = append(c.armed, request)
	}
	if answer.Err == wire.CodeNoNode && asked.Request != "create" && asked.Request != "multi" {
		r.missed = append(r.missed, r.story.Events[request])
	}
}

// disarm removes the watches that an event fires, and returns the request that set the last of them, -1 if there is
// none.
func (r *traceReader) disarm(fired world.Step, c *clientState) int {
	last := -1
	c.armed = slices.DeleteFunc(c.armed, func(i int) bool {
		request := r.lines[i]
		of := request.Path == fired.Path && (fired.Type == zk.EventNodeDeleted ||
			(fired.Type == zk.EventNodeChildrenChanged) == (request.Request == "children"))
		if of {
			last = i
		}
		return of
	})
	return last
}

// connect adds the outcome of dialling a server.
func (r *traceReader) connect(e *Event, c *clientState) {
	before := c.session
	c.due, c.session = nil, e.Session
	switch {
	case e.Session < 0 && before >= 0:
		e.Kind, e.Session, c.armed = kindLearns, before, nil
		r.story.Sessions[before].Learned = e.Step
	case e.Session < 0 || e.Server < 0:
		e.Kind = kindRefused
	case e.Session != before:
		e.Kind, c.connected = kindBegins, e.Step
	default:
		e.Kind, c.connected = kindResumes, e.Step
	}
}

// cause returns the event that committed a transaction, -1 if there is none.
func (r *traceReader) cause(zxid int64) int {
	i := slices.IndexFunc(r.record.Changes, func(c world.Change) bool { return c.Zxid == zxid })
	if i < 0 {
		return -1
	}
	change := r.record.Changes[i]
	ended := slices.ContainsFunc(r.record.Changes,
		func(c world.Change) bool { return c.Zxid == zxid && c.Op == wire.OpCloseSession })
	return slices.IndexFunc(r.story.Events, func(e Event) bool {
		return e.Step == int64(change.Step) && commits(e.Kind, ended)
	})
}

// commits reports whether events of a kind commit a transaction. The end of a session does.
func commits(k Kind, ended bool) bool {
	switch k {
	case kindEnds:
		return ended
	case kindRequest, kindExchange, kindFault, kindTime:
		return !ended
	}
	return false
}
