package published

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// Registry is a service, as its instances and those who look for them see it. After contrib/registry/zookeeper of
// go-kratos/kratos v3.0.0 (M1 to M4) and gogf/gf v2.9.8 (M5, M6).
//
// An instance has a guid and a number behind its name, so that a lost reply leaves nothing behind, and stays out when
// its session has ended. (The originals register again.)
type Registry struct {
	contender
	bugs Bugs

	off    chan struct{}   // closed by Leave
	events <-chan zk.Event // of the connection
}

// NewRegistry returns a registry; nothing is sent before it is used.
func NewRegistry(conn recipes.Conn, service, name string, bugs Bugs) *Registry {
	return &Registry{
		contender: newContender(conn, service, name+"-", "-"), bugs: bugs, events: recipes.SessionEvents(conn),
	}
}

// Join registers the instance (Register).
func (r *Registry) Join(ctx context.Context) error {
	if err := r.ensureName(ctx); err != nil {
		return err
	}
	if r.bugs.Has("M5") {
		return r.replace()
	}
	if err := r.enlist(ctx); err != nil {
		return r.orWithdraw(err)
	}
	if r.bugs.Has("M2") {
		r.off = make(chan struct{})
		go r.reRegister(recipes.SessionEvents(r.client), r.path, r.off)
	}
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

// replace registers the instance in the place of the one that is there.
func (r *Registry) replace() error {
	const name = "service"
	err := r.client.Delete(r.dir+"/"+name, -1) // BUG: M5 it may be another's
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		data := strings.TrimSuffix(r.prefix, "-")
		r.path, err = r.client.Create(r.dir+"/"+name, []byte(data), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
	return err
}

// reRegister registers the instance anew in each later session, here once it is off.
func (r *Registry) reRegister(events <-chan zk.Event, path string, off <-chan struct{}) {
	session := r.client.SessionID()
	for event := range events {
		if next := r.client.SessionID(); event.State == zk.StateHasSession && next != session {
			session = next
			select {
			case <-off: // BUG: M2 it does not end with Deregister
				r.client.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			default:
			}
		}
	}
}

// Leave takes the instance off (Deregister).
func (r *Registry) Leave(context.Context) error {
	if r.off != nil {
		close(r.off)
		r.off = nil
	}
	return r.withdraw()
}

// Members are the names of the instances (GetService).
func (r *Registry) Members(ctx context.Context) ([]string, error) {
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
		case missing && r.bugs.Has("M6"):
			watch, err = nil, nil // BUG: M6 after an error there is no channel
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
		name, _, _ := strings.Cut(znode, "-")
		err := retry(ctx, func() error {
			data, _, err := r.client.Get(r.dir + "/" + znode)
			if len(data) > 0 { // with M5
				name = string(data)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
