package quorum

import (
	"bufio"
	"io"
	"math"
	"slices"
	"sync"
)

// Hold holds back what one follower hears, whichever server leads. All methods may be called at any time, by any
// goroutine.
type Hold struct {
	mu      sync.Mutex
	limit   int64         // the last transaction whose COMMIT passes
	changed chan struct{} // closed and replaced when the limit changes
	blind   int           // connections on which nothing can be held
}

// open is the limit if nothing is held.
const open = math.MaxInt64

// NewHold returns a hold that lets everything pass.
func NewHold() *Hold { return &Hold{limit: open, changed: make(chan struct{})} }

// Hold lets COMMITs of transactions up to a zxid pass, none of later ones, and nothing that must not overtake them.
func (h *Hold) Hold(zxid int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limit = zxid
	close(h.changed)
	h.changed = make(chan struct{})
}

// Free lets everything pass, first what is held.
func (h *Hold) Free() { h.Hold(open) }

// Holds reports whether there are transactions that would not pass.
func (h *Hold) Holds() bool {
	limit, _ := h.look()
	return limit < open
}

// Blind reports whether a connection is open on which nothing can be held, because it has carried a snapshot.
func (h *Hold) Blind() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.blind > 0
}

func (h *Hold) look() (limit int64, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.limit, h.changed
}

func (h *Hold) seesNothing(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.blind += n
}

// queueMax bounds how many packets wait; then no more is received, and TCP holds back the leader.
const queueMax = 4096

// pass passes on what a leader sends to a follower, until either is gone. What is held then is lost. The rest of a
// packet that was cut off passes, too.
func (h *Hold) pass(follower io.Writer, leader io.Reader) {
	packets, done := make(chan packet), make(chan struct{})
	defer close(done)
	go func() {
		defer close(packets)
		r := reader{source: bufio.NewReaderSize(leader, rawMax)}
		for {
			p, err := r.read()
			select {
			case packets <- p:
			case <-done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	s := stream{to: follower}
	defer func() {
		if s.raw {
			h.seesNothing(-1)
		}
	}()
	for s.err == nil {
		limit, changed := h.look()
		s.flush(limit)
		more := packets
		if len(s.waiting) >= queueMax {
			more = nil
		}
		select {
		case p, ok := <-more:
			if !ok {
				return
			}
			if p.kind == kindSnapshot && !s.raw {
				s.raw = true
				h.seesNothing(1)
			}
			s.waiting = append(s.waiting, p)
		case <-changed:
		}
	}
}

// stream is what a leader tells a follower on one connection.
type stream struct {
	to      io.Writer
	err     error    // of writing
	waiting []packet // in order
	started bool     // the follower is up to date: COMMITs are of new transactions
	raw     bool     // a snapshot has come
}

// flush passes on the packets that may pass.
func (s *stream) flush(limit int64) {
	held := false
	s.waiting = slices.DeleteFunc(s.waiting, func(p packet) (passes bool) {
		switch {
		case !s.started || s.raw:
		case p.kind == kindCommit || p.kind == kindCommitAndActivate:
			if held = held || p.zxid > limit; held {
				return false
			}
		case p.kind == kindSync && held:
			return false
		}
		if s.err == nil {
			_, s.err = s.to.Write(p.bytes)
		}
		s.started = s.started || p.kind == kindUpToDate
		return true
	})
}
