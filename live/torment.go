package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// Servers serve all rounds of a run, so they are hurt by the clock, and not in one round. A blow strikes
// while rounds are under way; it is over when all servers have been well for a while. A round that has come
// to its end meanwhile waits for that: who looks at what is left, drains a queue, or makes the znodes of the next
// round needs servers that are well, and while anybody does, none is hurt.

// tormentor hurts the servers of a run.
type tormentor struct {
	peace sync.RWMutex // held for reading by who needs servers that are well, for writing while they are hurt

	mu    sync.Mutex
	blows int       // that have begun
	since time.Time // when the last one was over; zero while there is one
}

// well tells whether servers have been well for so long.
func (t *tormentor) well(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.since.IsZero() && time.Since(t.since) >= d
}

// count returns how many blows have begun.
func (t *tormentor) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blows
}

// begin notes that servers are being hurt.
func (t *tormentor) begin() {
	t.peace.Lock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.blows++
	t.since = time.Time{}
}

// end notes that they are well.
func (t *tormentor) end() {
	t.mu.Lock()
	t.since = time.Now()
	t.mu.Unlock()
	t.peace.Unlock()
}

// peacefully does what needs servers that are well.
func (r *liveRun) peacefully(f func() error) error {
	r.tormentor.peace.RLock()
	defer r.tormentor.peace.RUnlock()
	return f()
}

// peaceful waits until servers are well, and keeps them so until the end of the round.
func (l *liveRound) peaceful() { l.truce.Do(l.run.tormentor.peace.RLock) }

// torment lets one blow after the other strike, until no more rounds begin. The error is for servers that do not
// recover.
func (r *liveRun) torment(ctx, timed context.Context) error {
	next := r.blows()
	for {
		blow := next()
		if blow == nil || !reached(timed, r.begin.Add(time.Duration(blow[0].AtMS)*time.Millisecond)) {
			return nil
		}
		if err := r.strikeServers(ctx, timed, blow); err != nil {
			return interrupted(ctx, err)
		}
	}
}

// blows returns one blow after the other: those of the plan, then nil; or such as the seed draws.
func (r *liveRun) blows() (next func() []ServerFault) {
	if r.cfg.Plan != nil {
		all := planned(r.cfg.Plan.Servers)
		return func() (blow []ServerFault) {
			if len(all) > 0 {
				blow, all = all[0], all[1:]
			}
			return blow
		}
	}
	if drawn := newBlows(r.cfg.Seed, r.cfg.Faults.Servers, r.cfg.Nodes, r.cfg.Timeout); drawn != nil {
		return drawn.blow
	}
	return func() []ServerFault { return nil }
}

// reached waits until a moment; false if ctx ends before.
func reached(ctx context.Context, moment time.Time) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// strikeServers carries out one blow, heals, and writes down what became of it.
func (r *liveRun) strikeServers(ctx, timed context.Context, blow []ServerFault) error {
	r.tormentor.begin()
	defer r.tormentor.end()
	var strikes []*hurt
	for _, f := range blow {
		strikes = append(strikes, r.hurt(ctx, f))
	}
	slices.SortStableFunc(strikes, func(a, b *hurt) int { return cmp.Compare(a.ForMS, b.ForMS) })
	for _, s := range strikes {
		reached(timed, s.begun.Add(time.Duration(s.ForMS)*time.Millisecond)) // or until the run ends
		s.Struck = s.Struck || s.At > 0 && r.busy()
		s.end()
	}
	if err := r.healServers(ctx); err != nil {
		return err
	}
	well := r.stamp()
	for _, s := range strikes {
		if s.At > 0 {
			s.Well = well
		}
		if err := r.recordStrike(s.ServerStrike, s.Struck, s.names()...); err != nil {
			return err
		}
	}
	return nil
}

// hurt is a fault of a server under way.
type hurt struct {
	ServerStrike
	begun time.Time
	undo  func() error
}

// hurt lets a fault strike, if it can.
func (r *liveRun) hurt(ctx context.Context, f ServerFault) *hurt {
	h := &hurt{ServerStrike: ServerStrike{ServerFault: f}, begun: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, strikeMax)
	defer cancel()
	whom, undo, err := r.cfg.Servers.Strike(ctx, f.Blow())
	if err != nil {
		h.Why = err.Error()
		return h
	}
	h.begun, h.undo, h.Whom, h.At, h.Struck = time.Now(), undo, whom, r.stamp(), r.busy()
	return h
}

// end ends the fault. What cannot be undone alone is left to the healing of all.
func (h *hurt) end() {
	if h.undo != nil {
		h.undo()
	}
}

// names are under which the fault counts.
func (h *hurt) names() []string {
	if h.Server == "leader" {
		return []string{h.name(), "leader"}
	}
	return []string{h.name()}
}

// healServers returns when all servers are well and answer.
func (r *liveRun) healServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healMax)
	defer cancel()
	if err := r.cfg.Servers.Heal(ctx); err != nil {
		return fmt.Errorf("live: the servers have not recovered from what was done to them: %w", err)
	}
	if err := reach(ctx, r.admin, r.cfg.Root); err != nil {
		return fmt.Errorf("live: the servers do not answer after all faults have ended: %w", err)
	}
	return nil
}

// busy tells whether an operation is under way in some round.
func (r *liveRun) busy() bool {
	r.mu.Lock()
	rounds := slices.Collect(maps.Keys(r.rounds))
	r.mu.Unlock()
	return slices.ContainsFunc(rounds, (*liveRound).busy)
}

func (l *liveRound) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.ops, func(op *sim.Op) bool { return op.Return == 0 })
}

// recordStrike writes down a fault and what became of it, and counts it if it counts.
func (r *liveRun) recordStrike(strike any, struck bool, names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if struck {
		for _, name := range names {
			r.result.Struck[name]++
		}
	}
	line, err := json.Marshal(strike)
	if err != nil {
		return err
	}
	if _, err := r.cfg.Strikes.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("live: what struck cannot be written: %w", err)
	}
	return nil
}
