package live

import (
	"context"
	"maps"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// Away is a time when the run had no connection to any server, though no fault of its own had struck one. Stamps are
// those of the history.
type Away struct {
	Away bool  `json:"away"` // true
	At   int64 `json:"at"`
	Well int64 `json:"well,omitempty"` // 0 if it lasted to the end of the run
}

// tellAwayEvery is how often those who watch are told that servers are away.
const tellAwayEvery = time.Second

// watchServers notes when the servers are away by themselves, until ctx ends.
func (r *liveRun) watchServers(ctx context.Context) error {
	var since, told time.Time // zero while they are there
	for reached(ctx, time.Now().Add(lookEvery)) {
		now := time.Now()
		switch away := !r.admin.connected(); {
		case !r.nemesis.well(0):
			since = time.Time{} // what the run itself has done is noted elsewhere
		case away && since.IsZero():
			since, told = r.pulse.unanswered(now), now
		case away && now.Sub(told) >= tellAwayEvery:
			told = now
			r.mu.Lock()
			r.tell(now.Sub(since))
			r.mu.Unlock()
		case !away && !since.IsZero():
			if err := r.away(since, now); err != nil {
				return err
			}
			since = time.Time{}
		}
	}
	if since.IsZero() {
		return nil
	}
	return r.away(since, time.Time{})
}

// unanswered is since when the run's request has waited that is under way; now if there is none.
func (p *pulse) unanswered(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.due.IsZero() && p.due.Before(now) {
		return p.due
	}
	return now
}

// away notes a time without servers; back is zero if it goes on.
func (r *liveRun) away(since, back time.Time) error {
	a := Away{Away: true, At: since.Sub(r.begin).Nanoseconds()}
	if back.IsZero() {
		back = time.Now()
	} else {
		a.Well = back.Sub(r.begin).Nanoseconds()
	}
	r.mu.Lock()
	r.result.Away++
	r.result.AwayLongest = max(r.result.AwayLongest, back.Sub(since))
	r.mu.Unlock()
	return r.recordStrike(a, false)
}

// tell says how far the run is, and for how long no server has answered; 0 if they do. It is locked.
func (r *liveRun) tell(away time.Duration) {
	if r.cfg.Progress != nil {
		r.cfg.Progress(sim.Progress{
			Episodes: r.result.Episodes, Of: r.cfg.Rounds, Operations: r.result.Operations,
			Struck: maps.Clone(r.result.Struck), Violations: r.broken, Elapsed: time.Since(r.begin), Away: away,
		})
	}
}
