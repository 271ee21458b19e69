package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// Code that takes go-zookeeper's own connection sends its requests without asking. They wait at the stepper, in the order
// in which the process has sent them.

// next waits for the next request of the client over the wire, which has to be that of a line of the trace.
func (p *incarnation) next(ctx context.Context, s world.Step) (*pendingRequest, error) {
	op, path, err := p.stepper.Request(ctx)
	if err != nil {
		return nil, errors.New("the client asks for nothing")
	}
	w := &pendingRequest{client: p.client, user: s.User, op: world.RequestName(op), path: path, returned: true}
	if !w.fits(s) {
		p.replayer.missed = len(p.users) > 1
		return nil, fmt.Errorf("the client asks for %v", w)
	}
	return w, nil
}

// sends is next for the line in which the request arrives, or is lost.
func (p *incarnation) sends(ctx context.Context, s world.Step) (*pendingRequest, error) {
	w, err := p.next(ctx, s)
	if err == nil && s.User >= 0 {
		p.replayer.mu.Lock()
		defer p.replayer.mu.Unlock()
		p.users[s.User].via.goesOn(s.At)
	}
	return w, err
}

// asksInVain waits for the client's next request, which is lost.
func (p *incarnation) asksInVain(ctx context.Context) error {
	_, _, err := p.stepper.Request(ctx)
	return err
}

// each does something for each of the incarnations.
func each(all []*incarnation, do func(*incarnation) error) error {
	for _, p := range all {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

// awaitSent waits, after a step, for a request that was on its way there: the first of the client, behind which others wait.
func (p *incarnation) awaitSent(ctx context.Context, number int) error {
	r := p.replayer
	i := slices.IndexFunc(r.trace, func(s world.Step) bool {
		return s.N > number && s.Client == p.client && s.Request != "" && s.Kind != world.KindReply
	})
	if i < 0 || !slices.Contains(r.expected, i) {
		return nil
	}
	if _, err := p.next(ctx, r.trace[i]); err != nil {
		return fmt.Errorf("%w, and not for %s", err, describe(r.trace[i]))
	}
	return nil
}

// hangUp lets the client lose a connection that it closes by itself in a step: after what arrives in it, and before what
// comes of it.
func (p *incarnation) hangUp(ctx context.Context, s world.Step) error {
	if s.Kind == world.KindRequest || !slices.Contains(p.replayer.hungUp[s.N], p.client) {
		return nil
	}
	return p.loseConnection(ctx)
}

// loseConnection lets the client lose its connection if it still has one, on which something may have been silent.
func (p *incarnation) loseConnection(ctx context.Context) error {
	p.replayer.mu.Lock()
	connected := p.connected
	p.replayer.mu.Unlock()
	if !connected {
		return nil
	}
	return p.disconnect(ctx, p.stepper.Cut)
}
