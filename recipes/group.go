package recipes

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// groupPrefix begins the names of the znodes of a group's members.
const groupPrefix = "member-"

// Group is a group of processes, as one of them sees it, and its membership. After ZooKeeper's recipe "Group
// Membership" (ZooKeeper Recipes and Solutions), with the changes below.
//
// # Znodes
//
// A member is an ephemeral sequential znode dir/member-<name>-<guid>-<sequence>, with a fresh guid for each time it
// joins and the data of [WithData]. The name is written as in the path of a URL, and a hyphen in it as %2D. The names
// say all about membership, so that one list, which ZooKeeper answers from one state, is a snapshot. Other children
// of dir are ignored.
//
// # Promises
//
// Members returns a state of the group that existed at a moment during the call: it has all members that had joined
// before the call and stayed, and none that had left, or whose session had ended at the servers, before it. Two
// snapshots are never of contradictory orders of events. Changed returns when the group differs from what the caller
// knows, whatever became of watches. A member is in the group until it leaves or its session ends; a process that
// dies is out when its session expires. One that gives up joining leaves nothing behind.
//
// A snapshot is history when it arrives: a member may have left meanwhile, and one whose session has ended may not
// know that yet; [Group.Lost] tells as soon as the client learns of it. Groups are for finding others and sharing out
// work, not for deciding who may write.
//
// # Cost
//
// Join is three requests (create, list, read with watch) and Leave one. Members is two (sync, which is a transaction
// unless [WithSync] is given, and list). Changed is two, and one more for the watch if it has to wait, and two after it
// was woken. Each change of the group wakes all that wait in Changed: n members that all watch make n requests of n
// names each. A member keeps one watch; a Changed that gives up leaves its watch on dir in the client, and the next one
// through the same Group uses it.
//
// # Errors
//
// The context's error when it ended: after Join, the member is not in, or will be out as soon as ZooKeeper can be
// reached. [ErrHeld]: this Group has joined or is joining already. Leave returns [ErrLost] when the membership had
// ended before, and [ErrNotHeld] without one.
//
// # Wrong versions that tempt
//
//   - A znode with the bare name: after a lost reply, or a restart before the old session has expired, "node exists"
//     is taken for success, and the membership ends with the old session.
//   - One read for each member's data: the members found never were together in the group.
//   - Waiting for the event of a watch that was set after the list was read.
//   - List without sync: a server that lags shows members that have left, and does not show the caller itself.
//   - Never looking at one's own znode: after an expiry the client has a new session, and goes on as a member that
//     nobody sees.
//
// A Group's membership belongs to one user at a time; Members and Changed may be used from several goroutines.
type Group struct {
	seat  *Lock // held while a member
	store store
	rule  rule
}

// NewGroup returns the group of the directory dir, as the process sees it that will be called name in it. Several
// members may have the same name. A process that only watches the group need not join. It takes the options of a
// lock: [WithListener]'s Acquired is called after joining and Released when the membership has ended.
func NewGroup(conn Conn, dir, name string, opts ...LockOption) *Group {
	seat := newLock(conn, "membership in", dir, opts)
	return &Group{
		seat: seat, store: store{retryConn: seat.retryConn, dir: dir},
		rule: rule{prefix: groupPrefix + escapeName(name) + "-", before: nobody},
	}
}

// nobody is the rule's before of members: none waits for another.
func nobody([]member, int) []member { return nil }

// Join makes the process a member. It returns nil if it is one; a context that ends in the same moment may give
// either result.
func (g *Group) Join(ctx context.Context) error {
	_, err := g.seat.queue(ctx, g.rule, shared, false)
	return err
}

// Leave ends the membership and returns when its znode is gone; a lost reply is no obstacle.
//
// If ctx ends first, that goes on in the background until it is done, the session ends or the connection is closed;
// the error says so and is the context's. Calling Leave again waits for it, and so does the next Join.
func (g *Group) Leave(ctx context.Context) error { return g.seat.unlock(ctx, shared) }

// Settle waits for what goes on in the background: the withdrawal of a Join that has failed or whose context has ended,
// and a Leave whose context has ended. See [Lock.Settle] for what it returns.
func (g *Group) Settle(ctx context.Context) error { return g.seat.Settle(ctx) }

// Lost returns a channel that is closed when the membership is known to be lost: the session has expired, the
// connection was closed, or the znode was deleted. Leave does not close it. It belongs to one membership; without
// one, the channel returned is closed already.
func (g *Group) Lost() <-chan struct{} { return g.seat.Lost() }

// Joined reports whether the process is a member as far as this client knows.
func (g *Group) Joined() bool { return g.seat.Held() }

// Members returns the names of the members, sorted; a missing dir is a group without any.
func (g *Group) Members(ctx context.Context) ([]string, error) {
	return g.read(ctx, func(*operation) ([]string, error) { return g.snapshot(ctx) })
}

// Changed waits until the members are not those known, which is what Members or Changed has returned before, or nil
// for none, and returns them. Changes that were undone before anybody looked go unnoticed.
func (g *Group) Changed(ctx context.Context, known []string) ([]string, error) {
	known = slices.Sorted(slices.Values(known))
	differs := func(names []string) bool { return !slices.Equal(memberNames(names), known) }
	return g.read(ctx, func(*operation) ([]string, error) {
		for {
			members, err := g.snapshot(ctx)
			if err != nil || !slices.Equal(members, known) {
				return members, err
			}
			if err := g.store.await(ctx, differs); err != nil {
				return nil, err
			}
		}
	})
}

// read runs an operation that a caller may leave.
func (g *Group) read(ctx context.Context, body func(*operation) ([]string, error)) ([]string, error) {
	members, err := carryOut(ctx, body)
	return members, explain(err, "the members of %s cannot be read", g.store.dir)
}

func (g *Group) snapshot(ctx context.Context) ([]string, error) {
	names, err := g.store.syncedChildren(ctx, g.store.dir)
	return memberNames(names), err
}

// memberNames returns the names of the members among the children of a group's directory, sorted.
func memberNames(children []string) []string {
	var names []string
	seen := make(map[string]bool) // by guid: one join is one member, see waitQueue.prune
	for _, child := range children {
		escaped, _, _ := strings.Cut(strings.TrimPrefix(child, groupPrefix), "-")
		m, ok := parseMember(groupPrefix+escaped+"-", child)
		name, err := url.PathUnescape(escaped)
		if !ok || err != nil || seen[m.guid] {
			continue
		}
		seen[m.guid] = true
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// escapeName writes a name without slashes and hyphens.
func escapeName(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), "-", "%2D")
}
