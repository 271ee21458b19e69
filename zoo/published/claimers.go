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

// claimer claims things by their names: each by the first place in a line of its own.
type claimer struct {
	client recipes.Conn
	dir    string
	bugs   Bugs
	claims map[string]*contender // what is claimed, or perhaps is
	since  int64                 // the session in which it was
}

func newClaimer(client recipes.Conn, dir string, bugs Bugs) claimer {
	return claimer{client: client, dir: dir + "/owners", bugs: bugs, claims: map[string]*contender{}}
}

// IsOwner reports whether the session is still that in which it has claimed.
func (c *claimer) IsOwner() bool { return c.client.SessionID() == c.since }

// claim claims what has a name, and is false if another has.
func (c *claimer) claim(ctx context.Context, name string) (bool, error) {
	place := newContender(c.client, c.dir+"/"+name, "claim-", "-")
	c.claims[name] = &place
	err := place.enlist(ctx)
	if err != nil {
		return false, err
	}
	_, own, err := place.line(ctx)
	if own == 0 && err == nil {
		_, held, err := place.confirm(ctx)
		if held || err != nil {
			return held, err
		}
	}
	return false, cmp.Or(err, c.disclaim(name))
}

// disclaim gives up a claim, also one that may have been made, and also for a caller that has left.
func (c *claimer) disclaim(name string) error {
	place := c.claims[name]
	if place == nil {
		return nil
	}
	delete(c.claims, name)
	return place.withdraw()
}

// Numbers leases worker ids. After the SnowflakeZookeeperHolder of Meituan-Dianping/Leaf.
//
// Fixed, it claims the first number that is free and waits if there is none. (The original leases one for life.)
type Numbers struct {
	claimer
	name string // of the claim
}

// NewNumbers returns a lease of 0 or 1; nothing is sent before it is used.
func NewNumbers(client recipes.Conn, dir string, bugs Bugs) *Numbers {
	return &Numbers{claimer: newClaimer(client, dir, bugs)}
}

// Lease waits for a number.
func (l *Numbers) Lease(ctx context.Context) (int64, error) {
	for {
		l.since = l.client.SessionID()
		if l.bugs.Has("N4") {
			return l.bySequence(ctx)
		}
		for number := range 2 {
			l.name = strconv.Itoa(number)
			got, err := l.claim(ctx, l.name)
			if err != nil {
				l.disclaim(l.name)
				return 0, err
			}
			if got {
				return int64(number), nil
			}
		}
		if err := pause(ctx); err != nil {
			return 0, err
		}
	}
}

// bySequence leases the number of a znode of its own, which stays.
func (l *Numbers) bySequence(ctx context.Context) (int64, error) {
	if _, err := statOf(ctx, l.client, l.dir); err != nil {
		return 0, err
	}
	path, err := createUnder(l.client, l.dir, "server-", zk.FlagSequence)
	number, _ := sequenceOf(path)
	return number, err // BUG: N4 it grows with each server that ever was
}

// Free gives the number back.
func (l *Numbers) Free(context.Context) error { return l.disclaim(l.name) }

// Consumers divide partitions among themselves. After the consumer group of wvanbergen/kafka.
type Consumers struct {
	claimer
	place      contender       // among the members
	partitions []string        // sorted
	events     <-chan zk.Event // of the connection

	members []string
	watch   <-chan zk.Event // of these, when they were listed
	own     []string
}

// NewConsumers returns a consumer to be; nothing is sent before it is used.
func NewConsumers(client recipes.Conn, dir string, partitions []string, bugs Bugs) *Consumers {
	slices.Sort(partitions)
	return &Consumers{
		claimer: newClaimer(client, dir, bugs), place: newContender(client, dir+"/ids", "member-", "-"),
		partitions: partitions, events: recipes.SessionEvents(client),
	}
}

// errRebalance: the members have changed.
var errRebalance = errors.New("rebalance")

// Share owns the consumer's share of the partitions.
func (c *Consumers) Share(ctx context.Context) ([]string, error) {
	for {
		err := c.rebalance(ctx)
		if err == nil && c.IsOwner() {
			return slices.Clone(c.own), nil
		}
		c.keep(nil)
		if err != nil && err != errRebalance {
			c.Leave(ctx)
			return nil, err
		}
	}
}

// rebalance claims the share of one list of the members.
func (c *Consumers) rebalance(ctx context.Context) (err error) {
	c.since = c.client.SessionID()
	there := false
	if c.place.path != "" {
		there, err = c.place.keeps(ctx)
	}
	if !there && err == nil {
		err = c.place.enlist(ctx)
	}
	if err != nil {
		return err
	}
	if c.members, c.watch, err = c.list(ctx); err != nil {
		return err
	}
	i := slices.Index(c.members, strings.TrimPrefix(c.place.path, c.place.dir+"/"))
	if i < 0 {
		return errRebalance
	}
	var share []string
	for ; i < len(c.partitions); i += len(c.members) {
		share = append(share, c.partitions[i])
	}
	c.keep(share)
	for _, name := range share {
		if len(c.watch) > 0 {
			return errRebalance
		}
		if slices.Contains(c.own, name) {
			continue
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
		got, err := c.claim(ctx, name)
		if got || err != nil {
			return got, err
		}
		if c.bugs.Has("K2") && tries == 3 {
			return false, nil // BUG: K2 its owner may take longer
		}
		if err := pause(ctx); err != nil {
			return false, err
		}
		if len(c.watch) > 0 {
			return false, errRebalance
		}
	}
}

// keep gives up what it owns, but for some.
func (c *Consumers) keep(some []string) (err error) {
	given := func(name string) bool { return !slices.Contains(some, name) }
	for _, name := range c.own {
		if given(name) {
			err = cmp.Or(err, c.disclaim(name))
		}
	}
	c.own = slices.DeleteFunc(c.own, given)
	return err
}

// list lists the members, and watches them.
func (c *Consumers) list(ctx context.Context) (names []string, watch <-chan zk.Event, err error) {
	err = retry(ctx, func() (err error) { names, _, watch, err = c.client.ChildrenW(c.place.dir); return err })
	if errors.Is(err, zk.ErrNoNode) {
		err = errRebalance
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
		names, watch, err := c.list(ctx)
		if err == errRebalance || err == nil && !slices.Equal(names, c.members) {
			return nil
		}
		if err == nil {
			_, err = awaitAny(ctx, watch, c.events)
		}
		if err != nil {
			return err
		}
	}
}

// Yield gives up the share.
func (c *Consumers) Yield(context.Context) error { return c.keep(nil) }

// Leave gives up the share and the membership.
func (c *Consumers) Leave(context.Context) error { return cmp.Or(c.keep(nil), c.place.withdraw()) }
