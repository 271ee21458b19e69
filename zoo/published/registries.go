package published

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Registry is a service, as its instances and those who look for them see it. After contrib/registry/zookeeper of
// go-kratos/kratos v3.0.0 (M1 to M4), gogf/gf v2.9.8 (M5) and apache/dubbo 2.6 (M7).
//
// An instance has a znode of its name, and makes it again in each later session.
type Registry struct {
	client    recipes.Conn
	dir, name string
	bugs      Bugs

	events <-chan zk.Event    // of the connection, for Changed
	off    context.CancelFunc // ends that the instance registers again
	over   chan struct{}      // closed when that has ended
}

// NewRegistry returns a registry; nothing is sent before it is used.
func NewRegistry(conn recipes.Conn, service, name string, bugs Bugs) *Registry {
	return &Registry{client: conn, dir: service, name: name, bugs: bugs, events: recipes.SessionEvents(conn)}
}

// Register registers the instance.
func (r *Registry) Register(ctx context.Context) error {
	if err := r.ensureName(ctx); err != nil {
		return err
	}
	session := r.client.SessionID()
	if err := r.enter(ctx); err != nil {
		return err
	}
	ctx, r.off = context.WithCancel(context.Background())
	r.over = make(chan struct{})
	go r.reRegister(ctx, session, recipes.SessionEvents(r.client), r.over)
	return nil
}

// ensureName makes the service's znode.
func (r *Registry) ensureName(ctx context.Context) error {
	if !r.bugs.Has("M3") {
		return surePath(ctx, r.client, r.dir)
	}
	exists, _, err := r.client.Exists(r.dir)
	if err == nil && !exists { // BUG: M3 another instance may make it in between
		_, err = r.client.Create(r.dir, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	if connectionLoss(err) {
		err = surePath(ctx, r.client, r.dir)
	}
	return err
}

// path is the instance's znode.
func (r *Registry) path() string {
	if r.bugs.Has("M5") {
		return r.dir + "/service"
	}
	return r.dir + "/" + r.name
}

// enter makes the instance's znode, in the place of one that an old session has left.
func (r *Registry) enter(ctx context.Context) error {
	for {
		err := retry(ctx, func() error {
			_, err := r.client.Create(r.path(), []byte(r.name), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			return err
		})
		switch {
		case errors.Is(err, zk.ErrNoNode):
			err = surePath(ctx, r.client, r.dir)
		case !errors.Is(err, zk.ErrNodeExists), r.bugs.Has("M7"):
			if errors.Is(err, zk.ErrNodeExists) {
				err = nil // BUG: M7 it may be of the old session, and go with that
			}
			return err
		default:
			var own bool
			if own, err = r.clear(ctx); own {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// clear removes the znode, unless it is of this session.
func (r *Registry) clear(ctx context.Context) (own bool, err error) {
	if err := catchUp(ctx, r.client, r.dir); err != nil {
		return false, err
	}
	stat, err := statOf(ctx, r.client, r.path())
	if err != nil || stat == nil {
		return false, err
	}
	// BUG: M5 it may be another instance's
	if own = stat.EphemeralOwner == r.client.SessionID(); own && !r.bugs.Has("M5") {
		return true, nil
	}
	return false, r.remove(ctx, r.path())
}

func (r *Registry) remove(ctx context.Context, path string) error {
	err := retry(ctx, func() error { return r.client.Delete(path, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// reRegister registers the instance anew in each later session.
func (r *Registry) reRegister(ctx context.Context, session int64, events <-chan zk.Event, over chan<- struct{}) {
	defer close(over)
	for {
		if next := r.client.SessionID(); next != 0 && next != session {
			if r.enter(ctx) != nil {
				return
			}
			session = next
		}
		if event, err := awaitAny(ctx, events); err != nil || event == (zk.Event{}) {
			return // the connection is closed
		}
	}
}

// Deregister takes the instance off, also one that may be registered, and for a caller that has left.
func (r *Registry) Deregister(context.Context) error {
	if r.off != nil && !r.bugs.Has("M2") { // BUG: M2 what registers again goes on
		r.off()
		<-r.over
		r.off = nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), withdrawMax)
	defer cancel()
	if err := catchUp(ctx, r.client, r.dir); err != nil {
		return err
	}
	return r.remove(ctx, r.path())
}

// List returns the names of the instances (GetService).
func (r *Registry) List(ctx context.Context) ([]string, error) {
	names, _, err := r.instances(ctx)
	return names, err
}

// Changed waits until the instances are others (Watch), and looks again in a new connection: after a wrap a server does
// not know what was made meanwhile.
func (r *Registry) Changed(ctx context.Context, known []string) ([]string, error) {
	for {
		for len(r.events) > 0 {
			<-r.events
		}
		names, watch, err := r.instances(ctx)
		if err == nil && slices.Equal(names, known) {
			_, err = awaitAny(ctx, watch, r.events)
		}
		if err != nil || !slices.Equal(names, known) {
			return names, err
		}
	}
}

// instances lists the instances as they were at one moment during the call, and watches them.
func (r *Registry) instances(ctx context.Context) (names []string, watch <-chan zk.Event, err error) {
	for {
		session := r.client.SessionID()
		if err := catchUp(ctx, r.client, r.dir); err != nil {
			return nil, nil, err
		}
		err = retry(ctx, func() (err error) { names, _, watch, err = r.client.ChildrenW(r.dir); return err })
		switch missing := errors.Is(err, zk.ErrNoNode); {
		case missing && r.bugs.Has("M1"):
			// BUG: M1 if it is there by now, this is a watch on its data
			_, _, watch, err = r.client.ExistsW(r.dir)
		case missing:
			if err := surePath(ctx, r.client, r.dir); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err == nil {
			names, err = r.named(ctx, names)
		}
		again := errors.Is(err, zk.ErrNoNode) && !r.bugs.Has("M4") // BUG: M4 one has left in between
		if !again && (err != nil || session != 0 && session == r.client.SessionID()) {
			return names, watch, err
		}
	}
}

// named reads each instance's znode, and returns the names.
func (r *Registry) named(ctx context.Context, znodes []string) (names []string, err error) {
	for _, znode := range znodes {
		var data []byte
		err := retry(ctx, func() (err error) { data, _, err = r.client.Get(r.dir + "/" + znode); return err })
		if err != nil {
			return nil, err
		}
		names = append(names, string(data))
	}
	slices.Sort(names)
	return names, nil
}
