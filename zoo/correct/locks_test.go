package correct

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

func init() {
	lock := func(name string, new func(c recipes.Conn, path string) workload.Locker, opts ...workload.Option) {
		styles[name] = func() *workload.Workload { return workload.Lock(new, opts...) }
	}
	lock("a lock with a standing watch", func(c recipes.Conn, path string) workload.Locker {
		return &configured{single: newSingle(c, path, recipes.NewGUID(c)), config: path + "-config"}
	}, workload.Unfair())
	lock("a lock with a goroutine that watches", func(c recipes.Conn, path string) workload.Locker {
		l := &watching{Locker: recipes.NewLock(c, path), over: make(chan struct{})}
		go l.watch(c, path+"-config")
		return l
	}, workload.Closing())
	lock("an owner by the events of its session", func(c recipes.Conn, path string) workload.Locker {
		l := &byEvents{single: newSingle(c, path, recipes.NewGUID(c))}
		go l.listen(recipes.SessionEvents(c))
		return l
	}, workload.Unfair())
	styles["a semaphore with an inner lock"] = func() *workload.Workload {
		return workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return &counted{c: c, path: path + "/permits", inner: recipes.NewLock(c, path+"/inner")}
		}, workload.Unfair())
	}
	styles["an election by one znode"] = func() *workload.Workload {
		return workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return candidate{newSingle(c, path, recipes.NewGUID(c))}
		}, workload.Unfair())
	}
}

// single is a lock by one ephemeral znode, that is created by one of those who see that it is not there.
type single struct {
	c    recipes.Conn
	path string
	id   string // of this user, in the znode
	of   int64  // the session under which it was made
}

func newSingle(c recipes.Conn, path, id string) *single { return &single{c: c, path: path, id: id} }

func (l *single) holder() string { return l.path + "/holder" }

// mark is a znode of this user's, which comes and goes with the holder: who finds it gone deletes nothing, as the holder may
// be another's by then.
func (l *single) mark() string { return l.path + "/of-" + l.id }

func (l *single) Lock(ctx context.Context) error {
	err := l.lock(ctx)
	if err != nil {
		l.Unlock(ctx) // what may have been made
	}
	return err
}

func (l *single) lock(ctx context.Context) error {
	for {
		session := l.c.SessionID()
		_, err := l.c.Multi(&zk.CreateRequest{Path: l.holder(), Data: []byte(l.id), Acl: acl, Flags: zk.FlagEphemeral},
			&zk.CreateRequest{Path: l.mark(), Acl: acl, Flags: zk.FlagEphemeral})
		var event <-chan zk.Event
		switch {
		case err == nil && l.c.SessionID() == session:
			l.of = session
			return nil
		case err == nil:
			continue
		case errors.Is(err, zk.ErrNoNode):
			if err := makePath(ctx, l.c, l.path); err != nil {
				return err
			}
			continue
		case errors.Is(err, zk.ErrNodeExists):
			if _, err = l.c.Sync(l.path); err != nil {
				break
			}
			var data []byte
			var stat *zk.Stat
			data, stat, event, err = l.c.GetW(l.holder())
			if err == nil && string(data) == l.id && stat.EphemeralOwner == l.c.SessionID() {
				l.of = stat.EphemeralOwner
				return nil
			}
		}
		switch {
		case event != nil && err == nil:
			select {
			case <-event:
			case <-ctx.Done():
				return ctx.Err()
			}
		case err != nil && !lost(err) && !errors.Is(err, zk.ErrNoNode):
			return err
		default:
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return err
			}
		}
	}
}

// Unlock deletes the znode, if it is this user's, whoever gives up.
func (l *single) Unlock(ctx context.Context) error {
	return again(context.WithoutCancel(ctx), func() error {
		_, err := l.c.Multi(&zk.DeleteRequest{Path: l.mark(), Version: -1}, &zk.DeleteRequest{Path: l.holder(), Version: -1})
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
}

// configured looks for a znode that need not be there, and keeps one watch on it as long as it lives.
type configured struct {
	*single
	config  string
	changed <-chan zk.Event
}

func (l *configured) Lock(ctx context.Context) error {
	select {
	case <-l.changed:
		l.changed = nil
	default:
	}
	if l.changed == nil {
		err := again(ctx, func() (err error) { _, _, l.changed, err = l.c.ExistsW(l.config); return err })
		if err != nil {
			return err
		}
	}
	return l.single.Lock(ctx)
}

// watching is a lock with a goroutine that follows a znode that need not be there.
type watching struct {
	workload.Locker
	over chan struct{}
}

func (l *watching) watch(c recipes.Conn, path string) {
	for {
		_, _, event, err := c.ExistsW(path)
		var later <-chan time.Time
		if err != nil {
			later = time.After(time.Second)
		}
		select {
		case <-event:
		case <-later:
		case <-l.over:
			return
		}
	}
}

func (l *watching) Close() { close(l.over) }

// byEvents takes its hold for lost when it is told that the session has expired, or, as an event may be dropped, that there is
// another one.
type byEvents struct {
	*single
	held    atomic.Bool
	session atomic.Int64
}

func (l *byEvents) listen(events <-chan zk.Event) {
	for e := range events {
		made := l.session.Load()
		if e.State == zk.StateExpired || e.State == zk.StateHasSession && made != 0 && l.c.SessionID() != made {
			l.held.Store(false)
		}
	}
}

func (l *byEvents) Lock(ctx context.Context) error {
	l.session.Store(0)
	l.held.Store(true)
	err := l.single.Lock(ctx)
	if l.session.Store(l.of); err != nil || l.c.SessionID() != l.of {
		l.held.Store(false)
	}
	return err
}

func (l *byEvents) Unlock(ctx context.Context) error {
	l.held.Store(false)
	return l.single.Unlock(ctx)
}

func (l *byEvents) IsOwner() bool { return l.held.Load() }

// candidate leads as long as it has the one znode.
type candidate struct{ *single }

func (e candidate) Campaign(ctx context.Context) error { return e.Lock(ctx) }
func (e candidate) Resign(ctx context.Context) error   { return e.Unlock(ctx) }

// counted is a semaphore whose permits are counted by who has an inner lock.
type counted struct {
	c       recipes.Conn
	path    string
	inner   *recipes.Lock
	own     string
	session int64
}

func (s *counted) Acquire(ctx context.Context) error {
	if err := s.inner.Lock(ctx); err != nil {
		return err
	}
	got, err := s.get(ctx, true)
	_, err = s.ended(ctx, got, err)
	return err
}

func (s *counted) TryAcquire(ctx context.Context) (bool, error) {
	if got, err := s.inner.TryLock(ctx); !got {
		return false, err
	}
	got, err := s.get(ctx, false)
	return s.ended(ctx, got, err)
}

// ended ends the inner lock, and gives back what was perhaps got. A permit may have gone with its session meanwhile.
func (s *counted) ended(ctx context.Context, got bool, err error) (bool, error) {
	if !got {
		s.Release(ctx)
	}
	s.inner.Unlock(context.WithoutCancel(ctx))
	if got && s.c.SessionID() != s.session {
		return false, recipes.ErrLost
	}
	return got, err
}

func (s *counted) get(ctx context.Context, waits bool) (bool, error) {
	s.own = s.path + "/" + recipes.NewGUID(s.c)
	for {
		if err := again(ctx, func() error { _, err := s.c.Sync(s.path); return err }); err != nil {
			return false, err
		}
		var names []string
		var event <-chan zk.Event
		err := again(ctx, func() (err error) { names, _, event, err = s.c.ChildrenW(s.path); return err })
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err := makePath(ctx, s.c, s.path); err != nil {
				return false, err
			}
			continue
		case err != nil:
			return false, err
		case len(names) < 2 && s.holds():
			s.session = s.c.SessionID()
			err := again(ctx, func() error { _, err := s.c.Create(s.own, nil, zk.FlagEphemeral, acl); return err })
			if errors.Is(err, zk.ErrNodeExists) {
				err = nil
			}
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err == nil && (s.c.SessionID() != s.session || !s.holds()) {
				err = recipes.ErrLost
			}
			return err == nil, err
		case !waits:
			return false, nil
		case !s.holds():
			return false, recipes.ErrLost
		}
		select {
		case <-event:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// holds reports whether the inner lock is held.
func (s *counted) holds() bool {
	select {
	case <-s.inner.Lost():
		return false
	default:
		return true
	}
}

func (s *counted) Release(ctx context.Context) error {
	err := again(context.WithoutCancel(ctx), func() error { return s.c.Delete(s.own, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
