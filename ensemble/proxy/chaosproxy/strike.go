package chaosproxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire"
	"github.com/zktorture/zktorture/wire/strike"
)

// direct is the proxy's director.
func (p *Proxy) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch f.Kind {
	case proxy.Connect:
		return p.atConnect(done, f)
	case proxy.Connected:
		return p.atConnected(f)
	default:
		if s := p.due(f); s != nil {
			return p.strike(done, f, *s)
		}
	}
	return proxy.Forward
}

// atConnect lets a client in, unless it is barred.
func (p *Proxy) atConnect(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch barred := p.arrived(f); barred.kind {
	case "":
		return proxy.Forward
	case strike.Stall:
		wait(done, time.Until(barred.until))
	}
	return proxy.CutBefore
}

// atConnected lets a client have its session, unless the answer is lost.
func (p *Proxy) atConnected(f *proxy.Frame) proxy.Action {
	s, lost := p.granted(f)
	if s != nil {
		p.tell(*s)
	}
	if lost {
		return proxy.CutBefore
	}
	return proxy.Forward
}

// due returns what strikes at a frame, nil if nothing does.
func (p *Proxy) due(f *proxy.Frame) (s *strike.Strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(f)
	switch {
	case f.Kind == proxy.Event:
		s, l.watch = l.watch, nil
	case f.Kind == proxy.Reply:
		s = l.after[f.Xid]
		delete(l.after, f.Xid)
	case f.Op == wire.OpPing:
		s, l.idle = l.idle, nil
	case strike.Counts(f.Op):
		return l.keep(f, p.drawFor(l.client, f))
	}
	return s
}

// keep keeps what a request has drawn for a later frame, and returns what strikes now.
func (l *line) keep(f *proxy.Frame, s *strike.Strike) *strike.Strike {
	switch {
	case s == nil:
	case s.Fault == strike.Watch:
		l.watch = s
	case s.Variant == "idle":
		l.idle = s
	case s.Variant == "after":
		l.after[f.Xid] = s
	default:
		return s
	}
	return nil
}

// drawFor draws for a client's next request.
func (p *Proxy) drawFor(c *client, f *proxy.Frame) *strike.Strike {
	p.requests++
	gap := c.counter.Next()
	what, due := p.lottery.Draw(c.number, c.counter.Requests, gap)
	if !due {
		return nil
	}
	return p.at(c, f, c.counter.Requests, strike.Strike{
		Fault: what.Fault, Variant: what.Variant, ForMS: what.Lasts(f.Timeout), Op: f.Op.String(), Path: f.Path,
	})
}

// at adds to a strike where it strikes.
func (p *Proxy) at(c *client, f *proxy.Frame, request int, s strike.Strike) *strike.Strike {
	s.Client, s.Connection, s.Session = c.number, f.Connection, fmt.Sprintf("0x%x", f.Session)
	s.Request, s.Server = request, p.proxy.SessionOf(f.Connection).Server
	return &s
}

// strike carries out a fault at the frame for which it was due.
func (p *Proxy) strike(done <-chan struct{}, f *proxy.Frame, s strike.Strike) proxy.Action {
	lasts := s.Lasts()
	switch s.Fault {
	case strike.Refuse, strike.Stall:
		p.keepAway(f, s.Fault, lasts)
	case strike.Loss:
		if s.Variant == strike.Answer {
			p.loseAnswer(f)
		}
	case strike.Expiry:
		if err := p.expire(f); err != nil {
			p.cfg.Log.Warn("the fault is a loss and no expiry: "+err.Error(), "client", s.Client, "session", s.Session)
			s.Fault = strike.Loss
		}
	}
	p.tell(s)
	switch s.Variant {
	case "short", "long":
		p.proxy.HoldOne(f.Connection, proxy.ToClient, true)
		wait(done, lasts)
		p.proxy.HoldOne(f.Connection, proxy.ToClient, false)
		return proxy.Forward
	case "held":
		wait(done, lasts)
		return proxy.Forward
	case "half":
		p.proxy.CutOff(f.Connection, proxy.ToServer)
		return proxy.Discard
	case "deaf":
		p.proxy.CutOff(f.Connection, proxy.ToClient)
		return proxy.Discard
	}
	return proxy.CutBefore
}

// expireMax bounds how long a server may take to end a session.
const expireMax = 5 * time.Second

// expire ends the session of a connection by way of another server, if there is one. Its client is kept away
// meanwhile, or it would take the session back. A session that is not ended has only lost its connection.
func (p *Proxy) expire(f *proxy.Frame) error {
	defer p.keepAway(f, strike.Refuse, expireMax)()
	session := p.proxy.SessionOf(f.Connection)
	at := slices.Index(p.cfg.Servers, session.Server)
	if at < 0 {
		return fmt.Errorf("connection %d has ended", f.Connection)
	}
	ctx, cancel := context.WithTimeout(context.Background(), expireMax)
	defer cancel()
	_, err := proxy.Expire(ctx, p.cfg.Servers[(at+1)%len(p.cfg.Servers)], session)
	return err
}

// wait waits for a time, or until the connection ends.
func wait(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}
