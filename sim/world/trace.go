package world

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Step is one line of a trace, in words and as facts.
type Step struct {
	N      int           // the step; operations' calls and returns carry the step that let them happen
	At     time.Duration // the servers' clock since the start
	Client int           // from 0; -1 for the world
	Event  string        // a request, an event, a fault, an operation
	Path   string        // of the znode; of a request about several, all of them in words
	Result string

	Detail // not printed; what programs read
}

// String formats the step in columns.
func (s Step) String() string {
	who := "--"
	if s.Client >= 0 {
		who = fmt.Sprintf("c%d", s.Client+1)
	}
	line := fmt.Sprintf("%5d %8.3fs  %-3s %-12s %s", s.N, s.At.Seconds(), who, s.Event, s.Path)
	if s.Result != "" {
		if s.Path != "" {
			line += "  "
		}
		line += s.Result
	}
	return strings.TrimRight(line, " ")
}

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
	Dialled Dialled // of a line of kind connect: its result

	// Of a request, answered, lost, failed or neither:
	Request string  // create, children, multi, …: its name, as in [github.com/zktorture/zktorture/recipes.Around]
	Watch   bool    // it sets a watch
	Dropped bool    // the server closes the connection instead of an answer
	Hangs   bool    // the server, a deposed leader, will never answer
	Parts   []Part  // of a multi
	Places  []Place // where the recipe has sent or called it, innermost first; only a replay knows

	// Of a request that is answered in this step, and of a reply:
	Err    wire.Code // the error that is answered
	Made   string    // the path of the znode that a create has made, if the server has made its name
	Answer string    // the names or the data that are answered

	Type   zk.EventType // of a watch event, lost or not
	Lost   Lost         // of a fault: what was lost with the connection
	Fate   string       // what became of it, in words
	Silent bool         // of a fault: the client is not told, and nothing more arrives in one direction, or in both
	Unsent bool         // of a fault: requests that were not sent yet fail, as no server can be reached
	Vain   int64        // of a fault: the session that a server has begun in vain, as its answer was lost
	Late   int          // of a fault of a server, and of its end: which one is behind; 0, the first to lead, if there is none

	End fakezk.CounterEnd // of a wrap: which counter of the znode at Path has come to its end; none if its number is given out again
}

// Part is a request of a multi.
type Part struct{ Request, Path string }

// Place is a line of code of a recipe.
type Place = bubble.Place

// SourceModule is the path of the module whose root [Place.File] is relative to; "" if this program does not know it.
func SourceModule() string { return bubble.SourceModule() }

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
	KindFull     Kind = "full"     // an event of the connection is dropped: the channel of who reads those is full
	KindFails    Kind = "fails"    // a request fails in the client: no server has answered it
	KindClosed   Kind = "closed"   // a client sees that the server has closed the connection
	KindConnect  Kind = "connect"  // a client dials a server
	KindFault    Kind = "fault"    // a fault strikes
	KindHealed   Kind = "healed"   // a fault ends, or a part of it
	KindTime     Kind = "time"     // nothing happens but that time moves
	KindShared   Kind = "shared"   // something that clients share outside of ZooKeeper is reached
)

// Dialled says the result of dialling a server.
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

// Failed reports whether a request was answered with an error.
func (d *Detail) Failed() bool { return d.Err != wire.CodeOK }

// answer says in words the result of a request.
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
func (j *journal) detail(kind Kind, client int) Detail {
	d := Detail{Kind: kind, User: -1, Server: -1, Sent: -1}
	if client < 0 {
		return d
	}
	d.Session = j.world.procs[client].session()
	for _, c := range j.world.procs[client].clients {
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
func (s *Step) asks(w *World, call *goclient.Call) {
	r := &call.Request
	s.User, s.Op, s.Sent, s.Places = call.User, call.Tag, w.sentAt(call), w.cfg.Places.Of(call)
	s.Path, s.Request, s.Watch = requestPath(r), RequestName(r.Op), r.Watch
	for i := range r.Ops {
		s.Parts = append(s.Parts, Part{RequestName(r.Ops[i].Op), r.Ops[i].Path})
	}
}

// answers notes the answer to a request; r is nil if the request arrived in a step before.
func (s *Step) answers(r *fakezk.Request, m *fakezk.Response) {
	s.Err = refusal(m)
	switch {
	case s.Err != wire.CodeOK:
	case r == nil && m.Children != nil, r != nil && r.Op == wire.OpGetChildren2:
		s.Answer = fmt.Sprint(m.Children)
	case r == nil:
	case r.Op == wire.OpCreate && m.Path != r.Path:
		s.Made = m.Path
	case r.Op == wire.OpGetData:
		s.Answer = fmt.Sprintf("%q", m.Data)
	}
}

// refusal is the error of a reply. In that of a multi which failed all results are errors, and the first that says why
// counts.
func refusal(m *fakezk.Response) wire.Code {
	why := m.Err
	for i := range m.Results {
		switch one := &m.Results[i]; {
		case one.Op != wire.OpError:
			return m.Err
		case why == wire.CodeOK:
			why = one.Err
		}
	}
	return why
}

// loses notes the request that is lost with the connection, or whose reply is.
func (s *Step) loses(w *World, what Lost, call *goclient.Call, fate string) {
	if w.trace != nil {
		s.asks(w, call)
		s.Lost, s.Fate, s.Result, w.lost = what, fate, s.Subject()+" "+fate, call
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
func (s *Step) carriesOut(w *World, call *goclient.Call) {
	if w.trace != nil {
		s.asks(w, call)
		s.Lost, s.Result = LostReply, "its last request, "+s.Subject()+", is still carried out"
	}
}

// journal is what is written down of a run: its trace, if somebody wants one, and the hash of all its steps.
type journal struct {
	world   *World
	trace   *[]Step        // nil for none
	unkept  Step           // what notes are without a trace
	*record                // what else is kept with a trace; nil without
	lost    *goclient.Call // the last that was lost with its connection, and has a line
	hash    uint64
}

// note is the begin or the end of an operation, handed in by the goroutine of its user.
type note struct {
	stamp int64
	op    *Op
	end   bool
}

// takeNotes puts operations' begins and ends into trace and hash, ordered by their stamps.
func takeNotes(w *World) {
	if len(w.notes) == 0 {
		return
	}
	notes := w.notes
	w.notes, w.taken.notes = w.taken.notes[:0], notes
	w.noteProgress()
	if len(notes) > 1 {
		slices.SortFunc(notes, func(a, b note) int { return cmp.Compare(a.stamp, b.stamp) })
	}
	for _, n := range notes {
		w.fold(uint64(n.stamp))
		w.foldString(n.op.Name)
		if n.end {
			w.fold(uint64(n.op.Outcome))
			w.foldString(n.op.Result)
		}
		if w.trace != nil {
			w.noteOp(n)
		}
	}
}

// noteOp adds a line about the begin or the end of an operation.
func (j *journal) noteOp(n note) {
	kind, text, result, places := KindCall, "> ", "", j.world.cfg.Places.Of(n.op)
	if n.end {
		kind, text, result, places = KindReturn, "< ", n.op.result(), nil
	}
	if users := n.op.user.process.users; users[len(users)-1].Index > 0 {
		text += fmt.Sprintf("u%d ", n.op.User+1)
	}
	s := j.note(kind, n.op.Client, text+n.op.Name+"("+n.op.Arg+")", "", result)
	s.User, s.Op = n.op.User, n.op.Number
	s.Places = slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return strings.HasSuffix(p.Path, "_test.go") })
}

func (op *Op) result() string {
	switch {
	case op.Err != nil:
		return fmt.Sprintf("%v: %v", op.Outcome, op.Err)
	case op.Result != "":
		return fmt.Sprintf("%v: %v", op.Outcome, op.Result)
	}
	return op.Outcome.String()
}

// note adds a line to the trace and returns it for the facts that only the caller knows. Without a trace the line
// is not kept.
func (j *journal) note(kind Kind, client int, event, path, result string) *Step {
	if j.trace == nil {
		return &j.unkept
	}
	at := time.Duration(j.world.elapsed+j.world.offset) * time.Millisecond
	*j.trace = append(*j.trace, Step{j.world.step, at, client, event, path, result, j.detail(kind, client)})
	return &(*j.trace)[len(*j.trace)-1]
}

// says is Sprintf for a line of the trace: "" without one.
func (j *journal) says(format string, args ...any) string {
	if j.trace == nil {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// noteFault adds a line about a fault that strikes.
func (j *journal) noteFault(fault Faults, client int, path, result string) *Step {
	return j.noteOf(fault, KindFault, client, "! ", path, result)
}

// noteHealed adds a line about a fault that ends.
func (j *journal) noteHealed(fault Faults, client int, result string) *Step {
	return j.noteOf(fault, KindHealed, client, "", "", result)
}

func (j *journal) noteOf(fault Faults, kind Kind, client int, mark, path, result string) *Step {
	if j.trace == nil {
		return &j.unkept
	}
	s := j.note(kind, client, mark+fault.String(), path, result)
	s.Fault = fault
	return s
}

// noteRequest adds a line about a request that has reached its server; m is the reply, if it comes in the same step.
func (j *journal) noteRequest(p *process, c client, call *goclient.Call, m fakezk.Message) {
	if j.trace == nil {
		return
	}
	s := j.note(KindRequest, p.id, "", "", "")
	s.at(c)
	s.asks(j.world, call)
	s.Hangs = j.world.servers.Hangs(c.Connection())
	if s.Dropped = m.Closed; m.Reply != nil {
		s.Kind = KindExchange
		s.answers(&call.Request, m.Reply)
	}
	s.Event, s.Result = s.Subject(), s.answer()
}

// noteMessage adds a line about a message that reaches a client, except a reply that [World.noteRequest] has noted.
func (j *journal) noteMessage(p *process, c client, m fakezk.Message) {
	if j.trace == nil {
		return
	}
	switch {
	case m.Closed:
		j.note(KindClosed, p.id, "closed", "", "the server has closed the connection").at(c)
	case m.Reply != nil:
		s := j.note(KindReply, p.id, "reply", m.Reply.Path, "")
		s.at(c)
		s.answers(nil, m.Reply)
		s.Result = s.answer()
	default:
		s := j.note(KindWatch, p.id, "event", m.Path, "")
		s.at(c)
		s.Zxid, s.Type = m.Zxid, m.Event
		s.Result = s.Subject()
	}
}

func (j *journal) noteTold(p *process, event zk.Event, user int) {
	if j.trace == nil {
		return
	}
	what := eventName(event.Type)
	if event.Type == zk.EventSession {
		what = strings.TrimPrefix(event.State.String(), "State")
	}
	j.note(KindTold, p.id, "told", event.Path, what).User = user
}

// noteFull notes an event of the connection for which a user's channel has no room.
func (j *journal) noteFull(p *process, event zk.Event, user int) {
	if j.trace != nil {
		j.note(KindFull, p.id, "dropped", "", strings.TrimPrefix(event.State.String(), "State")+": the channel of its reader is full").User = user
	}
}

// noteFails notes a request that fails in the client, unless the line before is about the loss of that request.
func (j *journal) noteFails(p *process, call *goclient.Call, err error) {
	if j.trace == nil || call == j.lost || p.users == nil {
		return
	}
	s := j.note(KindFails, p.id, "fails", "", err.Error())
	s.asks(j.world, call)
	s.Event = s.Subject()
	s.Result = "fails in the client: " + err.Error()
}

func eventName(t zk.EventType) string { return strings.TrimPrefix(t.String(), "Event") }

var opNames = map[wire.Op]string{
	wire.OpCreate: "create", wire.OpDelete: "delete", wire.OpExists: "exists",
	wire.OpGetData: "get", wire.OpSetData: "set", wire.OpGetACL: "getACL", wire.OpSetACL: "setACL",
	wire.OpGetChildren2: "children", wire.OpSync: "sync", wire.OpMulti: "multi", wire.OpCheck: "check",
	wire.OpCreateContainer: "create", wire.OpCreateTTL: "create", wire.OpSetWatches: "setWatches",
	wire.OpAuth: "auth", wire.OpCloseSession: "close", wire.OpReconfig: "reconfig",
}

func RequestName(op wire.Op) string {
	if name, known := opNames[op]; known {
		return name
	}
	return fmt.Sprintf("op %d", op)
}

func requestPath(r *fakezk.Request) string {
	switch r.Op {
	case wire.OpMulti:
		var parts []string
		for i := range r.Ops {
			parts = append(parts, opNames[r.Ops[i].Op]+" "+r.Ops[i].Path)
		}
		return "[" + strings.Join(parts, "; ") + "]"
	case wire.OpSetWatches:
		return strings.Join(slices.Concat(r.DataWatches, r.ExistWatches, r.ChildWatches), " ")
	}
	return r.Path
}

// hashStart is the offset basis of 64-bit FNV-1a.
const hashStart = 14695981039346656037

// fold puts a number into the hash of the episode, which covers every step.
func (j *journal) fold(x uint64) { j.hash = digest.Mix(j.hash ^ x) }

func (j *journal) foldString(s string) { j.hash = foldString(j.hash, s) }

func HashString(s string) uint64 { return foldString(hashStart, s) }

func foldString[T string | []byte](h uint64, s T) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (j *journal) foldRequest(r *fakezk.Request) {
	j.fold(uint64(r.Op)<<32 | uint64(uint32(r.Version)))
	j.foldString(r.Path)
	j.hash = foldString(j.hash, r.Data)
	for i := range r.Ops {
		j.foldRequest(&r.Ops[i])
	}
}

func (j *journal) foldReply(r *fakezk.Response) {
	j.fold(uint64(r.Zxid)<<16 ^ uint64(uint32(r.Err)))
	j.foldString(r.Path)
	j.hash = foldString(j.hash, r.Data)
	for _, name := range r.Children {
		j.foldString(name)
	}
	for i := range r.Results {
		j.fold(uint64(uint32(r.Results[i].Err)))
		j.foldString(r.Results[i].Path)
	}
}

func (j *journal) foldMessage(m fakezk.Message) {
	switch {
	case m.Reply != nil:
		j.foldReply(m.Reply)
	default:
		j.fold(uint64(uint32(m.Event)) ^ uint64(m.Zxid)<<8)
		j.foldString(m.Path)
	}
}

// Record is what a run with a trace leaves besides it, for telling its story.
type Record struct {
	Ops          []*Op // by call
	Changes      []Change
	Sessions     []SessionOf // in the order in which clients got them
	ExpiriesSeen [][]int     // for each client: the steps at which it learned that a session was gone
	Users        []int       // for each client: how many share its session
	Servers      int
	Waits        []Wait // of those that wait for ever; empty if everybody finished
	Tortured     int    // steps of the torture phase
	Marks        []int  // how many choices had been made after each step of the torture phase, from step 0
	Choices      Choices
	Struck       Faults // that struck at least once

	Talk []Talk // of all clients with their servers
}

// Talk is something that passed between a client and a server, in order, or that happened to the servers.
type Talk struct {
	Kind   TalkKind
	Step   int
	Behind []int // by server: how many transactions it had not applied then
	Conn   int32 // of the servers
	Server int   // that is dialled

	Frame   []byte  // a server's with its length in front
	Asked   wire.Op // of a reply
	Session int64   // that is granted or ends; 0 for a hello that is answered by the end of a session
	Refused bool    // the server closes the connection instead of an answer
	Path    string  // of what somebody else makes or deletes
}

// TalkKind says what a [Talk] is.
type TalkKind uint8

// What they are.
const (
	TalkHello   TalkKind = iota // a client connects, with its handshake, and the server's answer
	TalkRequest                 // a request reaches its server
	TalkReply                   // a reply reaches its client
	TalkEvent                   // the event of a watch does
	TalkClosed                  // the server has closed the connection
	TalkDropped                 // the connection breaks
	TalkEnds                    // a session ends, by itself or as its client has asked for
	TalkMakes                   // somebody else makes a znode
	TalkDeletes                 // or deletes one
)

// SessionOf tells which client got a session.
type SessionOf struct {
	ID     int64
	Client int
}

// Wait is an operation that has not returned although all faults were healed, with what it waits for.
type Wait struct {
	Op      *Op
	Session int64       // that its client believes to have
	Watches []WaitWatch // armed for that session
}

// WaitWatch is an armed watch and the znode on which it is.
type WaitWatch struct {
	Path   string
	Kind   fakezk.WatchKind
	Exists bool
	Owner  int64 // the session that the znode belongs to, 0 if it is not ephemeral or not there
}

// record is what a world with a trace keeps on its way.
type record struct {
	sent   map[*goclient.Call]int
	owners []SessionOf
	marks  []int
	talk   []Talk
}

func newRecord() *record { return &record{sent: map[*goclient.Call]int{}} }

// noteTalk notes what passes, before it does. How far servers are behind may be known from before.
func (j *journal) noteTalk(t Talk) {
	if j.record == nil {
		return
	}
	t.Step = j.world.step
	if t.Behind == nil {
		t.Behind = j.behind()
	}
	j.talk = append(j.talk, t)
}

func (j *journal) behind() (all []int) {
	for r := 0; j.record != nil && r < j.world.replicas; r++ {
		all = append(all, j.world.servers.Behind(r))
	}
	return all
}

// noteSent notes the step in which a request was sent.
func (j *journal) noteSent(call *goclient.Call) {
	if j.record != nil {
		j.sent[call] = j.world.step
	}
}

func (j *journal) sentAt(call *goclient.Call) int {
	if step, known := j.sent[call]; known {
		return step
	}
	return -1 // sent by the client library itself when it connected
}

// noteOwner notes whose a session is.
func (j *journal) noteOwner(p *process, c client) {
	s := SessionOf{c.Session(), p.id}
	if j.record != nil && s.ID != 0 && !slices.Contains(j.owners, s) {
		j.owners = append(j.owners, s)
	}
}

// checkpoint notes how many choices have been made before the next step.
//
// Invariant: marks[k] is the number of choices after which step k is over; each turn of the loop takes one step, or
// none if it is the last.
func (j *journal) checkpoint() {
	if j.record == nil {
		return
	}
	j.world.insist()
	for len(j.marks) <= j.world.step {
		j.marks = append(j.marks, len(j.world.source.made))
	}
	j.marks[j.world.step] = len(j.world.source.made)
}

// complete is called when every script has ended, or waits for ever.
func complete(w *World) *Record {
	if w.record == nil {
		return nil
	}
	r := &Record{
		Ops: slices.Clone(w.Ops()), Changes: slices.Clone(w.changes), Sessions: w.owners, Servers: w.replicas,
		Tortured: w.tortured, Marks: w.marks, Talk: w.talk,
	}
	for _, p := range w.procs {
		r.ExpiriesSeen, r.Users = append(r.ExpiriesSeen, slices.Clone(p.expiriesSeen)), append(r.Users, len(p.users))
	}
	for _, op := range w.Waiting() {
		r.Waits = append(r.Waits, waitOf(w, op))
	}
	for i, n := range w.struck {
		if n > 0 {
			r.Struck |= 1 << i
		}
	}
	for _, m := range w.source.made {
		r.Choices = append(r.Choices, m.Value)
	}
	return r
}

func waitOf(w *World, op *Op) Wait {
	wait := Wait{Op: op, Session: op.Session()}
	for _, watch := range w.servers.Watches() {
		if watch.Session == wait.Session {
			n, exists := w.servers.Node(watch.Path)
			wait.Watches = append(wait.Watches, WaitWatch{watch.Path, watch.Kind, exists, n.Stat.EphemeralOwner})
		}
	}
	return wait
}
