package ensemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/live/zkclient"
)

// HealAll undoes every fault: holds end, paused servers go on, and dead ones are started. It returns
// when the ensemble has been well for SyncLimit ticks, after which no timeout of before can strike any more: every
// member serves, one leads, and the others have all that it had when it was asked, so that clients may go on writing.
// It gives up when ctx ends or after [Options.StartTimeout]; the error names the member that did not come back and
// has the end of its log.
func (e *Ensemble) HealAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.StartTimeout)
	defer cancel()
	e.heals.Add(1)
	var failures []error
	for _, m := range e.members {
		failures = append(failures, m.heal())
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if err := e.WaitServing(ctx); err != nil {
		return err
	}
	return e.waitWell(ctx)
}

// heal ends the faults of one member.
func (m *Member) heal() error {
	m.ensemble.Free(m.index)
	if err := m.resumeIfPaused(); err != nil {
		return err
	}
	return m.restartAfter(m.life())
}

// waitWell waits until the ensemble is well and stays so with one leader.
func (e *Ensemble) waitWell(ctx context.Context) error {
	err := poll(ctx, func() error {
		before, err := e.well(ctx)
		if err != nil || len(e.members) == 1 {
			return err
		}
		if err := wait(ctx, e.patience()); err != nil {
			return err
		}
		after, err := e.well(ctx)
		if err == nil && after != before {
			err = fmt.Errorf("ensemble: epoch %d has followed epoch %d", after, before)
		}
		return err
	})
	var sick *unwell
	if errors.As(err, &sick) {
		return fmt.Errorf("ensemble: the ensemble has not recovered: %w; %s", err, sick.member.life().tail())
	}
	return err
}

// Alone returns how long a member that has lost its leader may go on answering clients: its patience and two ticks.
func (e *Ensemble) Alone() time.Duration { return e.patience() + 2*e.options.Tick }

// patience is SyncLimit as a time: how long servers bear each other's silence.
func (e *Ensemble) patience() time.Duration {
	return time.Duration(e.options.SyncLimit) * e.options.Tick
}

// unwell says what is wrong with a member.
type unwell struct {
	member *Member
	reason error
}

func (u *unwell) Error() string { return fmt.Sprintf("%v %v", u.member, u.reason) }

func (u *unwell) Unwrap() error { return u.reason }

// well returns the epoch if one member leads and all others have what it had, else an error.
func (e *Ensemble) well(ctx context.Context) (int64, error) {
	leader, status, err := e.transacting(ctx, e.onlyLeader)
	if err != nil {
		return 0, err
	}
	for _, m := range e.members {
		follower, err := m.status(ctx)
		switch {
		case err != nil:
			return 0, &unwell{m, err}
		case m != leader && follower.Mode != "follower":
			return 0, &unwell{m, fmt.Errorf("is %s beside %v", follower.Mode, leader)}
		case follower.Zxid < status.Zxid:
			return 0, &unwell{m, fmt.Errorf("is at zxid %#x, behind %v at %#x", follower.Zxid, leader, status.Zxid)}
		}
	}
	return epoch(status.Zxid), nil
}

// transacting finds a leader that has made a transaction. One that has made none is at the first zxid of its epoch,
// where no follower ever is. A session is opened and closed then, which takes two transactions, so that zxids can be
// compared.
func (e *Ensemble) transacting(
	ctx context.Context, find func(context.Context) (*Member, Status, error),
) (*Member, Status, error) {
	leader, status, err := find(ctx)
	if err != nil || int32(status.Zxid) > 0 { // its number in the epoch
		return leader, status, err
	}
	if err := e.transact(ctx, leader); err != nil {
		return nil, Status{}, err
	}
	return find(ctx)
}

// transact opens and closes a session at a member.
func (e *Ensemble) transact(ctx context.Context, m *Member) error {
	ctx, cancel := context.WithTimeout(ctx, transactMax)
	defer cancel()
	client, err := zkclient.Connect(m.address, transactMax)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.WaitSession(ctx); err != nil {
		return &unwell{m, err}
	}
	return nil
}

// transactMax bounds one attempt, also on a busy machine.
const transactMax = 20 * time.Second

// onlyLeader returns the member that leads, and its status.
func (e *Ensemble) onlyLeader(ctx context.Context) (leader *Member, found Status, err error) {
	for _, m := range e.members {
		status, err := m.status(ctx)
		switch {
		case err != nil:
			return nil, Status{}, &unwell{m, err}
		case status.Mode == "follower":
		case leader != nil:
			return nil, Status{}, &unwell{m, fmt.Errorf("leads, as %v does", leader)}
		default:
			leader, found = m, status
		}
	}
	if leader == nil {
		return nil, Status{}, errors.New("ensemble: no member leads")
	}
	return leader, found, nil
}
