package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/live/worker"
)

// Whoever waits for ever is accused of it, and a slow machine must not be. So a run takes a pulse: again and again it
// makes a request of its own, to see that the root is still its own, and measures how long that takes, from the moment
// at which it was due. Somebody waits for ever who has waited for many times as long as these took, while everything
// was well.

// beatsPerPatience is how often the pulse is taken during a wait.
const beatsPerPatience = 20

// How many times as long as a request of the run's own somebody has to wait: as the longest, and as all on average,
// since operations that wait for each other take many requests, one after the other.
const (
	timesLongest = 20
	timesAverage = 500
)

// waitMax is how many patiences a round may wait for everything to be well, and then for as long as it takes to say
// that somebody waits for ever, until it counts as one that cannot be judged.
const waitMax = 20

// beat is one taking of the pulse.
type beat struct {
	due, answered time.Time
	failed        bool
}

// pulse is what the run knows of how well the servers and the machine are.
type pulse struct {
	mu    sync.Mutex
	beats []beat    // of the last patiences
	due   time.Time // of the next beat, or of the one under way; zero if no pulse is taken
}

// took notes a beat.
func (p *pulse) took(b beat, keep time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beats = append(p.beats, b)
	old := b.answered.Add(-keep)
	p.beats = slices.DeleteFunc(p.beats, func(b beat) bool { return b.answered.Before(old) })
}

// next notes when the next beat is due.
func (p *pulse) next(due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = due
}

// health is what the pulse says of some time.
type health struct {
	longest, average time.Duration // that the run has waited for an answer
	steady           bool          // it has got one each time
}

// since says how well everything was since a moment.
func (p *pulse) since(moment, now time.Time) health {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due.IsZero() {
		return health{steady: true}
	}
	under := max(now.Sub(p.due), 0) // way
	h, sum, n := health{longest: under, steady: true}, under, 1
	for _, b := range p.beats {
		if b.answered.After(moment) {
			took := b.answered.Sub(b.due)
			h.longest, h.steady = max(h.longest, took), h.steady && !b.failed
			sum, n = sum+took, n+1
		}
	}
	h.average = sum / time.Duration(n)
	return h
}

// patience lengthens a least waiting time to what the pulse asks for.
func (h health) patience(least time.Duration) time.Duration {
	return max(least, timesLongest*h.longest, timesAverage*h.average)
}

// takePulse takes the pulse until ctx ends. The error is for a root that is lost, and for servers that are away.
func (r *liveRun) takePulse(ctx context.Context) error {
	every := r.cfg.Patience / beatsPerPatience
	for due := time.Now().Add(every); ; due = time.Now().Add(every) {
		r.pulse.next(due)
		if !reached(ctx, due) {
			return nil
		}
		if err := r.beat(due); err != nil {
			return interrupted(ctx, err)
		}
	}
}

// beat takes the pulse once, unless servers are being hurt, or are about to be.
func (r *liveRun) beat(due time.Time) error {
	if !r.nemesis.healthy.TryRLock() {
		return nil
	}
	defer r.nemesis.healthy.RUnlock()
	err := r.claim.hold(r.admin.Conn)
	if errors.Is(err, ErrRootLost) || errors.Is(err, errAway) {
		return err
	}
	r.pulse.took(beat{due, time.Now(), err != nil}, 2*waitMax*r.cfg.Patience)
	return nil
}

// wait is a wait, perhaps an endless one.
type wait struct {
	run   *liveRun
	of    []*Session    // of the waiting operations: each has to be connected all the time
	least time.Duration // that it has to last: the patience
	began time.Time
	moved time.Time // when something happened last, or else nobody could be expected to do anything
	lost  int       // connections and sessions, by then
}

// newWait returns a wait that begins now and has a least duration.
func (r *liveRun) newWait(of []*Session, least time.Duration) *wait {
	w := &wait{run: r, of: of, least: least}
	w.restart(true)
	return w
}

// restart lets the wait begin anew; moved says that it is a good one.
func (w *wait) restart(moved bool) {
	w.began, w.lost = time.Now(), lostBy(w.of)
	if moved {
		w.moved = w.began
	}
}

// outlook is what can be said of a wait.
type outlook uint8

const (
	unsettled outlook = iota // nothing can be said yet
	finished                 // it is over
	forever                  // it is one for ever
	tooSlow                  // it cannot be told
)

// look says what can be said of the wait by now.
func (w *wait) look() outlook {
	now := time.Now()
	if !w.run.nemesis.well(now.Sub(w.began)) {
		w.restart(true)
		return unsettled
	}
	if lostBy(w.of) != w.lost || slices.ContainsFunc(w.of, func(s *Session) bool { return !s.connected() }) {
		w.restart(false)
	}
	if now.Sub(w.moved) >= waitMax*w.least {
		return tooSlow
	}
	health := w.run.pulse.since(w.began, now)
	if health.steady && now.Sub(w.began) >= health.patience(w.least) {
		return forever
	}
	return unsettled
}

// lostBy returns how many connections and sessions have been lost to the knowledge of clients.
func lostBy(sessions []*Session) (lost int) {
	for _, s := range sessions {
		lost += s.Broken() + s.ExpiriesSeen()
	}
	return lost
}

// connected reports whether the session's client has a session and a server, as far as it knows. A client without a
// process has none.
func (s *Session) connected() bool {
	if r, remote := worker.RemoteOf(s.Conn); remote {
		return r.Alive() && r.Connected()
	}
	return s.Conn.State() == zk.StateHasSession
}
