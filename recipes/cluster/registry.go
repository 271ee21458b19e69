package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/zktorture/zktorture/internal/call"
	"github.com/zktorture/zktorture/recipes"
)

// Registry is a service: its instances, as one process sees them, and the process's own among them. It is a
// [recipes.Group] whose member comes back.
//
// # Promises
//
// An instance is registered from the return of Register until Deregister is called or its process dies. It is listed as
// long as its session lives. When the session has expired it is not, and soon is again, under the new session. After a
// Deregister that returned nil it is not listed, and never will be; neither is one that has died, once its session has
// expired. Each instance has one entry for each session that is alive: a process that starts again under the same name
// has two until its old session expires. List and Changed are those of the group: what they return was true at a moment
// during the call, and Changed returns when that differs from what the caller knows, whatever became of watches.
//
// # Cost
//
// Register, Deregister, List and Changed cost what [recipes.Group] says. A registered instance has two goroutines and
// one watch, on its znode, and makes no requests.
//
// # Errors
//
// The context's error when it ended: after Register, the instance is not registered, or will not be as soon as ZooKeeper
// can be reached; after Deregister, that goes on by itself, and the next call waits for it. [recipes.ErrHeld]: it is
// registered. [recipes.ErrNotHeld]: it is not. An instance does not come back if the connection is closed, ZooKeeper does
// not answer ([recipes.ErrNoAnswer]) or refuses its znode; Deregister returns why.
//
// # Wrong versions that tempt
//
//   - The bare name, and "node exists" taken for success: the znode is that of the old session, and goes with it.
//   - One that registers again and is not stopped, or not waited for, by Deregister: the instance is back afterwards.
//   - One that gives up at the first error: that comes when the connection has just been bad.
//   - A list, and then a read of each entry: one may have left in between.
//   - Exists with a watch where the directory was missing: if that is there by now, the watch is on its data.
//
// Register and Deregister are for one goroutine at a time, List and Changed for any.
type Registry struct {
	group *recipes.Group
	stay  *stay // nil: not registered
}

// stay is the time for which an instance is registered.
type stay struct {
	off  chan struct{} // closed when it is to end
	over chan struct{} // closed when it has ended, with
	err  error
}

// NewRegistry returns the registry of the directory dir, as the instance sees it that will be called name in it. It takes
// the options of a lock. A process that only looks for instances need not register.
func NewRegistry(conn recipes.Conn, dir, name string, opts ...recipes.LockOption) *Registry {
	return &Registry{group: recipes.NewGroup(conn, dir, name, opts...)}
}

// Register registers the instance, until Deregister.
func (r *Registry) Register(ctx context.Context) error {
	if r.stay != nil {
		if !call.IsClosed(r.stay.off) {
			return recipes.ErrHeld
		}
		if err := r.settled(ctx); err != nil {
			return err
		}
	}
	if err := r.group.Join(ctx); err != nil {
		return err
	}
	r.stay = &stay{off: make(chan struct{}), over: make(chan struct{})}
	go r.keep(r.stay)
	return nil
}

// keep registers the instance again whenever its session has expired.
func (r *Registry) keep(s *stay) {
	defer close(s.over)
	for {
		select {
		case <-r.group.Lost():
		case <-s.off:
		}
		if call.IsClosed(s.off) {
			s.err = r.group.Leave(context.Background())
			return
		}
		if s.err = r.group.Join(context.Background()); s.err != nil {
			return
		}
	}
}

// Deregister ends that the instance is registered, and returns when its znode is gone.
func (r *Registry) Deregister(ctx context.Context) error {
	if r.stay == nil {
		return recipes.ErrNotHeld
	}
	if !call.IsClosed(r.stay.off) {
		close(r.stay.off)
	}
	err := r.settled(ctx)
	if errors.Is(err, recipes.ErrLost) && !errors.Is(err, recipes.ErrClosed) && !errors.Is(err, recipes.ErrNoAnswer) {
		return nil // its session has just expired, and it has not come back
	}
	return err
}

// settled waits until the instance is not registered any more.
func (r *Registry) settled(ctx context.Context) error {
	select {
	case <-r.stay.over:
	case <-ctx.Done():
		if !call.IsClosed(r.stay.over) {
			return fmt.Errorf("cluster: deregistration goes on in the background: %w", ctx.Err())
		}
	}
	err := r.stay.err
	r.stay = nil
	return err
}

// List returns the names of the instances, sorted; a missing directory has none.
func (r *Registry) List(ctx context.Context) ([]string, error) { return r.group.Members(ctx) }

// Changed waits until the instances are not those known, which is what List or Changed has returned before, or nil for
// none, and returns them.
func (r *Registry) Changed(ctx context.Context, known []string) ([]string, error) {
	return r.group.Changed(ctx, known)
}
