package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// patienceOfSteps is the timeout of one step of a counterexample on real servers. stageSession is the session
// timeout: longer than a counterexample takes, as a client without a connection is not heard of.
const (
	patienceOfSteps = 3 * time.Second
	stageSession    = 20 * time.Second
)

// confirmExample confirms a counterexample on real servers started for it.
func confirmExample(c *console.Context, w *workload.Workload,
	example *sim.Counterexample) (*confirm.Confirmation, error) {
	replayed, err := sim.Replay(w, example)
	if err != nil {
		return nil, err
	}
	e, err := StartStage(c)
	if err != nil {
		return nil, err
	}
	defer e.Stop()
	return ConfirmOn(c, e, w, example, replayed)
}

// StartStage starts the servers that confirm counterexamples. All sessions last long there, also those of code that asks
// for less.
func StartStage(ctx context.Context) (*ensemble.Ensemble, error) {
	least := fmt.Sprintf("minSessionTimeout=%d", stageSession.Milliseconds())
	return ensemble.Start(ctx, ensemble.Options{Nodes: 3, Tick: stageSession / 20, Config: []string{least}})
}

// ConfirmOn confirms a counterexample, and how it was replayed, on servers of [StartStage].
func ConfirmOn(ctx context.Context, e *ensemble.Ensemble, w *workload.Workload, example *sim.Counterexample,
	replayed *sim.Replayed) (*confirm.Confirmation, error) {
	leader, err := e.WaitLeader(ctx)
	if err != nil {
		return nil, err
	}
	servers := e.Servers()
	servers[0], servers[leader] = servers[leader], servers[0]
	return confirm.Run(ctx, w, example, replayed, confirm.Config{
		Patience: patienceOfSteps, Servers: servers, Followers: followers{e, leader},
	})
}

// followers are the members of an ensemble, numbered with the leader and the first member swapped.
type followers struct {
	*ensemble.Ensemble
	leader int
}

// Hold implements [confirm.Followers]. A member that came late to its leader is restarted: before a replay nobody is
// connected to it.
func (f followers) Hold(ctx context.Context, server int, zxid int64) error {
	member := f.member(server)
	err := f.Ensemble.Hold(ctx, member, zxid)
	if !errors.Is(err, ensemble.ErrSnapshot) {
		return err
	}
	if err := f.Member(member).Kill(); err != nil {
		return err
	}
	if err := f.Member(member).Restart(ctx); err != nil {
		return err
	}
	return f.Ensemble.Hold(ctx, member, zxid)
}

// Free implements [confirm.Followers].
func (f followers) Free(server int) { f.Ensemble.Free(f.member(server)) }

func (f followers) member(server int) int {
	switch server {
	case 0:
		return f.leader
	case f.leader:
		return 0
	}
	return server
}

// Tries names the try that succeeded, unless it was the first.
func Tries(f *confirm.Confirmation) string {
	if f.Tries < 2 {
		return ""
	}
	return fmt.Sprintf(" at try %d", f.Tries)
}
