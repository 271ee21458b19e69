package chaosproxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// direct is the proxy's director.
func (p *Proxy) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	p.mu.Lock()
	a, healed := p.engine.Take(time.Now(), &f.Frame), p.healed
	p.mu.Unlock()
	what := p.carryOut(done, healed, f, a)
	if p.cfg.link != nil {
		p.cfg.link.decided(f, what)
	}
	return what
}

// ended forgets a connection.
func (p *Proxy) ended(connection int) {
	p.mu.Lock()
	p.engine.Ended(connection)
	p.mu.Unlock()
	if p.cfg.link != nil {
		p.cfg.link.forget(connection)
	}
}

// carryOut does to a frame and its connection what is to be done.
func (p *Proxy) carryOut(done, healed <-chan struct{}, f *proxy.Frame, a strike.Action) proxy.Action {
	p.begin(f, a)
	switch {
	case a.Has(strike.Silence):
		p.silence(true)
		p.after(a.For, healed, func() { p.silence(false) })
		wait(a.For, done, healed)
	case a.Has(strike.Freeze):
		p.proxy.HoldOne(f.Connection, proxy.ToClient, true)
		wait(a.For, done, healed)
		p.proxy.HoldOne(f.Connection, proxy.ToClient, false)
	case a.Has(strike.Delay):
		wait(a.For, done, healed)
	case a.Has(strike.LoseClient):
		p.proxy.CutOff(f.Connection, proxy.ToServer)
		if a.For > 0 {
			p.after(a.For, healed, p.proxy.CutHalfOpen)
		}
		return proxy.Discard
	case a.Has(strike.LoseServer):
		p.proxy.CutOff(f.Connection, proxy.ToClient)
		return proxy.Discard
	}
	switch {
	case a.Has(strike.Cut):
		return proxy.CutBefore
	case a.Has(strike.CutBehind):
		return proxy.CutAfter
	}
	return proxy.Forward
}

// begin reports what strikes, and ends the session if it is to end.
func (p *Proxy) begin(f *proxy.Frame, a strike.Action) {
	s := a.Strike
	if s == nil {
		return
	}
	s.Server = p.proxy.SessionOf(f.Connection).Server
	if p.cfg.link != nil {
		p.cfg.link.begins(*s)
	}
	if a.Has(strike.EndSession) {
		if err := p.expire(f, a.Has(strike.RefuseNew)); err != nil {
			p.cfg.Log.Warn("the fault is a loss and no expiry: "+err.Error(), "client", s.Client, "session", s.Session)
			s.Fault = strike.Loss
		}
	}
	p.tell(*s)
}

// expireMax bounds how long a server may take to end a session.
const expireMax = 5 * time.Second

// expire ends the session of a connection by way of another server, if there is one. Its client is kept out
// meanwhile, or it would take the session back. A session that is not ended has only lost its connection.
func (p *Proxy) expire(f *proxy.Frame, keptOut bool) (err error) {
	if !keptOut {
		p.keepOut(f.Connection, expireMax)
		defer p.keepOut(f.Connection, 0)
	}
	session := p.proxy.SessionOf(f.Connection)
	at := slices.Index(p.cfg.Servers, session.Server)
	if at < 0 {
		return fmt.Errorf("connection %d has ended", f.Connection)
	}
	ctx, cancel := context.WithTimeout(context.Background(), expireMax)
	defer cancel()
	servers := slices.Concat(p.cfg.Servers[at+1:], p.cfg.Servers[:at])
	if len(servers) == 0 {
		servers = p.cfg.Servers
	}
	ended := func(bool) {}
	if p.cfg.link != nil {
		ended = p.cfg.link.ending(session.ID)
	}
	for _, server := range servers {
		var alive bool
		if alive, err = proxy.Expire(ctx, server, session); err == nil {
			ended(alive)
			return nil
		}
	}
	return err
}

// keepOut keeps the client of a connection out for so long.
func (p *Proxy) keepOut(connection int, lasts time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.engine.KeepOut(time.Now(), connection, lasts)
}

// silence lets nothing pass, also on connections that are opened later, or everything again.
func (p *Proxy) silence(silent bool) {
	p.proxy.Hold(proxy.ToServer, silent)
	p.proxy.Hold(proxy.ToClient, silent)
}

// after does something after a time, or when all is healed.
func (p *Proxy) after(d time.Duration, healed <-chan struct{}, do func()) {
	p.lasting.Go(func() {
		wait(d, healed, nil)
		do()
	})
}

// wait waits for a time, or until one of two channels is closed.
func wait(d time.Duration, a, b <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-a:
	case <-b:
	}
}
