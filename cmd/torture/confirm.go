package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/ensemble/turnstile"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// patienceOfSteps is how long real servers have for a step of a counterexample: less than sessions last, as
// clients cannot ping while a request of theirs waits.
const patienceOfSteps = 1500 * time.Millisecond

// confirm makes a counterexample happen on real servers that are started for it.
func confirm(c *commandContext, w *workload.Workload, example *sim.Counterexample) (*workload.Confirmation, error) {
	replayed, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	e, err := ensemble.Start(c, ensemble.Options{Nodes: 3})
	if err != nil {
		return nil, err
	}
	defer e.Stop()
	return confirmOn(c, e.Servers(), w, example, replayed)
}

func confirmOn(ctx context.Context, servers []string, w *workload.Workload, example *sim.Counterexample, replayed *sim.Replayed) (*workload.Confirmation, error) {
	return w.Conduct(ctx, example, replayed, workload.ConductConfig{
		Patience: patienceOfSteps,
		Open: func(ctx context.Context) (*workload.Session, workload.Turnstile, error) {
			return openTurnstile(ctx, servers)
		},
	})
}

// openTurnstile opens a session behind a turnstile.
func openTurnstile(ctx context.Context, servers []string) (*workload.Session, workload.Turnstile, error) {
	t, err := turnstile.New(servers)
	if err != nil {
		return nil, nil, err
	}
	session := &workload.Session{Link: gated{t}}
	if err := connect(ctx, access{}, session, t.Addr()); err != nil {
		t.Close()
		return nil, nil, fmt.Errorf("%s: %w", strings.Join(servers, ","), err)
	}
	closeClient := session.Close
	session.Close = func() {
		t.Open()
		closeClient()
		t.Close()
	}
	return session, t, nil
}

// gated is a turnstile as a link on which nothing strikes by itself.
type gated struct{ *turnstile.Turnstile }

// Arm implements [workload.Link].
func (gated) Arm([]workload.Fault, func(workload.Fault)) {}

// Heal implements [workload.Link].
func (w gated) Heal() { w.Open() }
