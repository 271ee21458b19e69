// Package conn has code that takes no interface: one type uses a concrete *zk.Conn, the other connects by itself. Both
// are tested as they are. The package is an example for docs/howto/own-recipe.md.
package conn

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"
)

// Guard uses a connection that its caller made.
type Guard struct{ lock *zk.Lock }

// NewGuard returns a guard of the znode at path.
func NewGuard(conn *zk.Conn, path string) *Guard {
	return &Guard{zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))}
}

// Lock waits until the guard is held.
func (g *Guard) Lock(context.Context) error { return g.lock.Lock() }

// Unlock releases the guard.
func (g *Guard) Unlock(context.Context) error { return g.lock.Unlock() }

// Service makes a connection of its own when it is first used.
type Service struct {
	servers []string
	path    string
	options func(*zk.Conn) // of zk.Connect
	guard   *Guard
}

// NewService returns a service that connects to servers.
func NewService(servers []string, path string, options func(*zk.Conn)) *Service {
	return &Service{servers: servers, path: path, options: options}
}

// Lock connects, if that is not done yet, and waits until the guard is held.
func (s *Service) Lock(ctx context.Context) error {
	if s.guard == nil {
		conn, _, err := zk.Connect(s.servers, 10*time.Second, s.options)
		if err != nil {
			return err
		}
		s.guard = NewGuard(conn, s.path)
	}
	return s.guard.Lock(ctx)
}

// Unlock releases the guard.
func (s *Service) Unlock(ctx context.Context) error { return s.guard.Unlock(ctx) }
