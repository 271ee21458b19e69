package ensemble

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/quorum"
	"github.com/zktorture/zktorture/live/ensemble/relay"
)

// Followers connect to their leader's quorum port. In front of each member's port is a relay for each other member:
// server.2's zoo.cfg has the port of its own relay for server.1. So what a leader sends can be late for one follower
// alone.
//
// The election port has no relay: a server that is dialled there dials back the address that the other announces
// (ZooKeeper 3.5 and later, QuorumCnxManager), and would go around it.

// addLinks puts the relays in front of the member's quorum port, for all others.
func (m *Member) addLinks(nodes int) error {
	m.links = make([]*relay.Relay, nodes)
	for i := range m.links {
		if i == m.index {
			continue
		}
		listener, err := net.Listen("tcp4", addressOf(0))
		if err != nil {
			return fmt.Errorf("ensemble: the relay for %v cannot be started: %w", m, err)
		}
		m.links[i] = relay.New(listener, m.dialBehind(m.ensemble.holds[i]))
	}
	return nil
}

// followerPatience is how long a follower tries to reach a leader that does not listen yet, because the follower
// often learns of its election first. A relay always listens, so it has to try in its place.
const followerPatience = 500 * time.Millisecond

// dialMax bounds how long a server may take to accept a connection.
const dialMax = time.Second

// dialPeer connects to the member's quorum port.
func (m *Member) dialPeer() (conn net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), followerPatience)
	defer cancel()
	err = poll(ctx, func() error {
		conn, err = net.DialTimeout("tcp4", addressOf(m.ports.peer), dialMax)
		return err
	})
	return conn, err
}

// dialBehind returns a function that connects another member to the quorum port, behind its hold.
func (m *Member) dialBehind(hold *quorum.Hold) func() (net.Conn, error) {
	return func() (net.Conn, error) {
		conn, err := m.dialPeer()
		if err != nil {
			return nil, err
		}
		return hold.Conn(conn.(*net.TCPConn)), nil
	}
}

// seenBy is this member's address in another's zoo.cfg: its host, the port of the relay to its quorum port, and its
// election port. It sees its own quorum port.
func (m *Member) seenBy(other int) string {
	peer := m.ports.peer
	if m.index != other {
		peer = portOf(m.links[other].Addr())
	}
	return fmt.Sprintf("%s:%d:%d", loopback, peer, m.ports.election)
}

// Lag delays what a member hears from its leader, whichever that is, so that its clients read stale values. With 0 it
// catches up. A leader does not lag.
//
// It is an error if the member is the only one, or if the delay is not less than SyncLimit ticks, after which it
// would be dropped.
func (e *Ensemble) Lag(member int, delay time.Duration) error {
	switch {
	case !e.has(member):
		return e.noMember(member, "to lag")
	case len(e.members) == 1:
		return fmt.Errorf("ensemble: %v cannot lag: it is the only member", e.members[0])
	case delay < 0 || delay >= e.patience():
		return fmt.Errorf("ensemble: %v cannot lag by %v: it must be less than %v, SyncLimit ticks, "+
			"after which a member is dropped", e.members[member], delay, e.patience())
	}
	e.setLag(member, delay)
	return nil
}

func (e *Ensemble) setLag(member int, delay time.Duration) {
	if !e.members[member].noteLag(delay) {
		return
	}
	e.options.Log("%v lags by %v", e.members[member], delay)
	for _, m := range e.members {
		if m.index != member {
			m.links[member].Delay(delay)
		}
	}
}

// noteLag is false if the member lags by that much already.
func (m *Member) noteLag(delay time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := m.lag != delay
	m.lag = delay
	return changed
}

func (m *Member) lagging() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lag
}

func (e *Ensemble) has(member int) bool { return member >= 0 && member < len(e.members) }

func (e *Ensemble) noMember(member int, to string) error {
	return fmt.Errorf("ensemble: there is no member %d %s: they are 0 to %d", member, to, len(e.members)-1)
}
