package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// A round on real servers has a torture phase and a liveness phase. What is to happen is armed before anybody begins,
// and strikes at the requests that it was drawn for, or never. When everybody has finished, or waits, or
// is about to look at what is left, all is healed, and every client has to reach its servers again before
// anything is judged.

// arm lets the faults of a round strike at its clients.
func (l *round) arm() {
	plans := make([]strike.Plan, len(l.episode.Users()))
	for _, f := range l.faults {
		l.strikes = append(l.strikes, &Strike{Fault: f})
		at := strike.Place{Client: 1, Request: f.Request}
		plan := &plans[f.Client-1]
		if *plan == nil {
			*plan = strike.Plan{}
		}
		if _, taken := (*plan)[at]; !taken { // of two at a request the first strikes
			(*plan)[at] = strike.Strike{Fault: f.Fault, Variant: f.Variant, ForMS: f.ForMS}
		}
	}
	for client, plan := range plans {
		if link := l.sessions[client].Link; link != nil && plan != nil {
			link.Arm(plan, func(s strike.Strike) { l.begun(client+1, s.Request) })
		}
	}
}

// begun notes that a client's fault strikes at a request, and brings about what is not the link's business.
func (l *round) begun(client, request int) {
	now := l.run.stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.strikes[slices.IndexFunc(l.strikes, func(s *Strike) bool { return s.Client == client && s.Request == request })]
	f, running := s.Fault, l.running(client-1)
	s.At, s.Struck = now, len(running) > 0
	switch f.Fault {
	case strike.Cancel:
		l.giveUp(running)
	case strike.Reap:
		l.lasting.Go(l.reap)
	case strike.Pause, strike.Crash:
		l.lasting.Go(func() { l.strikeProcess(f) })
	}
}

// reap deletes the znode of the object if that has had children, and has none now.
func (l *round) reap() {
	if there, stat, err := l.run.admin.Conn.Exists(l.path); err == nil && there && stat.Cversion > 0 {
		l.run.admin.Conn.Delete(l.path, -1) // refused if it has children
	}
}

// heal ends the torture: all that lasts ends, and nothing strikes any more.
func (l *round) heal() {
	l.health.Do(func() { close(l.healed) })
	for client := range l.episode.Users() {
		if link := l.sessions[client].Link; link != nil {
			link.Heal()
		}
	}
}

// running are the operations of a client that are under way.
func (l *round) running(client int) (ops []*world.Op) {
	for _, op := range l.ops {
		if op.Client == client && op.Return == 0 {
			ops = append(ops, op)
		}
	}
	return ops
}

// giveUp ends the context of the first operation whose caller may give up.
func (l *round) giveUp(running []*world.Op) {
	for _, op := range running {
		if l.cancelable[op] && !op.Cancelled {
			op.Cancelled = true
			l.cancels[op]()
			return
		}
	}
}

// recover heals everything and waits until every client has reached its servers again: also if nothing was to strike,
// as servers may be away by themselves. The error says why the round cannot be judged.
func (l *round) recover() error {
	l.awaitHealthy()
	l.heal()
	l.lasting.Wait()
	if l.slow {
		return errSlow
	}
	healed := time.Now()
	ctx, cancel := l.run.whilePatient(l.ctx, healed)
	defer cancel()
	for client := range l.episode.Users() {
		if err := reach(ctx, l.sessions[client], l.object); err != nil {
			return fmt.Errorf("live: client %d cannot reach its servers after all faults have ended: %w", client+1, err)
		}
	}
	l.run.recovered(time.Since(healed))
	return nil
}

// whilePatient returns a context that ends when there is no use in waiting since a moment for what takes a few
// requests: sooner or later, as the pulse says.
func (r *liveRun) whilePatient(ctx context.Context, since time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for reached(ctx, time.Now().Add(lookEvery)) {
			waited, health := time.Since(since), r.pulse.since(since, time.Now())
			if health.steady && waited >= health.patience(r.cfg.Patience) || waited >= waitMax*r.cfg.Patience {
				cancel(fmt.Errorf("not within %v", waited.Round(time.Second)))
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// recovered notes how long all clients of a round needed to reach their servers again.
func (r *liveRun) recovered(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Recovery = max(r.result.Recovery, took)
}

// reach makes a request again and again until it is answered.
func reach(ctx context.Context, s *Session, path string) error {
	again := time.NewTicker(reachEvery)
	defer again.Stop()
	for {
		answer := make(chan error, 1)
		go func() {
			_, err := s.Conn.Sync(path)
			answer <- err
		}()
		select {
		case err := <-answer:
			if err == nil || !workload.Disconnected(err) {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reachEvery is how often a client that has lost its servers tries to reach them.
const reachEvery = 10 * time.Millisecond

// servers reports whether servers have been hurt during the round.
func (l *round) servers() bool { return l.run.nemesis.count() > l.serverStrikes }

// struck reports whether any fault has struck.
func (l *round) struck() bool {
	return l.servers() || slices.ContainsFunc(l.strikes, func(s *Strike) bool { return s.At > 0 })
}

// struckSoFar is what was to happen, with what has come of it.
func (l *round) struckSoFar() (all []Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.strikes {
		all = append(all, *s)
	}
	return all
}

// recordStrikes writes down what was to happen and what did.
func (r *liveRun) recordStrikes(strikes []Strike) error {
	for _, s := range strikes {
		if err := r.recordStrike(s, s.Struck, string(s.Fault.Fault)); err != nil {
			return err
		}
	}
	return nil
}
