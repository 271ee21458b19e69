package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// What is done to one connection strikes no other.
func TestOne(t *testing.T) {
	s := newServer(t)
	ended := make(chan int, 10)
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Ended: func(n int) { ended <- n }})
	first, second := connected(t, p.Addr()), connected(t, p.Addr())
	s.await("connect", "connect")
	if a, b := p.SessionOf(1), p.SessionOf(2); a.ID != firstSession+1 || b.ID != firstSession+2 ||
		p.SessionOf(3).ID != 0 {
		t.Errorf("sessions 0x%x and 0x%x", a.ID, b.ID)
	}
	p.HoldOne(1, proxy.ToClient, true)
	first.request(1, "/a")
	s.await("sync /a")
	second.request(1, "/b")
	second.replied(1)
	s.await("sync /b")
	first.nothing()
	p.HoldOne(1, proxy.ToClient, false)
	first.replied(1)

	p.CutOff(1, proxy.ToServer)
	first.ended()
	second.request(2, "/c")
	second.replied(2)
	p.CutHalfOpen()
	if n := <-ended; n != 1 {
		t.Errorf("connection %d has ended", n)
	}
	second.request(3, "/d")
	second.replied(3)
	p.Cut()
	second.ended()
	p.CutOff(1, proxy.ToServer) // is no more
}

// While a direction is held, the end of the connection does not get through either; frames to an end that has gone are
// dropped without a decision.
func TestHoldsTheEnd(t *testing.T) {
	s := newServer(t)
	d := &script{cut: func(*proxy.Frame) proxy.Action { return proxy.Forward }}
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Director: d.direct})
	c := connected(t, p.Addr())
	s.await("connect")
	p.HoldOne(1, proxy.ToServer, true)
	p.HoldOne(1, proxy.ToClient, true)
	s.hangUp()
	s.await("closed")
	c.request(1, "/a")
	c.nothing()
	p.HoldOne(1, proxy.ToServer, false)
	c.nothing()
	p.HoldOne(1, proxy.ToClient, false)
	c.ended()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.seen) != 2 {
		t.Errorf("decided about: %q", d.seen)
	}
}

// Servers may be spoken to in another way than TCP, also when a session is ended.
func TestDial(t *testing.T) {
	key := httptest.NewTLSServer(nil)
	defer key.Close()
	s := serveOn(t, func(plain net.Listener) net.Listener { return tls.NewListener(plain, key.TLS) })
	trusted := x509.NewCertPool()
	trusted.AddCert(key.Certificate())
	over := func(ctx context.Context, address string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{RootCAs: trusted}}
		return d.DialContext(ctx, "tcp", address)
	}
	p := newProxy(t, proxy.Config{Servers: []string{s.addr()}, Dial: over})
	c := connected(t, p.Addr())
	c.request(1, "/a")
	c.replied(1)
	s.await("connect", "sync /a")
	if _, err := proxy.Expire(t.Context(), s.addr(), p.Session()); err != nil {
		t.Error(err)
	}
	s.await("connect", "closeSession ", "closed")
	p.Cut()
	c.ended()
	s.await("closed")
}
