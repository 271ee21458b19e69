package chaosproxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire"
)

// direct is the proxy's director.
func (p *Proxy) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch f.Kind {
	case proxy.Connect:
		return p.atConnect(done, f)
	case proxy.Connected:
		p.granted(f)
	case proxy.Request:
		if s, due := p.dueAtRequest(f); due {
			return p.atRequest(done, f, s)
		}
	case proxy.Reply:
		if s, due := p.dueAtReply(f); due {
			return p.cut(f, s)
		}
	case proxy.Event:
		if s, due := p.dueAtEvent(f); due {
			return p.atEvent(done, s)
		}
	}
	return proxy.Forward
}

// atConnect lets a client in, or not.
func (p *Proxy) atConnect(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch barred := p.arrived(f); barred.kind {
	case "":
		return proxy.Forward
	case "stall":
		wait(done, time.Until(barred.until))
	}
	return proxy.CutBefore
}

// dueAtRequest counts a request and returns what strikes now. What it has drawn for later is kept.
func (p *Proxy) dueAtRequest(f *proxy.Frame) (Strike, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(f)
	if f.Op == wire.OpPing {
		return take(&l.idle)
	}
	if f.Housekeeping() || f.Op == wire.OpCloseSession {
		return Strike{}, false
	}
	s, due := p.drawFor(l.client, f)
	switch {
	case !due:
		return Strike{}, false
	case s.Fault == "watch":
		l.watch = &s
	case s.Variant == "idle":
		l.idle = &s
	case s.Variant == "after":
		l.after[f.Xid] = s
	default:
		return s, true
	}
	return Strike{}, false
}

// drawFor draws for a client's next request.
func (p *Proxy) drawFor(c *client, f *proxy.Frame) (Strike, bool) {
	now := time.Now()
	if c.last.IsZero() {
		c.last = now
	}
	gap := now.Sub(c.last)
	c.last = now
	c.requests++
	p.requests++
	what, due := p.cfg.draw(c.number, c.requests, gap)
	if !due {
		return Strike{}, false
	}
	return Strike{
		Fault: what.fault, Variant: what.name, ForMS: min(int64(what.share*float64(f.Timeout.Milliseconds())), lastsMax.Milliseconds()),
		Client: c.number, Connection: f.Connection, Session: fmt.Sprintf("0x%x", f.Session),
		Request: c.requests, Op: f.Op.String(), Path: f.Path, Server: p.proxy.SessionOf(f.Connection).Server,
	}, true
}

// lastsMax is how long a fault lasts at most, whatever timeout the servers grant.
const lastsMax = 5 * time.Minute

func (p *Proxy) dueAtReply(f *proxy.Frame) (Strike, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line(f)
	s, due := l.after[f.Xid]
	delete(l.after, f.Xid)
	return s, due
}

func (p *Proxy) dueAtEvent(f *proxy.Frame) (Strike, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return take(&p.line(f).watch)
}

func take(s **Strike) (Strike, bool) {
	if *s == nil {
		return Strike{}, false
	}
	taken := **s
	*s = nil
	return taken, true
}

// atRequest carries out what strikes at a request.
func (p *Proxy) atRequest(done <-chan struct{}, f *proxy.Frame, s Strike) proxy.Action {
	lasts := time.Duration(s.ForMS) * time.Millisecond
	switch {
	case s.Fault == "hold":
		p.tell(s)
		p.proxy.HoldOne(f.Connection, proxy.ToClient, true)
		wait(done, lasts)
		p.proxy.HoldOne(f.Connection, proxy.ToClient, false)
		return proxy.Forward
	case s.Fault == "refuse" || s.Fault == "stall":
		p.keepAway(f, s.Fault, lasts)
	case s.Variant == "half":
		p.tell(s)
		p.proxy.CutOff(f.Connection, proxy.ToServer)
		return proxy.Discard
	case s.Variant == "deaf":
		p.tell(s)
		p.proxy.CutOff(f.Connection, proxy.ToClient)
		return proxy.Discard
	}
	return p.cut(f, s)
}

// atEvent carries out what strikes at an event.
func (p *Proxy) atEvent(done <-chan struct{}, s Strike) proxy.Action {
	p.tell(s)
	if s.Variant == "lost" {
		return proxy.CutBefore
	}
	wait(done, time.Duration(s.ForMS)*time.Millisecond)
	return proxy.Forward
}

// cut cuts the connection instead of forwarding the frame, and ends the session before if that is what
// strikes. A session that the servers do not end has only lost its connection.
func (p *Proxy) cut(f *proxy.Frame, s Strike) proxy.Action {
	if s.Fault == "expiry" {
		if err := p.expire(f); err != nil {
			p.cfg.Log.Warn("the fault is a loss and no expiry: "+err.Error(), "client", s.Client, "session", s.Session)
			s.Fault = "loss"
		}
	}
	p.tell(s)
	return proxy.CutBefore
}

// expireMax is how long a server may take to end a session.
const expireMax = 5 * time.Second

// expire ends the session of a connection by way of another server, if there is one. Meanwhile its client
// is kept away: it would take the session back.
func (p *Proxy) expire(f *proxy.Frame) error {
	defer p.keepAway(f, "refuse", expireMax)()
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

// wait waits for so long, or until the connection ends.
func wait(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
	}
}
