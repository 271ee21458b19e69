package published

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// CuratorSemaphore is a counting semaphore. After org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2,
// Apache Curator 2: with S4 before 8dc0283e (2016), with S5 before CURATOR-315 was fixed. The holder of the lock,
// one at a time, adds a lease and waits until there are not too many.
type CuratorSemaphore struct {
	client    recipes.Conn
	path      string
	maxLeases int
	bugs      Bugs

	leases []contender // of this acquisition
}

// The directories of a CuratorSemaphore.
const (
	lockParent  = "/locks"
	leaseParent = "/leases"
)

// NewCuratorSemaphore returns a semaphore; nothing is sent before it is used.
func NewCuratorSemaphore(client recipes.Conn, path string, maxLeases int, bugs Bugs) *CuratorSemaphore {
	return &CuratorSemaphore{client: client, path: path, maxLeases: maxLeases, bugs: bugs}
}

// errMissingNode is RETRY_DUE_TO_MISSING_NODE.
var errMissingNode = errors.New("sequential path not found")

// Acquire waits until a lease is held.
func (s *CuratorSemaphore) Acquire(ctx context.Context) error {
	s.leases = nil
	for {
		err := s.acquire1Lease(ctx)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errMissingNode):
			return errors.Join(err, s.returnAll())
		case !s.bugs.Has("S5"): // BUG: S5 the lease that is missing stays the one that will be returned
			s.leases = nil
		}
	}
}

// acquire1Lease acquires a lease, and makes sure that it is still there when the lock is released.
func (s *CuratorSemaphore) acquire1Lease(ctx context.Context) error {
	lock := newContender(s.client, s.path+lockParent, "_c_", "-lock-", s.bugs)
	err := lockAround(ctx, &lock, func() error { return s.internalAcquire1Lease(ctx, lock.path) })
	if err != nil {
		return err
	}
	held, err := s.leases[len(s.leases)-1].keeps(ctx)
	if err == nil && !held {
		err = errMissingNode
	}
	return err
}

func (s *CuratorSemaphore) internalAcquire1Lease(ctx context.Context, lock string) error {
	leasesPath := s.path + leaseParent
	if err := surePath(ctx, s.client, leasesPath); err != nil {
		return err
	}
	lease := newContender(s.client, leasesPath, "_c_", "-lease-", s.bugs)
	err := lease.enlistUnder(ctx, lock)
	if errors.Is(err, zk.ErrNoNode) {
		return errMissingNode
	}
	s.leases = append(s.leases, lease)
	for err == nil {
		var children []string
		var watcher <-chan zk.Event
		children, _, watcher, err = s.client.ChildrenW(leasesPath)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return errMissingNode
		case err != nil && s.bugs.Has("S4"): // BUG: S4 the lease is there, and nobody knows of it any more
			s.leases = s.leases[:len(s.leases)-1]
		case err != nil:
		case !slices.Contains(children, lease.path[len(leasesPath)+1:]):
			return errMissingNode // the session has expired
		case len(children) <= s.maxLeases:
			return nil
		default:
			_, err = lease.hear(ctx, watcher)
		}
	}
	return err
}

func (s *CuratorSemaphore) returnAll() (err error) {
	for i := range s.leases {
		err = errors.Join(err, s.leases[i].withdraw())
	}
	return err
}

// Release returns the lease: of those that were made, the first.
func (s *CuratorSemaphore) Release(context.Context) error { return s.leases[0].withdraw() }
