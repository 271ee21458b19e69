package ensemble

import (
	"context"
	"errors"
	"fmt"
)

// Committed returns the zxid of the leader's last transaction. If it has made none a session is opened and closed. It
// is an error if there is no leader.
func (e *Ensemble) Committed(ctx context.Context) (int64, error) {
	_, status, err := e.transacting(ctx, func(ctx context.Context) (*Member, Status, error) {
		leader, err := e.Leader(ctx)
		if err != nil {
			return nil, Status{}, err
		}
		status, err := e.members[leader].Status(ctx)
		return e.members[leader], status, err
	})
	return status.Zxid, err
}

// ErrSnapshot is the error of holding a member to which its leader has sent a snapshot, because it came late or had been
// away for long: what follows that cannot be read. A member that is killed and restarted is mostly sent transactions.
var ErrSnapshot = errors.New("it began with a snapshot of its leader's")

// Hold has a member apply no transaction after a zxid until it is held at a later one or freed ([Ensemble.Free],
// [Ensemble.HealAll]). It goes on following and acknowledging, and its clients read the state at that zxid. Their
// writes, syncs and new sessions through it wait. Hold returns when the member has applied all up to the zxid, which
// may be [Ensemble.Committed]; what it has applied already stays. It follows for 4096 transactions
// after the zxid: with more it takes nothing from its leader, which gives it up after SyncLimit ticks.
//
// It is an error if there is no leader or if the member leads, and [ErrSnapshot] if it was sent a snapshot when it began
// to follow.
func (e *Ensemble) Hold(ctx context.Context, member int, zxid int64) error {
	if err := e.holdable(ctx, member); err != nil {
		return err
	}
	e.options.Log("hold %v at %#x", e.members[member], zxid)
	e.holds[member].Hold(zxid)
	return poll(ctx, func() error {
		status, err := e.members[member].Status(ctx)
		if err == nil && status.Zxid < zxid {
			err = fmt.Errorf("ensemble: %v is at zxid %#x, and not at %#x", e.members[member], status.Zxid, zxid)
		}
		return err
	})
}

// Free lets a member apply everything again, and does not wait for that.
func (e *Ensemble) Free(member int) {
	if e.has(member) && e.holds[member].Holds() {
		e.options.Log("free %v", e.members[member])
		e.holds[member].Free()
	}
}

// holdable says why a member cannot be held.
func (e *Ensemble) holdable(ctx context.Context, member int) error {
	if !e.has(member) {
		return e.noMember(member, "to hold")
	}
	leader, err := e.Leader(ctx)
	switch {
	case err != nil:
		return err
	case leader == member:
		return fmt.Errorf("ensemble: %v cannot be held: it leads", e.members[member])
	case e.holds[member].Blind():
		return fmt.Errorf("ensemble: %v cannot be held: %w; restart it", e.members[member], ErrSnapshot)
	}
	return nil
}
