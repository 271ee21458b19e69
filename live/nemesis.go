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

	"github.com/zktorture/zktorture/sim/world"
)

// Servers serve all rounds of a run, so their faults strike by the clock, while rounds are under way. A fault is over
// when all servers have been healthy for a while. Looking for leftovers, draining a queue, and making the znodes of the
// next round need healthy servers: they wait for the end of a fault, and no fault begins meanwhile.

// nemesis injects the faults of a run's servers.
type nemesis struct {
	healthy sync.RWMutex  // held for reading where servers must be healthy, for writing during a fault
	begun   chan struct{} // has one when an operation has begun since the last look

	mu      sync.Mutex
	strikes int       // that have begun
	since   time.Time // when the last one was over; zero while there is one
}

// well reports whether servers have been healthy for a time.
func (n *nemesis) well(d time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.since.IsZero() && time.Since(n.since) >= d
}

// count returns how many strikes have begun.
func (n *nemesis) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.strikes
}

// end notes that servers are well.
func (n *nemesis) end() {
	n.mu.Lock()
	n.since = time.Now()
	n.mu.Unlock()
	n.healthy.Unlock()
}

// whileHealthy does what needs servers that are well.
func (r *liveRun) whileHealthy(f func() error) error {
	r.nemesis.healthy.RLock()
	defer r.nemesis.healthy.RUnlock()
	return f()
}

// awaitHealthy waits until servers are well, and keeps them so until the end of the round.
func (l *round) awaitHealthy() { l.truce.Do(l.run.nemesis.healthy.RLock) }

// runNemesis lets one strike after the other strike, until there are none or no more rounds begin. The error is for
// servers that do not recover.
func (r *liveRun) runNemesis(ctx, timed context.Context, next func() []ServerFault) error {
	for {
		faults := next()
		if faults == nil || !reached(timed, r.begin.Add(time.Duration(faults[0].AtMS)*time.Millisecond)) || !r.beginStrike(timed) {
			return nil
		}
		if err := r.strikeServers(ctx, timed, faults); err != nil {
			return interrupted(ctx, err)
		}
	}
}

// serverStrikes returns one strike after the other, as the seed draws them.
func (r *liveRun) serverStrikes() (next func() []ServerFault) {
	if drawn := newFaultDraw(r.cfg.Seed, r.cfg.Faults, r.cfg.Nodes, r.cfg.Timeout); drawn != nil {
		return drawn.next
	}
	return func() []ServerFault { return nil }
}

// reached waits until a moment; false if ctx ends before.
func reached(ctx context.Context, moment time.Time) bool {
	select {
	case <-time.After(time.Until(moment)):
		return true
	case <-ctx.Done():
		return false
	}
}

// beginStrike takes the servers away from those who need them healthy, and notes that they are being hurt, at a moment
// when an operation is under way: between two rounds a fault would strike nobody, and would hold up the next. False if
// ctx ends before.
func (r *liveRun) beginStrike(ctx context.Context) bool {
	n := &r.nemesis
	for {
		n.healthy.Lock()
		if r.busy() {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.strikes++
			n.since = time.Time{}
			return true
		}
		n.healthy.Unlock()
		select {
		case <-n.begun:
		case <-ctx.Done():
			return false
		}
	}
}

// operationBegan lets a strike that waits for one look.
func (n *nemesis) operationBegan() {
	select {
	case n.begun <- struct{}{}:
	default:
	}
}

// strikeServers carries out one strike that has begun, heals, and writes down what became of it.
func (r *liveRun) strikeServers(ctx, timed context.Context, faults []ServerFault) error {
	defer r.nemesis.end()
	var strikes []*hurt
	for _, f := range faults {
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
	struck, err := r.cfg.Servers.Strike(ctx, f.Fault)
	if err != nil {
		h.Why = err.Error()
		return h
	}
	h.begun, h.undo, h.Whom, h.At, h.Struck = time.Now(), struck.Undo, struck.Where(), r.stamp(), r.busy()
	return h
}

// end ends the fault. What cannot be undone alone is left to the healing of all.
func (h *hurt) end() {
	if h.undo != nil {
		h.undo()
	}
}

// names are under which the fault counts.
func (h *hurt) names() (names []string) {
	for f := range h.under().Each() {
		names = append(names, string(f))
	}
	return names
}

// healServers returns when all servers are well and answer.
func (r *liveRun) healServers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healMax)
	defer cancel()
	if err := r.cfg.Servers.HealAll(ctx); err != nil {
		return fmt.Errorf("live: the servers have not recovered from the faults: %w", err)
	}
	if err := reach(ctx, r.admin, r.cfg.Root); err != nil {
		return fmt.Errorf("live: the servers do not answer after all faults have ended: %w", err)
	}
	return nil
}

// busy reports whether an operation is under way in some round.
func (r *liveRun) busy() bool {
	r.mu.Lock()
	rounds := slices.Collect(maps.Keys(r.rounds))
	r.mu.Unlock()
	return slices.ContainsFunc(rounds, (*round).busy)
}

func (l *round) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.ops, func(op *world.Op) bool { return op.Return == 0 })
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
		return fmt.Errorf("live: the faults that struck cannot be written: %w", err)
	}
	return nil
}
