package confirm

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// StartServers starts the servers that confirm counterexamples. All sessions last long there, also those of code that asks
// for less.
func StartServers(ctx context.Context) (*ensemble.Ensemble, error) {
	least := fmt.Sprintf("minSessionTimeout=%d", stageSession.Milliseconds())
	return ensemble.Start(ctx, ensemble.Options{Nodes: 3, Tick: stageSession / 20, Config: []string{least}})
}

// On confirms a counterexample, and how it was replayed, on servers of [StartServers].
func On(ctx context.Context, e *ensemble.Ensemble, w *workload.Workload, example *sim.Counterexample,
	replayed *sim.Replayed) (*Confirmation, error) {
	leader, err := e.WaitLeader(ctx)
	if err != nil {
		return nil, err
	}
	servers := e.Servers()
	servers[0], servers[leader] = servers[leader], servers[0]
	return Run(ctx, w, example, replayed, Config{
		Patience: patienceOfSteps, Servers: servers, Followers: followers{e, leader},
	})
}

// followers are the members of an ensemble, numbered with the leader and the first member swapped.
type followers struct {
	*ensemble.Ensemble
	leader int
}

// Hold implements [Followers]. A member that came late to its leader is restarted: before a replay nobody is
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

// Free implements [Followers].
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
