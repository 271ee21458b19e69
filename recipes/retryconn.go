package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// retryConn is a connection as recipes use it: its calls wait out connection losses, so that what they return is an
// answer of ZooKeeper, or the error of the context, or ErrClosed. A call is not begun when the context has ended; one
// that hangs is not cut short.
type retryConn struct {
	conn     Conn
	settings call.Settings
}

func newRetryConn(conn Conn, opts ...Option) retryConn {
	return retryConn{conn, call.SettingsOf(opts...)}
}

func (l *retryConn) retries() *call.Retries {
	return &call.Retries{Conn: l.conn, Policy: l.settings.Retry}
}

// persist repeats a request that may safely be repeated until it is answered. unsure tells that an attempt before the
// last one may have been carried out.
func (l *retryConn) persist(ctx context.Context, request func() error) (unsure bool, err error) {
	pace := l.retries()
	for {
		if err := ctx.Err(); err != nil {
			return unsure, err
		}
		err := request()
		fate := call.FateOf(err)
		if fate == call.Answered {
			return unsure, err
		}
		unsure = unsure || fate != call.Unsent
		if err := pace.Wait(ctx, err); err != nil {
			return unsure, err
		}
	}
}

func (l *retryConn) children(ctx context.Context, path string) (names []string, err error) {
	_, err = l.persist(ctx, func() (err error) { names, _, err = l.conn.Children(path); return })
	return names, err
}

func (l *retryConn) childrenW(ctx context.Context, path string) (names []string, watch <-chan zk.Event, err error) {
	_, err = l.persist(ctx, func() (err error) { names, _, watch, err = l.conn.ChildrenW(path); return })
	return names, watch, err
}

func (l *retryConn) get(ctx context.Context, path string) (data []byte, stat *zk.Stat, err error) {
	_, err = l.persist(ctx, func() (err error) { data, stat, err = l.conn.Get(path); return })
	return data, stat, err
}

func (l *retryConn) getW(ctx context.Context, path string) (data []byte, s *zk.Stat, watch <-chan zk.Event, err error) {
	_, err = l.persist(ctx, func() (err error) { data, s, watch, err = l.conn.GetW(path); return })
	return data, s, watch, err
}

func (l *retryConn) exists(ctx context.Context, path string) (exists bool, stat *zk.Stat, err error) {
	_, err = l.persist(ctx, func() (err error) { exists, stat, err = l.conn.Exists(path); return })
	return exists && err == nil, stat, err
}

// barrier brings the server that answers up to what was committed before the call: [retryConn.sync] or
// [retryConn.commit].
type barrier func(ctx context.Context, path string) error

// sync is the barrier before reads that a recipe's user asks for, see [WithSync].
func (l *retryConn) sync(ctx context.Context, path string) error {
	if !l.settings.Sync {
		return l.commit(ctx, path)
	}
	_, err := l.persist(ctx, func() error { _, err := l.conn.Sync(path); return err })
	return err
}

// commit is the barrier that holds in any case: a transaction that changes nothing. [Conn.Sync] does the same at less
// cost while the leader stays; one that has been deposed and has not noticed answers it, too, but no write. That a znode
// is missing is an answer as good as any.
func (l *retryConn) commit(ctx context.Context, path string) error {
	check := &zk.CheckVersionRequest{Path: path, Version: -1}
	_, err := l.persist(ctx, func() error { _, err := l.conn.Multi(check); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// remove deletes a znode whose name is never used again, so that repeating it is safe. With unsure, ErrNoNode may be
// the work of an earlier attempt.
func (l *retryConn) remove(ctx context.Context, path string) (unsure bool, err error) {
	return l.persist(ctx, func() error { return l.conn.Delete(path, -1) })
}

// vanishMax bounds how often a parent may vanish between its creation and its use.
const vanishMax = 32

// ensure creates a znode without data and its missing ancestors. Another client may be first: ErrNodeExists is as
// good as success.
func (l *retryConn) ensure(ctx context.Context, path string) error {
	if path == "/" {
		return nil
	}
	err := l.persistBelow(ctx, parent(path), func() error { return l.createParent(path) })
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// persistBelow is persist for a request that needs the directory dir: it creates that when it is missing.
func (l *retryConn) persistBelow(ctx context.Context, dir string, request func() error) error {
	for range vanishMax {
		if _, err := l.persist(ctx, request); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := l.ensure(ctx, dir); err != nil {
			return err
		}
	}
	return errVanishing(dir)
}

func errVanishing(path string) error {
	return fmt.Errorf("%s or an ancestor was missing again %d times after it was created; "+
		"does another program remove it, or is the chroot of the connection missing? %w", path, vanishMax, zk.ErrNoNode)
}

func (l *retryConn) createParent(path string) error {
	if l.settings.Containers {
		_, err := l.conn.CreateContainer(path, nil, zk.FlagContainer, l.settings.ACL)
		return err
	}
	_, err := l.conn.Create(path, nil, zk.FlagPersistent, l.settings.ACL)
	return err
}

// enlist creates the ephemeral dir/prefix<guid>-<sequence>, with dir if that is missing, and returns its path and the
// guid. After a lost reply it looks whether the znode is there before it makes another.
//
// In a new session it goes on with a new guid. With the old one a name could come twice, as the sequence number stays
// the same once it has reached its end: others would take the new znode for the one that they had dated before the
// old session ended, and let it go first.
func (l *retryConn) enlist(ctx context.Context, dir, prefix string, data []byte) (path, guid string, err error) {
	pace := l.retries()
	guid, session := NewGUID(l.conn), l.conn.SessionID()
	for vanished := 0; vanished < vanishMax; {
		if err := ctx.Err(); err != nil {
			return "", guid, err
		}
		path, err := l.conn.Create(join(dir, prefix+guid+"-"), data, zk.FlagEphemeralSequential, l.settings.ACL)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			vanished++
			if err := l.ensure(ctx, dir); err != nil {
				return "", guid, err
			}
			continue
		case call.FateOf(err) == call.Answered:
			return path, guid, err
		}
		if err := pace.Wait(ctx, err); err != nil {
			return "", guid, err
		}
		if path, err := l.findOwn(ctx, dir, prefix, guid); path != "" || err != nil {
			return path, guid, err
		}
		if now := l.conn.SessionID(); now != session {
			guid, session = NewGUID(l.conn), now
		}
	}
	return "", guid, errVanishing(dir)
}

// findOwn returns the path of the session's znode with that guid, "" if there is none.
func (l *retryConn) findOwn(ctx context.Context, dir, prefix, guid string) (string, error) {
	names, err := l.find(ctx, dir, prefix, guid)
	for _, name := range names {
		ok, stat, err := l.exists(ctx, join(dir, name))
		if err != nil {
			return "", err
		}
		if ok && stat.EphemeralOwner == l.conn.SessionID() {
			return join(dir, name), nil
		}
	}
	return "", err
}

// find returns the children with that guid, normally one or none. A create that was lost is found if it was carried out
// and its znode is still there: once the client has reconnected, ZooKeeper refuses what is still on the way from its
// old connection (SessionMovedException), and commit brings the server that answers up to what was committed before.
func (l *retryConn) find(ctx context.Context, dir, prefix, guid string) ([]string, error) {
	names, err := l.childrenAfter(ctx, l.commit, dir)
	return slices.DeleteFunc(names, func(name string) bool {
		m, ok := parseMember(prefix, name)
		return !ok || m.guid != guid
	}), err
}

// syncedChildren lists a directory as it was at a moment during this call; a missing one has no children.
func (l *retryConn) syncedChildren(ctx context.Context, dir string) ([]string, error) {
	return l.childrenAfter(ctx, l.sync, dir)
}

func (l *retryConn) childrenAfter(ctx context.Context, first barrier, dir string) (names []string, err error) {
	err = l.after(ctx, first, dir, func() error {
		names, err = l.children(ctx, dir)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// getAfter reads a znode as it was at a moment during this call.
func (l *retryConn) getAfter(ctx context.Context, first barrier, path string) (data []byte, s *zk.Stat, err error) {
	err = l.after(ctx, first, path, func() error {
		data, s, err = l.get(ctx, path)
		return err
	})
	return data, s, err
}

// after reads in the session of a barrier: a new session begins without memory of what the old one has seen, and may be
// served by a server that lags behind it.
func (l *retryConn) after(ctx context.Context, first barrier, path string, read func() error) error {
	for {
		session := l.conn.SessionID()
		if err := first(ctx, path); err != nil {
			return err
		}
		err := read()
		if err != nil && !errors.Is(err, zk.ErrNoNode) || session != 0 && session == l.conn.SessionID() {
			return err
		}
	}
}

// sweep deletes every child with that guid.
func (l *retryConn) sweep(ctx context.Context, dir, prefix, guid string) error {
	names, err := l.find(ctx, dir, prefix, guid)
	for _, name := range names {
		if _, err := l.remove(ctx, join(dir, name)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return err
}

func join(dir, name string) string {
	return strings.TrimSuffix(dir, "/") + "/" + name
}

func parent(path string) string {
	if slash := strings.LastIndexByte(path, '/'); slash > 0 {
		return path[:slash]
	}
	return "/"
}
