package published

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// contender is a client's place in a line of sequential znodes: what several published recipes do in the same way,
// done so that it survives lost replies, servers that lag, expiries, the wrap of the sequence number and callers that
// give up. Recipes with a bug of these kinds do without the part of it that fixes the bug.
type contender struct {
	client        recipes.Conn
	dir           string
	prefix, infix string // of names: prefix, guid, infix, sequence number
	flags         int32
	anonymous     bool // there is no guid, so that a znode is not found again
	lineUp        func(c *contender, ctx context.Context, children []string) (names []string, err error)

	guid    string
	session int64  // in which the guid was made
	path    string // of the znode; "" if none is known of
}

func newContender(client recipes.Conn, dir, prefix, infix string) contender {
	return contender{
		client: client, dir: dir, prefix: prefix, infix: infix, flags: zk.FlagEphemeralSequential,
		lineUp: (*contender).byNumber,
	}
}

// Unlock, RUnlock and Resign are how those leave the line whose leaving has no bug.
func (c *contender) Unlock(context.Context) error { return c.withdraw() }

// RUnlock is Unlock of a reader.
func (c *contender) RUnlock(context.Context) error { return c.withdraw() }

// Resign is Unlock of a leader.
func (c *contender) Resign(context.Context) error { return c.withdraw() }

// enlist creates the znode, and the directory if that is missing. After a lost reply it looks whether the znode is
// there before it creates another.
func (c *contender) enlist(ctx context.Context) error { return c.enlistUnder(ctx, "") }

// enlistUnder is enlist as long as a lock's znode is there, if one is named: a client that has lost the lock creates
// nothing. Then it returns zk.ErrNoNode if the lock or the directory is missing.
func (c *contender) enlistUnder(ctx context.Context, lock string) error {
	c.identify()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		path, err := c.create(lock)
		switch {
		case errors.Is(err, zk.ErrNoNode) && lock == "":
			if err := surePath(ctx, c.client, c.dir); err != nil {
				return err
			}
			continue
		case !connectionLoss(err):
			c.path = path
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
		if found, err := c.find(ctx); found || err != nil {
			return err
		}
		switch {
		case c.session == c.client.SessionID():
		case lock != "":
			return zk.ErrNoNode // the session has been replaced, and so the lock is gone
		default:
			c.identify()
		}
	}
}

// create creates the znode. That a lock is there a multi makes sure of.
func (c *contender) create(lock string) (path string, err error) {
	path, acl := c.dir+"/"+c.stem(), zk.WorldACL(zk.PermAll)
	if lock == "" {
		return c.client.Create(path, nil, c.flags, acl)
	}
	results, err := c.client.Multi(
		&zk.CheckVersionRequest{Path: lock, Version: -1},
		&zk.CreateRequest{Path: path, Acl: acl, Flags: c.flags},
	)
	if err != nil {
		return "", err
	}
	return results[1].String, nil
}

// identify begins a new place. In a new session that needs a new guid: once the sequence number has reached its end
// the same name could come again.
func (c *contender) identify() {
	c.path, c.guid, c.session = "", recipes.NewGUID(c.client), c.client.SessionID()
}

// stem is the name of the znode without the sequence number.
func (c *contender) stem() string {
	if c.anonymous {
		return c.prefix
	}
	return c.prefix + c.guid + c.infix
}

// find looks for the znode of a create whose reply was lost.
func (c *contender) find(ctx context.Context) (bool, error) {
	names, err := c.same(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		path := c.dir + "/" + name
		stat, err := statOf(ctx, c.client, path)
		if err != nil {
			return false, err
		}
		if stat != nil && c.owned(stat) {
			c.path = path
			return true, nil
		}
	}
	return false, nil
}

// owned reports whether a znode belongs to the session, as far as znodes do.
func (c *contender) owned(stat *zk.Stat) bool {
	return c.flags&zk.FlagEphemeral == 0 || stat.EphemeralOwner == c.client.SessionID()
}

// same lists the children with the guid. The list is not older than the call: in one session the server catches up
// first.
func (c *contender) same(ctx context.Context) ([]string, error) {
	for !c.anonymous {
		session := c.client.SessionID()
		if err := catchUp(ctx, c.client, c.dir); err != nil {
			return nil, err
		}
		names, err := c.children(ctx)
		if err != nil {
			return nil, err
		}
		if session != 0 && session == c.client.SessionID() {
			return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, c.stem()) }), nil
		}
	}
	return nil, nil
}

// children lists the directory; one that is missing is empty.
func (c *contender) children(ctx context.Context) (names []string, err error) {
	err = retry(ctx, func() (err error) { names, _, err = c.client.Children(c.dir); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// line lists the names in the directory, the first in the line first, and says where the own one is:
// -1 if it is gone.
func (c *contender) line(ctx context.Context) (names []string, own int, err error) {
	names, err = c.children(ctx)
	if err == nil {
		names, err = c.lineUp(c, ctx, names)
	}
	if err != nil {
		return nil, -1, err
	}
	return names, slices.Index(names, strings.TrimPrefix(c.path, c.dir+"/")), nil
}

// byNumber is how children stand in line.
func (c *contender) byNumber(ctx context.Context, children []string) (names []string, err error) {
	line, err := c.order(ctx, children)
	for _, s := range line {
		names = append(names, s.name)
	}
	return names, err
}

// byText stands children in line by their numbers as texts.
func (c *contender) byText(_ context.Context, names []string) ([]string, error) {
	number := func(name string) string { return name[min(len(c.stem()), len(name)):] }
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(number(a), number(b)) })
	return names, nil
}

// order puts names in order, and leaves out those without a number.
func (c *contender) order(ctx context.Context, names []string) ([]standing, error) {
	var line []standing
	for _, name := range names {
		if n, ok := sequenceOf(name); ok {
			line = append(line, standing{name: name, number: n})
		}
	}
	return inOrder(ctx, c.client, c.dir, line)
}

// sequenceOf is the number behind the last hyphen, which a sign may follow.
func sequenceOf(name string) (int64, bool) {
	i := strings.LastIndexByte(name, '-')
	if i > 0 && name[i-1] == '-' {
		i--
	}
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	return n, err == nil
}

// confirm reports whether the own znode is there and belongs to the session, which may have been replaced: only then
// does being first mean anything. The watch is on that znode.
func (c *contender) confirm(ctx context.Context) (watch <-chan zk.Event, held bool, err error) {
	var stat *zk.Stat
	err = retry(ctx, func() (err error) { _, stat, watch, err = c.client.GetW(c.path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return watch, err == nil && c.owned(stat), err
}

// keeps reports whether the znode is there and belongs to the session.
func (c *contender) keeps(ctx context.Context) (bool, error) {
	stat, err := statOf(ctx, c.client, c.path)
	return stat != nil && c.owned(stat), err
}

// first is confirm for a client who is first in the list (own is 0), or not in it at all; one whose place is lost
// gets a new one.
func (c *contender) first(ctx context.Context, own int) (watch <-chan zk.Event, held bool, err error) {
	if own == 0 {
		watch, held, err = c.confirm(ctx)
	}
	if !held && err == nil {
		err = c.enlist(ctx)
	}
	return watch, held, err
}

// withdraw removes the znode, also one that a lost create may have made, and also for a caller that has left.
func (c *contender) withdraw() error {
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	return c.withdrawWithin(ctx)
}

// withdrawWithin is withdraw as long as a context lasts.
func (c *contender) withdrawWithin(ctx context.Context) error {
	paths := []string{c.path}
	if c.path == "" {
		var err error
		if paths, err = c.lost(ctx); err != nil {
			return err
		}
	}
	for _, path := range paths {
		err := retry(ctx, func() error { return c.client.Delete(path, -1) })
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	c.path, c.guid = "", ""
	return nil
}

// withdrawMax is the time after which a connection counts as closed.
const withdrawMax = 20 * time.Second

// lost lists the paths of what a create whose reply was lost may have made.
func (c *contender) lost(ctx context.Context) (paths []string, err error) {
	if c.guid == "" {
		return nil, nil
	}
	names, err := c.same(ctx)
	for _, name := range names {
		paths = append(paths, c.dir+"/"+name)
	}
	return paths, err
}

// standing is a znode in a line, and the number by which it stands there.
type standing struct {
	head   string // comes before the number; "" where all are equal
	number int64
	name   string
}

// inOrder sorts a directory's znodes. Their numbers are the sequence numbers or, after the wrap of those, the
// transactions that created the znodes; what is gone when asked for these is left out.
func inOrder(ctx context.Context, client recipes.Conn, dir string, line []standing) ([]standing, error) {
	if slices.ContainsFunc(line, standing.wrapped) {
		var err error
		if line, err = dated(ctx, client, dir, line); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(line, standing.compare)
	return line, nil
}

func (s standing) wrapped() bool { return wrapped(s.number) }

func (s standing) compare(t standing) int {
	return cmp.Or(strings.Compare(s.head, t.head), cmp.Compare(s.number, t.number), strings.Compare(s.name, t.name))
}

// wrapped reports whether a sequence number may not be greater than all before it.
func wrapped(number int64) bool { return number < 0 || number == math.MaxInt32 }

func dated(ctx context.Context, client recipes.Conn, dir string, line []standing) (alive []standing, err error) {
	for _, s := range line {
		stat, err := statOf(ctx, client, dir+"/"+s.name)
		if err != nil {
			return nil, err
		}
		if stat != nil {
			s.number = stat.Czxid
			alive = append(alive, s)
		}
	}
	return alive, nil
}
