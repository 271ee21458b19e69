package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
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

// note is the begin or the end of an operation, handed in by the goroutine of its user.
type note struct {
	stamp int64
	op    *Op
	end   bool
}

// takeNotes puts operations' begins and ends into trace and hash, ordered by their stamps.
func (w *World) takeNotes() {
	if len(w.notes) == 0 {
		return
	}
	notes := w.notes
	w.notes, w.notesBefore = w.notesBefore[:0], notes // memory to reuse
	w.stir()
	if len(notes) > 1 {
		slices.SortFunc(notes, func(a, b note) int { return cmp.Compare(a.stamp, b.stamp) })
	}
	for _, n := range notes {
		w.keepNote(n)
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
func (w *World) noteOp(n note) {
	kind, text, result := KindCall, "> ", ""
	if n.end {
		kind, text, result = KindReturn, "< ", n.op.result()
	}
	if users := n.op.user.process.users; users[len(users)-1].Index > 0 {
		text += fmt.Sprintf("u%d ", n.op.User+1)
	}
	s := w.note(kind, n.op.Client, text+n.op.Name+"("+n.op.Arg+")", "", result)
	s.User, s.Op = n.op.User, n.op.Number
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
func (w *World) note(kind Kind, client int, event, path, result string) *Step {
	if w.trace == nil {
		return &w.unkept
	}
	at := time.Duration(w.elapsed+w.offset) * time.Millisecond
	*w.trace = append(*w.trace, Step{w.step, at, client, event, path, result, w.detail(kind, client)})
	return &(*w.trace)[len(*w.trace)-1]
}

// says is Sprintf for a line of the trace: "" without one.
func (w *World) says(format string, args ...any) string {
	if w.trace == nil {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// noteFault adds a line about a fault that strikes.
func (w *World) noteFault(fault Faults, client int, path, result string) *Step {
	if w.trace == nil {
		return &w.unkept
	}
	s := w.note(KindFault, client, "! "+fault.String(), path, result)
	s.Fault = fault
	return s
}

// noteHealed adds a line about a fault that ends.
func (w *World) noteHealed(fault Faults, client int, result string) *Step {
	if w.trace == nil {
		return &w.unkept
	}
	s := w.note(KindHealed, client, fault.String(), "", result)
	s.Fault = fault
	return s
}

// noteRequest adds a line about a request that has reached its server; m is the reply, if it comes in the same step.
func (w *World) noteRequest(p *process, c client, call *fakezk.Call, m fakezk.Message) {
	if w.trace == nil {
		return
	}
	s := w.note(KindRequest, p.id, "", "", "")
	s.at(c)
	s.asks(w, call)
	s.Hangs = w.servers.Hangs(c.Connection())
	if s.Dropped = m.Closed; m.Reply != nil {
		s.Kind = KindExchange
		s.answers(&call.Request, m.Reply)
	}
	s.Event, s.Result = s.Subject(), s.answer()
}

// noteMessage adds a line about a message that reaches a client, except a reply that [World.noteRequest] has noted.
func (w *World) noteMessage(p *process, c client, m fakezk.Message) {
	if w.trace == nil {
		return
	}
	switch {
	case m.Closed:
		w.note(KindClosed, p.id, "closed", "", "the server has closed the connection").at(c)
	case m.Reply != nil:
		s := w.note(KindReply, p.id, "reply", m.Reply.Path, "")
		s.at(c)
		s.answers(nil, m.Reply)
		s.Result = s.answer()
	default:
		s := w.note(KindWatch, p.id, "event", m.Path, "")
		s.at(c)
		s.Zxid, s.Type = m.Zxid, m.Event
		s.Result = s.Subject()
	}
}

func (w *World) noteTold(p *process, event zk.Event, user int) {
	if w.trace == nil {
		return
	}
	what := eventName(event.Type)
	if event.Type == zk.EventSession {
		what = strings.TrimPrefix(event.State.String(), "State")
	}
	w.note(KindTold, p.id, "told", event.Path, what).User = user
}

func eventName(t zk.EventType) string { return strings.TrimPrefix(t.String(), "Event") }

var opNames = map[fakezk.Op]string{
	fakezk.OpCreate: "create", fakezk.OpDelete: "delete", fakezk.OpExists: "exists",
	fakezk.OpGetData: "get", fakezk.OpSetData: "set", fakezk.OpGetACL: "getACL", fakezk.OpSetACL: "setACL",
	fakezk.OpGetChildren2: "children", fakezk.OpSync: "sync", fakezk.OpMulti: "multi", fakezk.OpCheck: "check",
	fakezk.OpCreateContainer: "create", fakezk.OpCreateTTL: "create", fakezk.OpSetWatches: "setWatches",
	fakezk.OpSetAuth: "auth", fakezk.OpCloseSession: "close", fakezk.OpReconfig: "reconfig",
}

func requestName(op fakezk.Op) string {
	if name, known := opNames[op]; known {
		return name
	}
	return fmt.Sprintf("op %d", op)
}

func requestPath(r *fakezk.Request) string {
	switch r.Op {
	case fakezk.OpMulti:
		var parts []string
		for i := range r.Ops {
			parts = append(parts, opNames[r.Ops[i].Op]+" "+r.Ops[i].Path)
		}
		return "[" + strings.Join(parts, "; ") + "]"
	case fakezk.OpSetWatches:
		return strings.Join(slices.Concat(r.DataWatches, r.ExistWatches, r.ChildWatches), " ")
	}
	return r.Path
}

// hashStart is the offset basis of 64-bit FNV-1a.
const hashStart = 14695981039346656037

// fold puts a number into the hash of the episode, which covers every step.
func (w *World) fold(x uint64) { w.hash = digest.Mix(w.hash ^ x) }

func (w *World) foldString(s string) { w.hash = foldString(w.hash, s) }

func hashString(s string) uint64 { return foldString(hashStart, s) }

func foldString[T string | []byte](h uint64, s T) uint64 {
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func (w *World) foldRequest(r *fakezk.Request) {
	w.fold(uint64(r.Op)<<32 | uint64(uint32(r.Version)))
	w.foldString(r.Path)
	w.hash = foldString(w.hash, r.Data)
	for i := range r.Ops {
		w.foldRequest(&r.Ops[i])
	}
}

func (w *World) foldReply(r *fakezk.Response) {
	w.fold(uint64(r.Zxid)<<16 ^ uint64(uint32(r.Err)))
	w.foldString(r.Path)
	w.hash = foldString(w.hash, r.Data)
	for _, name := range r.Children {
		w.foldString(name)
	}
	for i := range r.Results {
		w.fold(uint64(uint32(r.Results[i].Err)))
		w.foldString(r.Results[i].Path)
	}
}

func (w *World) foldMessage(m fakezk.Message) {
	switch {
	case m.Reply != nil:
		w.foldReply(m.Reply)
	default:
		w.fold(uint64(uint32(m.Event)) ^ uint64(m.Zxid)<<8)
		w.foldString(m.Path)
	}
}
