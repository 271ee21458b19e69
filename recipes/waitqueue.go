package recipes

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// rule is the order of a line of contenders: which has to wait, and for which others.
type rule struct {
	prefix   string   // of the own znode
	prefixes []string // of all contenders; nil: the own one
	// before returns contenders before i of which at least one leaves the line before it is i's turn;
	// none if it is i's turn. Nothing is ever added before i, so i may look again when one of them has left.
	before func(line []member, i int) []member
}

// waitQueue acquires for a contender that queues in a directory with an ephemeral sequential znode of its own. The
// znodes are those of [Lock], [RWLock] and [Semaphore].
type waitQueue struct {
	link *retryConn
	dir  string
	rule rule
	data []byte

	guid    string     // "" until a znode may exist
	path    string     // the znode, "" if it is not known whether or where it is
	session int64      // that owns the znode, or a later one
	ahead   []*lookout // the znodes that were waited for last
}

// rightBefore is the rule's before where one is served at a time: each waits for the one right before it.
func rightBefore(line []member, i int) []member { return line[max(i-1, 0):i] }

func newWaitQueue(link *retryConn, dir string, r rule, data []byte) *waitQueue {
	if r.prefixes == nil {
		r.prefixes = []string{r.prefix}
	}
	return &waitQueue{link: link, dir: dir, rule: r, data: data}
}

// queue acquires by a place in the line of that rule.
func (g *holder) queue(ctx context.Context, r rule, data []byte, m mode, try bool) (bool, error) {
	return g.acquire(ctx, newWaitQueue(&g.retryConn, g.path, r, data), m, try)
}

// contend queues until it is the own turn. When the znode gets lost on the way it queues again at the end, under a
// new guid: to the others it is a new contender.
func (q *waitQueue) contend(ctx context.Context, try bool) (ticket, error) {
	for {
		if err := q.enlist(ctx); err != nil {
			return ticket{}, err
		}
		turn, err := q.queue(ctx, try)
		if err != errDisplaced {
			return turn, err
		}
	}
}

func (q *waitQueue) enlist(ctx context.Context) (err error) {
	q.ahead = nil
	q.path, q.guid, err = q.link.enlist(ctx, q.dir, q.rule.prefix, q.data)
	q.session = q.link.conn.SessionID() // read after the reply, so not older than the znode's owner
	return err
}

// queue waits until it is the own turn. Each round is caused by an event, or by a predecessor that vanished between
// two requests.
//
// That the list may be old does no harm. It contains the own znode, so it is not older than that; every contender
// that was created before and still exists is in it. One that is in it and gone already is found gone when it is
// watched, or the watch fires when this server learns of it.
func (q *waitQueue) queue(ctx context.Context, try bool) (ticket, error) {
	for {
		members, err := q.list(ctx)
		if err != nil {
			return ticket{}, err
		}
		i := q.find(members)
		if i < 0 {
			return ticket{}, errDisplaced
		}
		if err := q.prune(ctx, members[i+1:]); err != nil {
			return ticket{}, err
		}
		turn, err := q.await(ctx, q.rule.before(members, i), try)
		if err != nil {
			return ticket{}, err
		}
		if turn {
			return q.verify(ctx)
		}
	}
}

func (q *waitQueue) list(ctx context.Context) ([]member, error) {
	members, err := q.link.members(ctx, q.dir, q.link.children, q.rule.prefixes...)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errDisplaced // the directory is gone, so the znode is
	}
	if err == nil && q.link.conn.SessionID() != q.session {
		return nil, errDisplaced
	}
	return members, err
}

func (q *waitQueue) find(members []member) int {
	i := slices.IndexFunc(members, func(m member) bool { return m.guid == q.guid })
	if i >= 0 {
		q.path = join(q.dir, members[i].name)
	}
	return i
}

// prune deletes later znodes with the own guid. There are none as long as the search after a lost create begins with a
// transaction; behind a mere [Conn.Sync], which a deposed leader answers, there may be. The earlier one keeps the
// place.
func (q *waitQueue) prune(ctx context.Context, behind []member) error {
	for _, m := range behind {
		if m.guid != q.guid {
			continue
		}
		if _, err := q.link.remove(ctx, join(q.dir, m.name)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// await waits until something happens to one of those before, and reports whether it is the own turn already: none is
// before.
//
// It reads their znodes (GetW, not ExistsW) so that no watch is left when one is gone already.
func (q *waitQueue) await(ctx context.Context, before []member, try bool) (turn bool, err error) {
	if len(before) == 0 {
		return true, nil
	}
	if try {
		return false, errBusy
	}
	last := q.ahead
	q.ahead = nil
	for _, m := range before {
		o, path := lookout{}, join(q.dir, m.name)
		if i := slices.IndexFunc(last, func(o *lookout) bool { return o.path == path }); i >= 0 {
			o = *last[i]
		}
		o, err := q.link.look(ctx, o, path)
		if err != nil || o.missing() {
			q.ahead = append(q.ahead, last...)
			return false, err
		}
		q.ahead = append(q.ahead, &o)
	}
	return false, awaitAny(ctx, q.ahead...)
}

// verify reads the own znode, whose turn it is. It must be owned by the session of this moment: a list that a new
// session gets from a server that lags may show znodes of the old one. The watch tells when the hold is lost; it
// fires too when the session is replaced.
func (q *waitQueue) verify(ctx context.Context) (ticket, error) { return q.link.own(ctx, q.path) }

func (q *waitQueue) leave(ctx context.Context) (unsure bool, err error) {
	return q.link.remove(ctx, q.path)
}

func (q *waitQueue) withdraw(ctx context.Context) error {
	if q.path != "" {
		_, err := q.link.remove(ctx, q.path)
		return err
	}
	return q.link.sweep(ctx, q.dir, q.rule.prefix, q.guid)
}
