package badday

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire"
)

// direct is the proxy's director.
func (d *Day) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch f.Kind {
	case proxy.Connect:
		return d.atConnect(done, f)
	case proxy.Connected:
		d.granted(f)
	case proxy.Request:
		if s, due := d.dueAtRequest(f); due {
			return d.atRequest(done, f, s)
		}
	case proxy.Reply:
		if s, due := d.dueAtReply(f); due {
			return d.cut(f, s)
		}
	case proxy.Event:
		if s, due := d.dueAtEvent(f); due {
			return d.atEvent(done, s)
		}
	}
	return proxy.Forward
}

// atConnect lets a client in, or not.
func (d *Day) atConnect(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch barred := d.arrived(f); barred.kind {
	case "":
		return proxy.Forward
	case "stall":
		wait(done, time.Until(barred.until))
	}
	return proxy.CutBefore
}

// dueAtRequest counts a request and returns what strikes now. What it has drawn for later is kept.
func (d *Day) dueAtRequest(f *proxy.Frame) (Strike, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.line(f)
	if f.Op == wire.OpPing {
		return take(&l.idle)
	}
	if f.Housekeeping() || f.Op == wire.OpCloseSession {
		return Strike{}, false
	}
	s, due := d.drawFor(l.client, f)
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
func (d *Day) drawFor(c *client, f *proxy.Frame) (Strike, bool) {
	now := time.Now()
	if c.last.IsZero() {
		c.last = now
	}
	gap := now.Sub(c.last)
	c.last = now
	c.requests++
	d.requests++
	what, due := d.cfg.draw(c.number, c.requests, gap)
	if !due {
		return Strike{}, false
	}
	return Strike{
		Fault: what.fault, Variant: what.name, ForMS: min(int64(what.share*float64(f.Timeout.Milliseconds())), lastsMax.Milliseconds()),
		Client: c.number, Connection: f.Connection, Session: fmt.Sprintf("0x%x", f.Session),
		Request: c.requests, Op: f.Op.String(), Path: f.Path, Server: d.proxy.SessionOf(f.Connection).Server,
	}, true
}

// lastsMax is how long a fault lasts at most, whatever timeout the servers grant.
const lastsMax = 5 * time.Minute

func (d *Day) dueAtReply(f *proxy.Frame) (Strike, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.line(f)
	s, due := l.after[f.Xid]
	delete(l.after, f.Xid)
	return s, due
}

func (d *Day) dueAtEvent(f *proxy.Frame) (Strike, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return take(&d.line(f).watch)
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
func (d *Day) atRequest(done <-chan struct{}, f *proxy.Frame, s Strike) proxy.Action {
	lasts := time.Duration(s.ForMS) * time.Millisecond
	switch {
	case s.Fault == "hold":
		d.tell(s)
		d.proxy.HoldOne(f.Connection, proxy.ToClient, true)
		wait(done, lasts)
		d.proxy.HoldOne(f.Connection, proxy.ToClient, false)
		return proxy.Forward
	case s.Fault == "refuse" || s.Fault == "stall":
		d.keepAway(f, s.Fault, lasts)
	case s.Variant == "half":
		d.tell(s)
		d.proxy.CutOffOne(f.Connection, proxy.ToServer)
		return proxy.Discard
	case s.Variant == "deaf":
		d.tell(s)
		d.proxy.CutOffOne(f.Connection, proxy.ToClient)
		return proxy.Discard
	}
	return d.cut(f, s)
}

// atEvent carries out what strikes at an event.
func (d *Day) atEvent(done <-chan struct{}, s Strike) proxy.Action {
	d.tell(s)
	if s.Variant == "lost" {
		return proxy.CutBefore
	}
	wait(done, time.Duration(s.ForMS)*time.Millisecond)
	return proxy.Forward
}

// cut cuts the connection instead of forwarding the frame, and ends the session before if that is what
// strikes. A session that the servers do not end has only lost its connection.
func (d *Day) cut(f *proxy.Frame, s Strike) proxy.Action {
	if s.Fault == "expiry" {
		if err := d.expire(f); err != nil {
			d.cfg.Log.Warn("the fault is a loss and no expiry: "+err.Error(), "client", s.Client, "session", s.Session)
			s.Fault = "loss"
		}
	}
	d.tell(s)
	return proxy.CutBefore
}

// expireMax is how long a server may take to end a session.
const expireMax = 5 * time.Second

// expire ends the session of a connection by way of another server, if there is one. Meanwhile its client
// is kept away: it would take the session back.
func (d *Day) expire(f *proxy.Frame) error {
	defer d.keepAway(f, "refuse", expireMax)()
	session := d.proxy.SessionOf(f.Connection)
	at := slices.Index(d.cfg.Servers, session.Server)
	if at < 0 {
		return fmt.Errorf("connection %d has ended", f.Connection)
	}
	ctx, cancel := context.WithTimeout(context.Background(), expireMax)
	defer cancel()
	_, err := proxy.Expire(ctx, d.cfg.Servers[(at+1)%len(d.cfg.Servers)], session)
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
