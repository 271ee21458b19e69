package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/reach"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/stepper"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/zkclient"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// patienceOfSteps is the timeout of one step of a counterexample on real servers. stageSession is the session
// timeout: longer than a counterexample takes, as clients cannot ping while a request waits.
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

// StartStage starts the servers that confirm counterexamples. All sessions last long there, so that they outlast held
// requests, also those of code that asks for less.
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
		Patience: patienceOfSteps, Servers: servers,
		Open: func(ctx context.Context, how confirm.Opening) (*live.Session, confirm.Stepper, error) {
			return openStepper(ctx, servers, how)
		},
		Watches:   func(ctx context.Context) ([]confirm.Watched, error) { return watches(ctx, e) },
		Followers: followers{e, leader},
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

// watches lists the watches of the clients of all servers.
func watches(ctx context.Context, e *ensemble.Ensemble) (all []confirm.Watched, err error) {
	for i := range e.Servers() {
		found, err := e.Member(i).Watches(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range found {
			all = append(all, confirm.Watched{Session: w.Session, Path: w.Path})
		}
	}
	return all, nil
}

// openStepper opens a session behind a stepper.
func openStepper(ctx context.Context, servers []string, how confirm.Opening) (*live.Session, confirm.Stepper, error) {
	s, err := stepper.New(servers)
	if err != nil {
		return nil, nil, err
	}
	s.Route(how.Server)
	if how.Unconnected {
		s.Shut()
	}
	session, err := openStepped(ctx, s, how)
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("%s: %w", strings.Join(servers, ","), err)
	}
	return session, s, nil
}

func openStepped(ctx context.Context, s *stepper.Stepper, how confirm.Opening) (*live.Session, error) {
	session := &live.Session{Link: steppedLink{s}}
	count := counting(session)
	client, err := zkclient.Config{Servers: s.Addr(), SessionTimeout: stageSession, OnEvent: func(e zk.Event) {
		count(e)
		if how.OnEvent != nil {
			how.OnEvent(e)
		}
	}}.Connect()
	if err != nil {
		return nil, err
	}
	session.Conn = recipes.WithEvents(client, client.Events())
	session.Close = func() {
		s.Open()
		client.Close()
		s.Close()
	}
	if how.Unconnected {
		return session, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reach.OwnConnect)
	defer cancel()
	err = client.WaitSession(ctx)
	// A recipe that listens would take an event that comes late for news: in the simulation all have come before it begins.
	for events := recipes.SessionEvents(session.Conn); err == nil; {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return session, nil
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	client.Close()
	return nil, err
}

// steppedLink is a stepper as a link without faults of its own.
type steppedLink struct{ *stepper.Stepper }

// Arm implements [live.Link].
func (steppedLink) Arm([]live.Fault, func(live.Fault)) {}

// Heal implements [live.Link].
func (w steppedLink) Heal() { w.Open() }

// Tries names the try that succeeded, unless it was the first.
func Tries(f *confirm.Confirmation) string {
	if f.Tries < 2 {
		return ""
	}
	return fmt.Sprintf(" at try %d", f.Tries)
}
