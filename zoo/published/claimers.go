package published

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// claimer is a member of a group that claims things by their names, each by an ephemeral znode that bears the name. It
// claims and gives up nothing in a later session than that of its own znode, which is looked at in the same transaction.
type claimer struct {
	contender        // its place among the members
	claims    string // the directory of the claims
	since     int64  // the session in which it came
}

func newClaimer(client recipes.Conn, dir string) claimer {
	return claimer{contender: newContender(client, dir+"/ids", "member-", "-"), claims: dir + "/owners"}
}

// join makes a member of who is none, or none any more, and the directory of the claims.
func (c *claimer) join(ctx context.Context) error {
	c.since = c.client.SessionID()
	if c.path != "" {
		there, err := c.keeps(ctx)
		if there || err != nil {
			return err
		}
	}
	return cmp.Or(c.enlist(ctx), surePath(ctx, c.client, c.claims))
}

// IsOwner reports whether the session is still that in which it came.
func (c *claimer) IsOwner() bool { return c.client.SessionID() == c.since }

// claim claims what has a name, and is false if another has. A member that has lost its place gets recipes.ErrLost.
func (c *claimer) claim(ctx context.Context, name string) (bool, error) {
	path := c.claims + "/" + name
	for lost := false; ; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		_, err := c.client.Multi(&zk.CheckVersionRequest{Path: c.path, Version: -1},
			&zk.CreateRequest{Path: path, Data: []byte(c.guid), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			if !lost {
				return false, nil
			}
			return c.owns(ctx, path)
		case errors.Is(err, zk.ErrNoNode):
			there, err := c.keeps(ctx)
			if err == nil && !there {
				err = recipes.ErrLost
			}
			if err := cmp.Or(err, surePath(ctx, c.client, c.claims)); err != nil {
				return false, err
			}
			continue
		case !connectionLoss(err):
			return err == nil, err
		}
		lost = true
		if err := pause(ctx); err != nil {
			return false, err
		}
	}
}

// owns reports whether a claim is the own one. In one session the server catches up first.
func (c *claimer) owns(ctx context.Context, path string) (bool, error) {
	if err := catchUpByWrite(ctx, c.client, c.claims); err != nil {
		return false, err
	}
	var data []byte
	var stat *zk.Stat
	err := retry(ctx, func() (err error) { data, stat, err = c.client.Get(path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil && string(data) == c.guid && c.owned(stat), err
}

// disclaim gives up a claim, also one that may have been made, and also for a caller that has left.
func (c *claimer) disclaim(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	path := c.claims + "/" + name
	for {
		if own, err := c.owns(ctx, path); !own || err != nil {
			return err
		}
		_, err := c.client.Multi(
			&zk.CheckVersionRequest{Path: c.path, Version: -1}, &zk.DeleteRequest{Path: path, Version: -1})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case !connectionLoss(err):
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// Numbers leases worker ids. After the bean of goudai/spring-boot-starter-id-generator (N1), the server of
// twitter-archive/snowflake, 0468412 (N2), the SnowflakeZookeeperHolder of Meituan-Dianping/Leaf (N3, N4) and the
// ZookeeperWorkerRegister of imadcn/idworker (N5, N6).
//
// Fixed, all of them claim the first number that is free and wait if there is none. (The originals lease one for life.)
type Numbers struct {
	claimer
	n    int
	bugs Bugs
	name string // of the claim
}

// NewNumbers returns a lease of one of n numbers; nothing is sent before it is used.
func NewNumbers(client recipes.Conn, dir string, n int, bugs Bugs) *Numbers {
	return &Numbers{claimer: newClaimer(client, dir), n: n, bugs: bugs}
}

// Lease waits for a number.
func (l *Numbers) Lease(ctx context.Context) (int64, error) {
	if l.bugs.Has("N4") {
		return l.bySequence(ctx)
	}
	for {
		err := l.join(ctx)
		for number := 0; err == nil && number < l.n; number++ {
			l.name = strconv.Itoa(number)
			var got bool
			if got, err = l.attempt(ctx); got && err == nil {
				return int64(number), nil
			}
		}
		if err == nil {
			err = pause(ctx)
		}
		if err != nil && !errors.Is(err, recipes.ErrLost) {
			l.Free(ctx)
			return 0, err
		}
	}
}

// attempt claims a number, if nobody has.
func (l *Numbers) attempt(ctx context.Context) (bool, error) {
	path := l.claims + "/" + l.name
	create := func() error {
		_, err := l.client.Create(path, []byte(l.guid), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return err
	}
	switch {
	case l.bugs.Has("N1"):
		stat, err := statOf(ctx, l.client, path)
		if stat != nil || err != nil {
			return false, err
		}
		return true, create() // BUG: N1 another may make it in between
	case l.bugs.Has("N2"):
		return create() == nil, nil // BUG: N2 a lost reply is taken for a collision
	}
	return l.claim(ctx, l.name)
}

// bySequence leases the number of a znode of its own, which stays.
func (l *Numbers) bySequence(ctx context.Context) (int64, error) {
	l.since = l.client.SessionID()
	root, err := statOf(ctx, l.client, l.claims)
	if err != nil {
		return 0, err
	}
	path, err := createUnder(l.client, l.claims, "server-", zk.FlagSequence)
	number, _ := sequenceOf(path)
	if root == nil && l.bugs.Has("N3") {
		number = 0 // BUG: N3 others may be there by now
	}
	return number, err // BUG: N4 it grows with each server that ever was
}

// Free gives the number back.
func (l *Numbers) Free(ctx context.Context) error {
	switch {
	case l.bugs.Has("N4"):
		return nil
	case l.bugs.Has("N6"): // BUG: N6 the session may have ended, and the number is another's
		err := retry(ctx, func() error { return l.client.Delete(l.claims+"/"+l.name, -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		return l.withdraw()
	}
	return cmp.Or(l.disclaim(l.name), l.withdraw())
}

// IsOwner reports whether the number is still leased.
func (l *Numbers) IsOwner() bool {
	return l.bugs.Has("N5") || l.claimer.IsOwner() // BUG: N5 it was asked for once, at the start
}

// Consumers divide partitions among themselves. After the SetPartitioner of kazoo (K1), the consumer groups of
// wvanbergen/kafka and wvanbergen/kazoo-go (K2, K3), the BalancedConsumer of Parsely/pykafka (K4) and the
// HighLevelConsumer of SOHU-Co/kafka-node (K5).
type Consumers struct {
	claimer
	partitions []string // sorted
	bugs       Bugs
	events     <-chan zk.Event // of the connection

	members []string
	watch   <-chan zk.Event // of these, when they were listed
	own     []string
}

// NewConsumers returns a consumer to be; nothing is sent before it is used.
func NewConsumers(client recipes.Conn, dir string, partitions []string, bugs Bugs) *Consumers {
	slices.Sort(partitions)
	return &Consumers{
		claimer: newClaimer(client, dir), partitions: partitions, bugs: bugs, events: recipes.SessionEvents(client),
	}
}

// errRebalance: the members have changed.
var errRebalance = errors.New("rebalance")

// Share owns the consumer's share of the partitions.
func (c *Consumers) Share(ctx context.Context) ([]string, error) {
	for {
		err := c.rebalance(ctx)
		if err == nil && c.IsOwner() {
			if c.bugs.Has("K1") && len(c.watch) > 0 {
				c.watch = nil // BUG: K1 a change while it waited for its last partition is forgotten
			}
			return slices.Clone(c.own), nil
		}
		if c.bugs.Has("K5") {
			c.own = nil // BUG: K5 what was claimed before the try failed stays claimed
		}
		c.release(nil)
		if err != nil && err != errRebalance && !errors.Is(err, recipes.ErrLost) {
			c.Leave(ctx)
			return nil, err
		}
	}
}

// rebalance claims the share of one list of the members.
func (c *Consumers) rebalance(ctx context.Context) (err error) {
	if err := c.join(ctx); err != nil {
		return err
	}
	if c.members, c.watch, err = c.list(ctx); err != nil {
		return err
	}
	i := slices.Index(c.members, strings.TrimPrefix(c.path, c.dir+"/"))
	if i < 0 {
		return recipes.ErrLost
	}
	var share []string
	for ; i < len(c.partitions); i += len(c.members) {
		share = append(share, c.partitions[i])
	}
	c.release(share)
	for _, name := range share {
		if len(c.watch) > 0 {
			return errRebalance
		}
		if slices.Contains(c.own, name) {
			continue // BUG: K4 what it remembers may be of an earlier session
		}
		c.own = append(c.own, name) // or perhaps: it has to be given up, whatever becomes of the claim
		switch got, err := c.await(ctx, name); {
		case err != nil:
			return err
		case !got:
			c.own = c.own[:len(c.own)-1]
		}
	}
	return nil
}

// await claims a partition, and waits until its owner gives it up.
func (c *Consumers) await(ctx context.Context, name string) (bool, error) {
	for tries := 1; ; tries++ {
		claim := c.claim
		if c.bugs.Has("K3") {
			claim = c.claimPartition
		}
		if got, err := claim(ctx, name); got || err != nil {
			return got, err
		}
		if c.bugs.Has("K2") && tries == 3 {
			return false, nil // BUG: K2 its owner may take longer
		}
		if err := pause(ctx); err != nil {
			return false, err
		}
		if len(c.watch) > 0 && !c.bugs.Has("K1") {
			return false, errRebalance
		}
	}
}

// claimPartition claims a partition, if nobody has.
func (c *Consumers) claimPartition(ctx context.Context, name string) (bool, error) {
	path := c.claims + "/" + name
	_, err := c.client.Create(path, []byte(c.guid), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if !errors.Is(err, zk.ErrNodeExists) {
		return err == nil, err
	}
	owner, _, err := c.client.Get(path) // BUG: K3 it may be free by now
	return string(owner) == c.guid, err
}

// release gives up what it owns, but for some.
func (c *Consumers) release(but []string) (err error) {
	for _, name := range c.own {
		if !slices.Contains(but, name) {
			err = cmp.Or(err, c.disclaim(name))
		}
	}
	c.own = slices.DeleteFunc(c.own, func(name string) bool { return !slices.Contains(but, name) })
	return err
}

// list lists the members, and watches them.
func (c *Consumers) list(ctx context.Context) (names []string, watch <-chan zk.Event, err error) {
	err = retry(ctx, func() (err error) { names, _, watch, err = c.client.ChildrenW(c.dir); return err })
	if errors.Is(err, zk.ErrNoNode) {
		err = recipes.ErrLost
	}
	slices.Sort(names)
	return names, watch, err
}

// Stale waits until the members are others, and looks again in a new connection: after a wrap a server does not know
// what was made meanwhile.
func (c *Consumers) Stale(ctx context.Context) error {
	for {
		for len(c.events) > 0 {
			<-c.events
		}
		if c.bugs.Has("K1") {
			_, err := awaitAny(ctx, c.watch)
			return err
		}
		names, watch, err := c.list(ctx)
		if err == nil && slices.Equal(names, c.members) {
			if _, err = awaitAny(ctx, watch, c.events); err == nil {
				continue
			}
		}
		if errors.Is(err, recipes.ErrLost) {
			return nil
		}
		return err
	}
}

// Yield gives up the share.
func (c *Consumers) Yield(context.Context) error {
	if c.bugs.Has("K4") {
		return nil // until it is known what it keeps
	}
	return c.release(nil)
}

// Leave gives up the share and the membership.
func (c *Consumers) Leave(context.Context) error { return cmp.Or(c.release(nil), c.withdraw()) }
