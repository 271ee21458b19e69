package ensemble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/zkclient"
)

// HealAll undoes every fault: links are whole, nobody lags, who hangs goes on, who does not run is started. It returns when the
// ensemble is well, and has been for SyncLimit ticks, after which nobody loses patience any more for what was before: every
// member serves, one leads, and the others have caught up with it (have all that it had when it was asked, so that clients who
// go on writing do not matter). It gives up when ctx ends or after [Options.StartTimeout]; the error names the member that did
// not come back and has the end of its log.
func (e *Ensemble) HealAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.options.StartTimeout)
	defer cancel()
	e.heals.Add(1)
	e.Heal()
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
	m.ensemble.setLag(m.index, 0)
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
		return fmt.Errorf("ensemble: not all is healed: %w; %s", err, sick.member.life().tail())
	}
	return err
}

// Alone returns how long a member that does not reach its leader any more may go on answering clients: until it
// has lost patience, and a moment more.
func (e *Ensemble) Alone() time.Duration { return e.patience() + 2*e.options.Tick }

// patience is how long servers bear each other's silence.
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
//
// A leader that has made no transaction yet is at the first zxid of its epoch, where no follower ever is. So that the zxids
// tell who is with it, a session is opened and closed then, which takes two transactions.
func (e *Ensemble) well(ctx context.Context) (int64, error) {
	leader, status, err := e.onlyLeader(ctx)
	if err == nil && counter(status.Zxid) == 0 && len(e.members) > 1 {
		if err := e.transact(ctx, leader); err != nil {
			return 0, err
		}
		leader, status, err = e.onlyLeader(ctx)
	}
	if err != nil {
		return 0, err
	}
	for _, m := range e.members {
		follower, err := askStatus(ctx, m.address)
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

// transact has a member make transactions.
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

// transactMax bounds one attempt.
const transactMax = 2 * time.Second

// onlyLeader returns the member that leads, and its status.
func (e *Ensemble) onlyLeader(ctx context.Context) (leader *Member, found Status, err error) {
	for _, m := range e.members {
		status, err := askStatus(ctx, m.address)
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
