package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/workload"
)

// onServed runs on servers such as torture serve has, in this process.
func (r *LiveCmd) onServed(c *console.Context, w *workload.Workload, out *output.Folder) error {
	s, err := startServed(r.nodes)
	if err != nil {
		return err
	}
	r.Root, r.servers = "/zktorture", s
	err = r.onServers(c, w, out, reach.Access{}, s.ConnectString(), "")
	return cmp.Or(err, s.Close())
}

// servedTick is the tickTime of real servers, the default of [ensemble.Options].
const servedTick = 100 * time.Millisecond

// servedServers are servers in memory that suffer the faults of real ones.
type servedServers struct {
	*server.Server

	mu   sync.Mutex
	hurt map[int]func() // by member: undoes its fault
}

var _ live.Servers = (*servedServers)(nil)

func startServed(nodes int) (*servedServers, error) {
	s, err := server.New(server.Config{Ensemble: fakezk.Config{Replicas: nodes, Tick: servedTick.Milliseconds()}})
	if err != nil {
		return nil, err
	}
	for i := range nodes {
		if err := s.Listen(i, "127.0.0.1:0"); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return &servedServers{Server: s, hurt: map[int]func(){}}, nil
}

// Strike implements [live.Servers]. A member suffers one fault at a time.
func (s *servedServers) Strike(_ context.Context, f ensemble.Fault) (*ensemble.Struck, error) {
	if err := f.Validate(s.Members()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	leader := s.leader()
	member := s.resolve(f.Target, leader)
	if s.hurt[member] != nil {
		return nil, fmt.Errorf("%v did not strike: %v already has a fault", f, ensemble.Target(member))
	}
	undo, err := s.inflict(f, member)
	if err != nil {
		return nil, fmt.Errorf("%v did not strike: %w", f, err)
	}
	undo = sync.OnceFunc(undo)
	s.hurt[member] = undo
	return &ensemble.Struck{Fault: f, Member: member, Role: s.role(member, leader),
		Undo: func() error { undo(); return nil }}, nil
}

// resolve returns the member that is a target now. A follower is one that is well, if any is.
func (s *servedServers) resolve(t ensemble.Target, leader int) int {
	if t == ensemble.Leader {
		return leader
	}
	if t >= 0 {
		return int(t)
	}
	follower := -1
	for i := range s.Members() {
		if i != leader && (follower < 0 || s.hurt[follower] != nil && s.hurt[i] == nil) {
			follower = i
		}
	}
	return follower
}

func (s *servedServers) leader() (member int) {
	s.Inspect(func(e *fakezk.Ensemble) { member = e.Leader() })
	return member
}

func (s *servedServers) role(member, leader int) string {
	switch {
	case s.Members() == 1:
		return "standalone"
	case member == leader:
		return "leader"
	}
	return "follower"
}

// inflict does what a fault does, and returns what undoes it.
func (s *servedServers) inflict(f ensemble.Fault, member int) (undo func(), err error) {
	switch {
	case f.Kind == strike.Lag:
		return func() { s.Lag(member, false) }, s.Lag(member, true)
	case slices.Contains(strike.Faults(strike.OnServe), f.Kind):
		s.Hurt(f.Kind, member, true)
		return func() { s.Hurt(f.Kind, member, false) }, nil
	}
	return nil, errors.New("the servers of --serve have no links that could be cut")
}

// HealAll implements [live.Servers].
func (s *servedServers) HealAll(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for member, undo := range s.hurt {
		undo()
		delete(s.hurt, member)
	}
	return nil
}
