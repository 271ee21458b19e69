// Package mylock has a lock over ZooKeeper.
package mylock

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Lock is a queue of ephemeral znodes below dir. The one that was created first holds the lock.
type Lock struct {
	conn  recipes.Conn
	dir   string
	id    string // begins the name of the own znode; "" if there is none
	token int64
}

// New returns a lock on dir.
func New(conn recipes.Conn, dir string) *Lock { return &Lock{conn: conn, dir: dir} }

// Lock waits until the lock is held.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		held, err := l.advance(ctx)
		if held {
			return nil
		}
		if err == nil || unanswered(err) {
			err = ctx.Err()
		}
		if err != nil {
			return errors.Join(err, l.leave())
		}
	}
}

// advance looks at the queue and does what comes next.
func (l *Lock) advance(ctx context.Context) (held bool, err error) {
	queue, err := l.list()
	if err != nil {
		return false, err
	}
	i := l.find(queue)
	switch {
	case i < 0:
		return false, l.enqueue()
	case i > 0:
		return false, l.await(ctx, queue[i-1])
	case queue[0].owner != l.conn.SessionID():
		return false, l.await(ctx, queue[0])
	}
	l.token = queue[0].created
	return true, nil
}

// member is a znode of the queue.
type member struct {
	name    string
	created int64 // the transaction that created it
	owner   int64 // the session with which it ends
}

// find returns the index of the own znode, or -1.
func (l *Lock) find(queue []member) int {
	return slices.IndexFunc(queue, func(m member) bool { return l.id != "" && strings.HasPrefix(m.name, l.id) })
}

// list returns the queue, in the order in which its znodes were created.
func (l *Lock) list() (queue []member, err error) {
	if _, err := l.conn.Sync(l.dir); err != nil {
		return nil, err
	}
	names, _, err := l.conn.Children(l.dir)
	if err != nil {
		return nil, ignore(err, zk.ErrNoNode)
	}
	for _, name := range names {
		exists, stat, err := l.conn.Exists(l.dir + "/" + name)
		if err != nil {
			return nil, err
		}
		if exists {
			queue = append(queue, member{name, stat.Czxid, stat.EphemeralOwner})
		}
	}
	slices.SortFunc(queue, func(a, b member) int { return cmp.Compare(a.created, b.created) })
	return queue, nil
}

// enqueue creates the own znode, or dir if that is missing.
func (l *Lock) enqueue() error {
	l.id = recipes.NewGUID(l.conn)
	_, err := l.conn.Create(l.dir+"/"+l.id+"-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	_, err = l.conn.Create(l.dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	return ignore(err, zk.ErrNodeExists)
}

// await waits until a znode is gone.
func (l *Lock) await(ctx context.Context, m member) error {
	_, _, gone, err := l.conn.GetW(l.dir + "/" + m.name)
	if err != nil {
		return ignore(err, zk.ErrNoNode)
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock releases the lock. It returns when the own znode is gone.
func (l *Lock) Unlock(context.Context) error { return l.leave() }

// Token grows from hold to hold.
func (l *Lock) Token() int64 { return l.token }

// leave deletes the own znode, however often it has to ask.
func (l *Lock) leave() error {
	for {
		queue, err := l.list()
		if err == nil {
			i := l.find(queue)
			if i < 0 {
				l.id = ""
				return nil
			}
			err = ignore(l.conn.Delete(l.dir+"/"+queue[i].name, -1), zk.ErrNoNode)
		}
		if err != nil && !unanswered(err) {
			return err
		}
	}
}

// unanswered says that a request failed that may have been carried out.
func unanswered(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrNoServer) || errors.As(err, new(net.Error))
}

func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
