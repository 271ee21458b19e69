package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/cycle"
)

// A livelock is a client that asks again and again while no operation begins or ends. It ends the run: where no time
// passes, nothing that others do while they hold something ever does. What a client may ask for before that is more
// than a correct one does in the course of one operation: it looks at every znode several times, and then waits, if
// only for a moment.
const (
	askedAtOnce   = 1000 // what a client asks for …
	askedByZnode  = 10   // … and for each change of the tree that was made before …
	askedByMillis = 20   // … and for each millisecond that passes

	turnMax = 40 // the longest turn of a livelock that is recognised
)

// asking is what a client has asked for since an operation began or ended.
type asking struct {
	quiet  int // which time of the world's
	times  int
	recent []string // the last, when there is nearly too much
}

// quietTime is the time since an operation began or ended.
type quietTime struct {
	number  int
	since   int64 // elapsed
	changes int   // of the tree until then
}

// stir notes that an operation has begun or ended, or is about to.
func (w *World) stir() {
	w.quiet = quietTime{w.quiet.number + 1, w.elapsed, len(w.changes)}
}

// asks counts what a client asks for: a request, a connection, or what is shared outside of ZooKeeper.
func (w *World) asks(p *process, what func() string) {
	if !w.liveness || w.livelock != nil {
		return
	}
	a := &p.asking
	if a.quiet != w.quiet.number {
		a.quiet, a.times, a.recent = w.quiet.number, 0, a.recent[:0]
	}
	a.times++
	most := askedAtOnce + askedByZnode*w.quiet.changes + askedByMillis*int(w.elapsed-w.quiet.since)
	if a.times > most-2*turnMax {
		a.recent = append(a.recent, what())
	}
	if a.times > most {
		w.livelock = p
	}
}

// toldLivelock is the violation of a client that has ended the run so.
func (w *World) toldLivelock() Violation {
	p := w.livelock
	found := Violation{Property: "progress"}
	for _, op := range w.Waiting() {
		if op.Client == p.id {
			found.Ops = append(found.Ops, op)
		}
	}
	passed := "no time passed"
	if d := w.elapsed - w.quiet.since; d > 0 {
		passed = fmt.Sprintf("%v passed", milliseconds(d))
	}
	text := Say("livelock: c%d sent %d requests while %s and no operation began or ended", p.id+1, p.asking.times, passed)
	if len(found.Ops) > 0 {
		text = Say("%v, in %s, which waits without a pause", text, found.Ops[0].Name)
	}
	return found.Saying("%v; %s", text, p.asking.turn())
}

func alike(a, b string) bool { return cycle.Shape(a) == cycle.Shape(b) }

// turn says what was sent again and again.
func (a *asking) turn() string {
	n := len(a.recent)
	for length := 1; length <= min(turnMax, n/2); length++ {
		last := a.recent[n-length:]
		if slices.EqualFunc(last, a.recent[n-2*length:n-length], alike) {
			return "again and again: " + strings.Join(last, ", ")
		}
	}
	return "the last were: " + strings.Join(a.recent[max(0, n-5):], ", ")
}
