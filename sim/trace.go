package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// Step is one line of a trace: something that happened, in words.
type Step struct {
	N      int           // the step; operations' calls and returns carry the step that let them happen
	At     time.Duration // the servers' clock since the start
	Client int           // from 0; -1 for the world
	Event  string        // a request, an event, a fault, an operation
	Path   string
	Result string

	Detail // not printed
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
	w.stirred = w.elapsed
	if len(notes) > 1 {
		slices.SortFunc(notes, func(a, b note) int { return int(a.stamp - b.stamp) })
	}
	for _, n := range notes {
		w.fold(uint64(n.stamp))
		w.foldString(n.op.Name)
		if n.end {
			w.fold(uint64(n.op.Outcome))
			w.foldString(n.op.Result)
		}
		if w.trace != nil {
			w.note(n.op.Client, describeNote(n), "", noteResult(n)).by(n.op)
		}
	}
}

func describeNote(n note) string {
	who := ""
	if n.op.user.process.users[len(n.op.user.process.users)-1].Index > 0 {
		who = fmt.Sprintf("u%d ", n.op.User+1)
	}
	arrow := "> "
	if n.end {
		arrow = "< "
	}
	return arrow + who + n.op.Name + "(" + n.op.Arg + ")"
}

func noteResult(n note) string {
	switch {
	case !n.end:
		return ""
	case n.op.Err != nil:
		return fmt.Sprintf("%v: %v", n.op.Outcome, n.op.Err)
	case n.op.Result != "":
		return fmt.Sprintf("%v: %v", n.op.Outcome, n.op.Result)
	}
	return n.op.Outcome.String()
}

// note adds a line to the trace, if one is kept, and returns its details, else nil.
func (w *World) note(client int, event, path, result string) *Detail {
	if w.trace == nil {
		return nil
	}
	at := time.Duration(w.elapsed+w.offset) * time.Millisecond
	*w.trace = append(*w.trace, Step{w.step, at, client, event, path, result, w.detail(client, event)})
	return &(*w.trace)[len(*w.trace)-1].Detail
}

func (w *World) noteRequest(p *process, call *fakezk.Call, m fakezk.Message) {
	if w.trace == nil {
		return
	}
	r := &call.Request
	w.note(p.id, requestName(r), requestPath(r), requestResult(r, m)).asks(w, call, m)
}

func (w *World) noteMessage(p *process, m fakezk.Message) {
	if w.trace == nil {
		return
	}
	switch {
	case m.Closed:
		w.note(p.id, "closed", "", "the server has closed the connection")
	case m.Reply != nil:
		w.note(p.id, "reply", m.Reply.Path, replyResult(m.Reply)).answers(m)
	default:
		w.note(p.id, "event", m.Path, eventName(m.Event)).fired(m)
	}
}

func eventName(t zk.EventType) string { return strings.TrimPrefix(t.String(), "Event") }

var opNames = map[fakezk.Op]string{
	fakezk.OpCreate: "create", fakezk.OpDelete: "delete", fakezk.OpExists: "exists",
	fakezk.OpGetData: "get", fakezk.OpSetData: "set", fakezk.OpGetACL: "getACL", fakezk.OpSetACL: "setACL",
	fakezk.OpGetChildren2: "children", fakezk.OpSync: "sync", fakezk.OpMulti: "multi", fakezk.OpCheck: "check",
	fakezk.OpCreateContainer: "create", fakezk.OpCreateTTL: "create", fakezk.OpSetWatches: "setWatches",
	fakezk.OpSetAuth: "auth", fakezk.OpCloseSession: "close", fakezk.OpReconfig: "reconfig",
}

func requestName(r *fakezk.Request) string {
	name := opNames[r.Op]
	if name == "" {
		name = fmt.Sprintf("op %d", r.Op)
	}
	if r.Watch {
		name += "+watch"
	}
	return name
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

func requestResult(r *fakezk.Request, m fakezk.Message) string {
	switch {
	case m.Closed:
		return "dropped: the server closes the connection"
	case m.Reply == nil:
		return "arrived, the reply is on its way"
	case m.Reply.Err != fakezk.CodeOK:
		return m.Reply.Err.Err().Error()
	case r.Op == fakezk.OpCreate && m.Reply.Path != r.Path:
		return "-> " + m.Reply.Path[strings.LastIndexByte(m.Reply.Path, '/')+1:]
	case r.Op == fakezk.OpGetChildren2:
		return fmt.Sprint(m.Reply.Children)
	case r.Op == fakezk.OpGetData:
		return fmt.Sprintf("%q", m.Reply.Data)
	}
	return "ok"
}

func replyResult(r *fakezk.Response) string {
	switch {
	case r.Err != fakezk.CodeOK:
		return r.Err.Err().Error()
	case r.Children != nil:
		return fmt.Sprint(r.Children)
	}
	return "ok"
}

// hashStart is the offset basis of 64-bit FNV-1a.
const hashStart = 14695981039346656037

// fold puts a number into the hash of the episode, which covers every step.
func (w *World) fold(x uint64) { w.hash = mix(w.hash ^ x) }

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
