package ensemble

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/quorum"
)

// Followers connect to their leader's quorum port. In front of each member's port is a pipe for each other member:
// server.2's zoo.cfg has the port of its own pipe for server.1. So what a leader sends can be held for one follower
// alone.
//
// The election port has no pipe: a server that is dialled there dials back the address that the other announces
// (ZooKeeper 3.5 and later, QuorumCnxManager), and would go around it.

// addPipes puts the pipes in front of the member's quorum port, for all others.
func (m *Member) addPipes(nodes int) (err error) {
	m.pipes = make([]*quorum.Pipe, nodes)
	for i := range m.pipes {
		if i == m.index {
			continue
		}
		if m.pipes[i], err = quorum.NewPipe(addressOf(0), m.dialPeer, m.ensemble.holds[i]); err != nil {
			return fmt.Errorf("ensemble: the pipe for %v cannot be started: %w", m, err)
		}
	}
	return nil
}

// followerPatience is how long a follower tries to reach a leader that does not listen yet, because the follower
// often learns of its election first. A pipe always listens, so it has to try in its place.
const followerPatience = 500 * time.Millisecond

// dialPeer connects to the member's quorum port.
func (m *Member) dialPeer(ctx context.Context) (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, followerPatience)
	defer cancel()
	err = poll(ctx, func() error {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp4", addressOf(m.ports.peer))
		return err
	})
	return conn, err
}

// seenBy is this member's address in another's zoo.cfg: its host, the port of the pipe to its quorum port, and its
// election port. It sees its own quorum port.
func (m *Member) seenBy(other int) string {
	peer := m.ports.peer
	if m.index != other {
		peer = m.pipes[other].Addr().(*net.TCPAddr).Port
	}
	return fmt.Sprintf("%s:%d:%d", loopback, peer, m.ports.election)
}

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
	if e.holds[member].Holds() {
		e.options.Log("free %v", e.members[member])
		e.holds[member].Free()
	}
}

// holdable says why a member cannot be held.
func (e *Ensemble) holdable(ctx context.Context, member int) error {
	if member < 0 || member >= len(e.members) {
		return fmt.Errorf("ensemble: there is no member %d: they are 0 to %d", member, len(e.members)-1)
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
