package quorum

import (
	"context"
	"io"
	"net"
	"sync"
)

// Pipe forwards a follower's connections to a leader, behind the follower's hold.
type Pipe struct {
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)
	hold     *Hold
	ctx      context.Context // ends when the pipe is closed
	cancel   context.CancelFunc
	ended    sync.WaitGroup
}

// NewPipe returns a pipe that listens at an address, and dials the leader for each connection.
func NewPipe(address string, dial func(context.Context) (net.Conn, error), hold *Hold) (*Pipe, error) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, err
	}
	p := &Pipe{listener: listener, dial: dial, hold: hold}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.ended.Go(p.accept)
	return p, nil
}

// Addr is where the pipe listens.
func (p *Pipe) Addr() net.Addr { return p.listener.Addr() }

// Close closes all connections, stops listening and returns when all has ended.
func (p *Pipe) Close() {
	p.cancel()
	p.listener.Close()
	p.ended.Wait()
}

func (p *Pipe) accept() {
	for p.ctx.Err() == nil {
		if follower, err := p.listener.Accept(); err == nil {
			p.ended.Go(func() { p.forward(follower) })
		}
	}
}

// forward forwards both ways until one side is gone.
func (p *Pipe) forward(follower net.Conn) {
	defer follower.Close()
	leader, err := p.dial(p.ctx)
	if err != nil {
		return
	}
	end := func() {
		leader.Close()
		follower.Close()
	}
	defer context.AfterFunc(p.ctx, end)()
	var both sync.WaitGroup
	both.Go(func() {
		defer end()
		io.Copy(leader, follower)
	})
	p.hold.pass(follower, leader)
	end()
	both.Wait()
}
