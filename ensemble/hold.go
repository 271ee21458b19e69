package ensemble

import (
	"context"
	"fmt"
)

// Committed returns the zxid of the last transaction that the leader has made. It is an error if nobody leads. To a leader
// that has made none yet a session is opened, and closed: before that it is at the first zxid of its epoch, where no
// follower ever is.
func (e *Ensemble) Committed(ctx context.Context) (int64, error) {
	leader, err := e.Leader(ctx)
	if err != nil {
		return 0, err
	}
	status, err := e.members[leader].Status(ctx)
	if err != nil || counter(status.Zxid) > 0 {
		return status.Zxid, err
	}
	if err := e.transact(ctx, e.members[leader]); err != nil {
		return 0, err
	}
	status, err = e.members[leader].Status(ctx)
	return status.Zxid, err
}

// Hold has a member apply no transaction after a zxid, until it is held at a later one or freed ([Ensemble.Free],
// [Ensemble.HealAll]): it goes on following and acknowledging, and its clients read what was true then. What they write
// through it, or sync, is not answered before it has applied that, nor is a session opened. It returns when the member has
// applied all up to the zxid, which may be [Ensemble.Committed]; what it has applied already stays.
//
// It is an error if nobody leads, if the member leads itself, or if it has been sent a snapshot when it began to follow, which
// happens if it was away for long: a leader's words after that cannot be read. It can be freed and held again.
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

// Free lets a member apply everything again. It does not wait until it has.
func (e *Ensemble) Free(member int) {
	if e.has(member) && e.holds[member].Holds() {
		e.options.Log("free %v", e.members[member])
		e.holds[member].Free()
	}
}

// holdable says why a member cannot be held.
func (e *Ensemble) holdable(ctx context.Context, member int) error {
	if !e.has(member) {
		return fmt.Errorf("ensemble: there is no member %d to hold: they are 0 to %d", member, len(e.members)-1)
	}
	leader, err := e.Leader(ctx)
	switch {
	case err != nil:
		return err
	case leader == member:
		return fmt.Errorf("ensemble: %v cannot be held: it leads", e.members[member])
	case e.holds[member].Blind():
		return fmt.Errorf("ensemble: %v cannot be held: it began with a snapshot of its leader's; restart it", e.members[member])
	}
	return nil
}
