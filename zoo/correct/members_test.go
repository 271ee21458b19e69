package correct

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

func init() {
	styles["a member that renews by one transaction"] = func() *workload.Workload {
		return workload.Membership(func(c recipes.Conn, path, name string) workload.Grouper {
			return &renewing{directory: directory{c, path}, name: name}
		})
	}
	styles["a member that a goroutine keeps"] = func() *workload.Workload {
		return workload.Membership(func(c recipes.Conn, path, name string) workload.Grouper {
			return &kept{directory: directory{c, path}, name: name}
		}, workload.Closing())
	}
	styles["a registry that registers again"] = func() *workload.Workload {
		return cluster.Registry(func(c recipes.Conn, path, name string) cluster.Registrar {
			return &registrar{kept{directory: directory{c, path}, name: name}}
		}, workload.Closing())
	}
}

// directory is a znode whose children are members. A name ends before an @.
type directory struct {
	c    recipes.Conn
	path string
}

// Members are those that are there now.
func (d directory) Members(ctx context.Context) (names []string, err error) {
	if names, err = d.children(ctx); err != nil {
		return nil, err
	}
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "@")
	}
	return names, nil
}

func (d directory) children(ctx context.Context) (names []string, err error) {
	if err := again(ctx, func() error { _, err := d.c.Sync(d.path); return err }); err != nil {
		return nil, err
	}
	err = again(ctx, func() (err error) { names, _, err = d.c.Children(d.path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// remove removes all that is a member's, until nothing is left.
func (d directory) remove(ctx context.Context, name string) error {
	for {
		names, err := d.children(ctx)
		if err != nil {
			return err
		}
		left := false
		for _, child := range names {
			if of, _, _ := strings.Cut(child, "@"); of == name {
				left = true
				d.c.Delete(d.path+"/"+child, -1)
			}
		}
		if !left {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// renewing is a member that puts a new znode into the place of its own, by one transaction, whenever it lists the members.
type renewing struct {
	directory
	name string
	n    int
	in   bool
}

func (m *renewing) at(n int) string { return m.path + "/" + m.name + "@" + strconv.Itoa(n) }

func (m *renewing) Join(ctx context.Context) error {
	err := m.join(ctx)
	if err != nil {
		m.Leave(ctx) // what may have been made
	}
	return err
}

func (m *renewing) join(ctx context.Context) error {
	if err := m.remove(ctx, m.name); err != nil { // of an earlier session
		return err
	}
	if err := makePath(ctx, m.c, m.path); err != nil {
		return err
	}
	m.n++
	m.in = true
	for {
		session := m.c.SessionID()
		_, err := m.c.Create(m.at(m.n), nil, zk.FlagEphemeral, acl)
		if errors.Is(err, zk.ErrNodeExists) {
			var stat *zk.Stat
			if err = again(ctx, func() error { _, err := m.c.Sync(m.path); return err }); err != nil {
				return err
			}
			if _, stat, err = m.c.Exists(m.at(m.n)); err == nil && stat.EphemeralOwner == session {
				return nil
			}
		}
		switch {
		case err == nil && m.c.SessionID() == session:
			return nil
		case errors.Is(err, zk.ErrNoNode):
			err = makePath(ctx, m.c, m.path)
		}
		if err != nil && !lost(err) {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func (m *renewing) Members(ctx context.Context) ([]string, error) {
	if m.in {
		_, err := m.c.Multi(&zk.DeleteRequest{Path: m.at(m.n), Version: -1},
			&zk.CreateRequest{Path: m.at(m.n + 1), Acl: acl, Flags: zk.FlagEphemeral})
		if err == nil {
			m.n++
		} else {
			m.in = false // or it is, under another number: it renews no more
		}
	}
	return m.directory.Members(ctx)
}

func (m *renewing) Leave(ctx context.Context) error {
	m.in, m.n = false, m.n+1
	return m.remove(context.WithoutCancel(ctx), m.name)
}

// kept is a member whose znode a goroutine makes, and makes again when it has gone with its session.
type kept struct {
	directory
	name string

	mu   sync.Mutex
	stop context.CancelFunc
	over chan struct{}
}

func (m *kept) Join(ctx context.Context) error {
	if err := m.end(ctx); err != nil {
		return err
	}
	if err := makePath(ctx, m.c, m.path); err != nil {
		return err
	}
	life, stop := context.WithCancel(context.Background())
	joined, over := make(chan struct{}), make(chan struct{})
	m.mu.Lock()
	m.stop, m.over = stop, over
	m.mu.Unlock()
	go func() {
		defer close(over)
		for first := true; life.Err() == nil; pause(life, 300*time.Millisecond) {
			if m.keep(life) && first {
				first = false
				close(joined)
			}
		}
	}()
	select {
	case <-joined:
		return nil
	case <-ctx.Done():
		m.Leave(ctx)
		return ctx.Err()
	}
}

// keep makes the znode if it is not there, and reports whether it is there under the present session.
func (m *kept) keep(ctx context.Context) bool {
	if _, err := m.c.Sync(m.path); err != nil {
		return false
	}
	session, own := m.c.SessionID(), m.path+"/"+m.name
	there, stat, err := m.c.Exists(own)
	switch {
	case err != nil:
		return false
	case there && stat.EphemeralOwner == session:
		return true
	case there: // an earlier session's, which may not have ended yet
		m.c.Multi(&zk.DeleteRequest{Path: own, Version: stat.Version},
			&zk.CreateRequest{Path: own, Acl: acl, Flags: zk.FlagEphemeral})
		return false
	}
	if _, err = m.c.Create(own, nil, zk.FlagEphemeral, acl); errors.Is(err, zk.ErrNoNode) {
		makePath(ctx, m.c, m.path)
	}
	return false // it looks again
}

// end ends the goroutine, and waits for it.
func (m *kept) end(ctx context.Context) error {
	m.mu.Lock()
	stop, over := m.stop, m.over
	m.mu.Unlock()
	if stop == nil {
		return nil
	}
	stop()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (m *kept) Leave(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // whoever gives up
	if err := m.end(ctx); err != nil {
		return err
	}
	return m.remove(ctx, m.name)
}

func (m *kept) Close() { m.end(context.Background()) }

// registrar is a registry of such members.
type registrar struct{ kept }

func (r *registrar) Register(ctx context.Context) error   { return r.Join(ctx) }
func (r *registrar) Deregister(ctx context.Context) error { return r.Leave(ctx) }

func (r *registrar) List(ctx context.Context) ([]string, error) { return r.Members(ctx) }

// Changed waits by a watch on the children.
func (r *registrar) Changed(ctx context.Context, known []string) ([]string, error) {
	slices.Sort(known)
	for {
		if err := makePath(ctx, r.c, r.path); err != nil {
			return nil, err
		}
		if err := again(ctx, func() error { _, err := r.c.Sync(r.path); return err }); err != nil {
			return nil, err
		}
		var names []string
		var event <-chan zk.Event
		err := again(ctx, func() (err error) { names, _, event, err = r.c.ChildrenW(r.path); return err })
		switch {
		case errors.Is(err, zk.ErrNoNode):
			continue
		case err != nil:
			return nil, err
		}
		if slices.Sort(names); !slices.Equal(names, known) {
			return names, nil
		}
		select {
		case <-event:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
