package recipes

import (
	"context"
	"fmt"
	"sync"

	"github.com/zktorture/zktorture/internal/call"
)

// holder is what the locks of this package have in common: a user that acquires, holds and releases, in that order.
type holder struct {
	retryConn
	noun     string // what it is, for errors
	path     string // the directory of the contenders, or the one znode
	listener LockListener

	mu      sync.Mutex   // never held across a call to ZooKeeper
	current *acquisition // the last one begun, or nil once its end was reported
}

func newHolder(conn Conn, noun, path string, opts ...Option) holder {
	return holder{retryConn: newRetryConn(conn, opts...), noun: noun, path: path}
}

// mode is whether a hold suffers others beside it.
type mode uint8

const (
	exclusive mode = iota
	shared
)

func (g *holder) acquire(ctx context.Context, w acquirer, m mode, try bool) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	a, err := g.begin(w, m, try)
	if err != nil {
		return false, err
	}
	go a.run(ctx)
	select {
	case <-a.settled:
	case <-ctx.Done():
		a.abandon(ctx.Err())
		<-a.settled
	}
	return a.outcome()
}

func (g *holder) begin(w acquirer, m mode, try bool) (*acquisition, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := &acquisition{
		holder: g, acquirer: w, mode: m, try: try,
		settled: make(chan struct{}), ended: make(chan struct{}), lost: make(chan struct{}),
	}
	if g.current != nil {
		if g.current.phase == contending || g.current.phase == held {
			return nil, ErrHeld
		}
		a.before = g.current.ended
	}
	g.current = a
	return a, nil
}

// unlock ends a hold of that mode and waits until its znode is gone.
func (g *holder) unlock(ctx context.Context, m mode) error {
	return g.depart(ctx, g.leave(m))
}

// leave ends the hold as far as the caller is concerned, and has its znode deleted; nil if there is none of that mode.
func (g *holder) leave(m mode) *acquisition {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.current
	if a == nil || !a.granted || a.mode != m {
		return nil
	}
	a.given = true
	if a.phase == held {
		a.phase = releasing
	}
	a.release()
	return a
}

// depart waits for the end of a hold that was left.
func (g *holder) depart(ctx context.Context, a *acquisition) error {
	if a == nil {
		return ErrNotHeld
	}
	select {
	case <-a.ended:
		return g.forget(a)
	case <-ctx.Done():
		if call.IsClosed(a.ended) {
			return g.forget(a)
		}
		return fmt.Errorf("recipes: release of %s %s goes on in the background: %w", g.noun, g.path, ctx.Err())
	}
}

// Settle waits for what goes on in the background: the removal of the znode of a call that has failed or whose context
// has ended, and a release whose context has ended. It returns nil when that is done and nothing is left, so at once if
// there is nothing to wait for. Else its error is the context's, or says why the znode may stay until the session ends.
func (g *holder) Settle(ctx context.Context) error {
	g.mu.Lock()
	a := g.current
	settled := a == nil || a.phase == contending || a.phase == held
	g.mu.Unlock()
	if settled {
		return nil
	}
	select {
	case <-a.ended:
	case <-ctx.Done():
		if !call.IsClosed(a.ended) {
			return fmt.Errorf("recipes: what is left of %s %s is removed in the background: %w", g.noun, g.path, ctx.Err())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.stays != nil {
		return fmt.Errorf("recipes: what is left of %s %s may stay until the session ends: %w", g.noun, g.path, a.stays)
	}
	return nil
}

func (g *holder) forget(a *acquisition) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current == a {
		g.current = nil
	}
	return a.err
}

// Lost returns a channel that is closed when the current hold is known to be lost: the session has expired, the
// connection was closed, or the znode was deleted. A release does not close it. It belongs to one hold; without one,
// the channel returned is closed already.
//
// A client that is cut off from the servers cannot know; what must not act on a lost hold needs the token.
func (g *holder) Lost() <-chan struct{} {
	if a := g.hold(); a != nil {
		return a.lost
	}
	return call.ClosedChannel
}

// hold returns the acquisition whose hold has not been given up by its user, lost or not.
func (g *holder) hold() *acquisition {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.current == nil || !g.current.granted || g.current.given {
		return nil
	}
	return g.current
}

// token returns the token of the current hold, 0 without one.
func (g *holder) token() int64 {
	if a := g.hold(); a != nil {
		return a.token
	}
	return 0
}

// session returns the session that the current hold was granted to, 0 without one.
func (g *holder) session() int64 {
	if a := g.hold(); a != nil {
		return a.session
	}
	return 0
}

// Held reports whether there is a hold as far as this client knows.
func (g *holder) Held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current != nil && g.current.phase == held
}
