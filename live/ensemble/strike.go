package ensemble

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/proc"
)

// Strike makes a fault happen and returns which member it struck. If the target is a leader or follower it waits
// until there is one or ctx ends. It is an error if the fault cannot strike the target, because it does not run, say,
// or lags already.
func (e *Ensemble) Strike(ctx context.Context, f Fault) (*Struck, error) {
	if err := f.Validate(len(e.members)); err != nil {
		return nil, err
	}
	m, role, err := e.resolve(ctx, f.Target)
	if err != nil {
		return nil, fmt.Errorf("ensemble: %v did not strike: %w", f, err)
	}
	heals := e.heals.Load()
	undo, err := e.inflict(ctx, f, m, role)
	if err != nil {
		return nil, fmt.Errorf("ensemble: %v did not strike %v: %w", f, m, err)
	}
	return &Struck{Fault: f, Member: m.index, Role: role, Undo: sync.OnceValue(func() error {
		if e.heals.Load() != heals {
			return nil // HealAll was first; what is wrong now is another fault
		}
		return undo()
	})}, nil
}

// resolve returns the member that is a target now, and its role.
func (e *Ensemble) resolve(ctx context.Context, t Target) (m *Member, role string, err error) {
	if t >= 0 {
		status, _ := e.members[t].Status(ctx) // without an answer the role is empty
		return e.members[t], status.Mode, nil
	}
	err = poll(ctx, func() error {
		m, role, err = e.find(ctx, t)
		return err
	})
	return m, role, err
}

var errAlone = errors.New("there are no other members")

// find returns the leader, or the first follower.
func (e *Ensemble) find(ctx context.Context, t Target) (*Member, string, error) {
	leader, err := e.Leader(ctx)
	if err != nil {
		return nil, "", err
	}
	for _, m := range e.members {
		status, err := m.Status(ctx)
		if err == nil && (m.index == leader) == (t == Leader) {
			return m, status.Mode, nil
		}
	}
	return nil, "", fmt.Errorf("there is no %v at the moment", t)
}

// inflict does what a fault does, and returns what undoes it.
func (e *Ensemble) inflict(ctx context.Context, f Fault, m *Member, role string) (undo func() error, err error) {
	switch f.Kind {
	case strike.Kill:
		return m.strikeKill()
	case strike.Stop:
		return m.strikeStop()
	case strike.Lag:
		return e.strikeLag(ctx, m, role)
	}
	return nil, fmt.Errorf("there is no kind %q", f.Kind)
}

var errNotRunning = errors.New("it does not run")

func (m *Member) strikeKill() (undo func() error, err error) {
	life := m.life()
	if _, runs := m.Pid(); !runs {
		return nil, errNotRunning
	}
	return func() error { return m.restartAfter(life) }, m.Kill()
}

// restartAfter starts the server if that process was its last.
func (m *Member) restartAfter(life *process) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process != life || m.running() {
		return nil
	}
	return m.launch()
}

func (m *Member) strikeStop() (undo func() error, err error) {
	if m.Paused() {
		return nil, errors.New("it has been stopped already")
	}
	return m.resumeIfPaused, m.Pause()
}

// resumeIfPaused does nothing if the server is not paused: it may have been killed meanwhile, say.
func (m *Member) resumeIfPaused() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running() || m.awake.Err() == nil {
		return nil
	}
	return m.setPaused("resume", proc.Continue, false)
}

// strikeLag holds a follower at the present transaction.
func (e *Ensemble) strikeLag(ctx context.Context, m *Member, role string) (undo func() error, err error) {
	switch {
	case role == "":
		return nil, errors.New("it does not serve, so it cannot lag")
	case role != "follower":
		return nil, errors.New("it is the leader, and only followers can lag")
	case e.holds[m.index].Holds():
		return nil, errors.New("it lags already")
	}
	zxid, err := e.Committed(ctx)
	if err != nil {
		return nil, err
	}
	undo = func() error {
		e.Free(m.index)
		return nil
	}
	if err := e.Hold(ctx, m.index, zxid); err != nil {
		return nil, errors.Join(err, undo())
	}
	return undo, nil
}
