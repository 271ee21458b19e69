package workload_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// own is the project's group.
type own = recipes.Group

func newGroup(c recipes.Conn, name string) *own { return recipes.NewGroup(c, "/t/membership", name) }

// names lists the members that a server knows.
func names(c recipes.Conn) ([]string, <-chan zk.Event, error) {
	children, _, watch, err := c.ChildrenW("/t/membership")
	if err == zk.ErrNoNode {
		err = nil
	}
	var names []string
	for _, child := range children {
		names = append(names, strings.Split(child, "-")[1])
	}
	return names, watch, err
}

// unsynced lists the members that its server knows.
type unsynced struct {
	*own
	conn recipes.Conn
}

func (u unsynced) Members(context.Context) ([]string, error) {
	members, _, err := names(u.conn)
	return members, err
}

func TestStaleMembers(t *testing.T) {
	w := workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return unsynced{newGroup(c, name), c}
	})
	wantClean(t, w, world.NoFaults)
	wantBroken(t, w, world.Lag, "snapshot", "at no moment in that time were these the members")
}

// nostalgic remembers every member that it has ever seen.
type nostalgic struct {
	*own
	seen *[]string
}

func (n nostalgic) Members(ctx context.Context) ([]string, error) {
	members, err := n.own.Members(ctx)
	*n.seen = append(*n.seen, members...)
	slices.Sort(*n.seen)
	*n.seen = slices.Compact(*n.seen)
	return *n.seen, err
}

func TestMembersOfOldTimes(t *testing.T) {
	w := workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return nostalgic{newGroup(c, name), new([]string)}
	})
	wantBroken(t, w, world.NoFaults, "ghost", "was out of the group all that time")
}

// torn puts a list together from two.
type torn struct{ unsynced }

func (t torn) Members(ctx context.Context) ([]string, error) {
	first, err := t.own.Members(ctx)
	if err != nil {
		return nil, err
	}
	second, err := t.own.Members(ctx)
	all := append(first, second...)
	slices.Sort(all)
	return slices.Compact(all), err
}

func TestTornSnapshot(t *testing.T) {
	w := workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return torn{unsynced{newGroup(c, name), c}}
	})
	wantBroken(t, w, world.NoFaults, "snapshot", "at no moment in that time were these the members")
}

// careless takes a lost reply for a success when it leaves.
type careless struct {
	*own
	conn recipes.Conn
	path string
}

func (c *careless) Join(ctx context.Context) (err error) {
	c.conn.Create("/t/membership", nil, 0, openACL)
	c.path, err = c.conn.Create("/t/membership/member-x-", nil, zk.FlagEphemeralSequential, openACL)
	return err
}

func (c *careless) Leave(context.Context) error {
	c.conn.Delete(c.path, -1)
	return nil
}

// Lost tells nothing; the member that it embeds has never joined.
func (c *careless) Lost() <-chan struct{} { return nil }

func (c *careless) Members(context.Context) ([]string, error) { return nil, nil }

func TestMemberThatDoesNotLeave(t *testing.T) {
	w := workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return &careless{newGroup(c, name), c, ""}
	})
	wantBroken(t, w, world.Loss, "orphan", "join")
	wantBroken(t, w, world.NoFaults, "missing", "and had not left")
}

// late sets its watch after it has looked.
type late struct{ unsynced }

func (l late) Changed(ctx context.Context, known []string) ([]string, error) {
	for {
		members, err := l.own.Members(ctx)
		if err != nil || !slices.Equal(members, known) {
			return members, err
		}
		_, watch, err := names(l.conn)
		if err != nil {
			return nil, err
		}
		select {
		case <-watch:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func TestWatchAfterLook(t *testing.T) {
	w := workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return late{unsynced{newGroup(c, name), c}}
	})
	wantBroken(t, w, world.NoFaults, "lost-wakeup", "is not woken, although the members are [")
}

// eager does not wait for a change.
type eager struct{ *own }

func (e eager) Changed(ctx context.Context, _ []string) ([]string, error) { return e.Members(ctx) }

// deafMember learns of no change.
type deafMember struct{ *own }

func (deafMember) Lost() <-chan struct{} { return nil }

func TestMembershipWaitsAndBeliefs(t *testing.T) {
	wantBroken(t, workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return eager{newGroup(c, name)}
	}),
		world.NoFaults, "unchanged", "which is what it knew already")
	wantBroken(t, workload.Membership(func(c recipes.Conn, _, name string) workload.Grouper {
		return deafMember{newGroup(c, name)}
	}),
		world.Expiry, "belief", "whose join returned at step")
}
