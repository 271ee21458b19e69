//go:build zktexact

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// In exact mode package net is the world's: code that dials by itself reaches the servers and processes of the world in whose
// bubble it runs, and nothing else. A goroutine has an owner, which those that it starts inherit.
func init() { bubble.Plug(dialWithin, listenWithin, lookUpWithin, barWithin) }

// dialWithin is the DialContext of a [net.Dialer] in a world.
func dialWithin(number uint64, ctx context.Context, network, address string) (conn net.Conn, err error) {
	o, err := ownerOf(number)
	at := o.server(network, address)
	to, host := o.processAt(network, address)
	switch {
	case err != nil:
	case to != nil:
		return o.connect(to, host)
	case at == nil:
		err = o.bar("dial "+network+" "+address, o.instead())
	default:
		return o.door.plain(ctx, o.user.Index, at)
	}
	return nil, &net.OpError{Op: "dial", Net: network, Addr: named{network, address}, Err: err}
}

// plain dials a server for code that has not been given a dialer.
func (d *door) plain(ctx context.Context, user int, at *net.TCPAddr) (net.Conn, error) {
	d.unknown.Store(true)
	l := line.New(d, user, 0)
	l.Remote = at
	switch late, err := d.knock(l); {
	case err != nil:
		return nil, err
	case late:
		return l, nil
	}
	conn, err := dialed(l, ctx.Done())
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		err = &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: ctx.Err()}
	}
	return conn, err
}

// named is an address that nothing is known of.
type named struct{ network, address string }

func (n named) Network() string { return n.network }
func (n named) String() string  { return n.address }

// lookUpWithin is the LookupHost of a [net.Resolver] in a world.
func lookUpWithin(number uint64, host string) (addresses []string, err error) {
	o, err := ownerOf(number)
	if err == nil {
		for _, p := range o.places() {
			if p.host == host {
				return []string{p.tcp.IP.String()}, nil
			}
		}
		if p, at := o.processAt("tcp", net.JoinHostPort(host, "0")); p != nil {
			return []string{at.IP.String()}, nil
		}
		err = o.bar("LookupHost "+host, o.instead())
	}
	return nil, &net.DNSError{Err: "LookupHost: " + err.Error(), UnwrapErr: err, Name: host, IsNotFound: true}
}

// barWithin is the error of all other calls of package net in a world.
func barWithin(number uint64, call string) error {
	o, err := ownerOf(number)
	if err != nil {
		return err
	}
	return o.bar(call, "")
}

// server is the server at an address, nil if there is none.
func (o owner) server(network, address string) *net.TCPAddr {
	for _, p := range o.places() {
		if (p.address == address || p.tcp.String() == address) && slices.Contains([]string{"tcp", "tcp4", "tcp6"}, network) {
			return p.tcp
		}
	}
	return nil
}

// between is what processes have opened to reach each other; World.mu guards it.
type between struct {
	listeners []*listener
	links     []*link
}

// arrivals adds what can be carried to a process.
func (b *between) arrivals(p *process, add func(kind ActionKind, user int)) {
	for i, l := range b.links {
		if l.to == p.door && len(l.sent) > 0 {
			add(ActCarry, i)
		}
	}
}

// cut ends what a process that dies has opened: what it has sent arrives, and then the end.
func (b *between) cut(d *door) {
	for _, l := range b.links {
		if l.door == d {
			l.sent = append(l.sent, nil)
		}
	}
}

// end ends all.
func (b *between) end() {
	for _, l := range b.links {
		l.far.HangUp()
	}
}

// listener is where a process of the world is dialled by the others.
type listener struct {
	*door
	at      *net.TCPAddr
	dialled chan net.Conn
	closed  chan struct{}
}

// processAt returns the process of the world at an address, and that address of it; nil if there is none. Processes are
// called c1, c2 and so on, and each of them is also the local host to itself.
func (o owner) processAt(network, address string) (*process, *net.TCPAddr) {
	host, service, err := net.SplitHostPort(address)
	port, bad := strconv.Atoi(service)
	if o.door == nil || o.world.door != ByDialer || err != nil || bad != nil || !strings.HasPrefix(network, "tcp") {
		return nil, nil
	}
	ip := net.ParseIP(host)
	for _, p := range o.world.procs {
		own := p == o.user.process
		switch at := hostOf(p); {
		case own && (host == "localhost" || ip.IsLoopback()):
			return p, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		case own && (host == "" || ip.IsUnspecified()), host == fmt.Sprintf("c%d", p.id+1), at.Equal(ip):
			return p, &net.TCPAddr{IP: at, Port: port}
		}
	}
	return nil, nil
}

func hostOf(p *process) net.IP { return net.IPv4(10, 0, 1, byte(1+p.id)) }

// listenWithin is the Listen of package net in a world. A nil listener is none of the world's.
func listenWithin(number uint64, network, address string) (net.Listener, error) {
	o, err := ownerOf(number)
	p, at := o.processAt(network, address)
	if err != nil || p == nil || p != o.user.process {
		return nil, err
	}
	w := o.world
	w.enter()
	defer w.mu.Unlock()
	if at.Port == 0 {
		for at.Port = 30000; o.door.listens(at) != nil; at.Port++ {
		}
	} else if o.door.listens(at) != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: at, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &listener{o.door, at, make(chan net.Conn, 128), make(chan struct{})}
	w.between.listeners = append(w.between.listeners, l)
	return l, nil
}

// listens is what listens at an address of the process, nil if nothing does. World.mu is held.
func (d *door) listens(at *net.TCPAddr) *listener {
	for _, l := range d.world.between.listeners {
		if l.door == d && l.at.Port == at.Port && (l.at.IP.Equal(at.IP) || !l.at.IP.IsLoopback() && at.IP.IsLoopback()) {
			return l
		}
	}
	return nil
}

// Accept implements [net.Listener].
func (l *listener) Accept() (conn net.Conn, err error) {
	select {
	case conn = <-l.dialled:
	case <-l.closed:
	case <-l.released:
	}
	switch {
	case l.Dead():
		return nil, l.Stay()
	case conn == nil:
		err = &net.OpError{Op: "accept", Net: "tcp", Addr: l.at, Err: net.ErrClosed}
	}
	return conn, err
}

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.world.enter()
	defer l.world.mu.Unlock()
	all := &l.world.between.listeners
	if i := slices.Index(*all, l); i >= 0 {
		*all = slices.Delete(*all, i, i+1)
		close(l.closed)
	}
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.at }

// link is one direction of a connection between processes: what the code of its door writes is on its way until the loop
// carries it to the other, [ActCarry]. Nothing gets lost, but with a process that dies before it is carried to it.
type link struct {
	*door
	to   *door
	far  *line.Line
	sent [][]byte // nil: the end; guarded by World.mu
}

// Takes and Closes implement [line.Host].
func (l *link) Takes(_ *line.Line, b []byte) {
	l.world.enter()
	defer l.world.mu.Unlock()
	l.sent = append(l.sent, b)
	l.world.wake()
}
func (l *link) Closes(of *line.Line) { l.Takes(of, nil) }

// connect dials a process.
func (o owner) connect(to *process, at *net.TCPAddr) (net.Conn, error) {
	w := o.world
	w.enter()
	defer w.mu.Unlock()
	l := to.door.listens(at)
	if l == nil || to.door.Dead() || len(l.dialled) == cap(l.dialled) {
		return nil, line.ErrRefused
	}
	there, back := &link{door: o.door, to: to.door}, &link{door: to.door, to: o.door}
	near, far := line.New(there, o.user.Index, 0), line.New(back, 0, 0)
	near.Raw, near.Local, near.Remote = true, &net.TCPAddr{IP: hostOf(o.user.process), Port: 50000 + len(w.between.links)}, at
	far.Raw, far.Local, far.Remote = true, at, near.Local
	there.far, back.far = far, near
	w.between.links = append(w.between.links, there, back)
	l.dialled <- far
	return near, nil
}

// carry brings the process what another one has sent first over a link.
func (p *process) carry(over int) {
	w := p.world
	l := w.between.links[over]
	b := l.sent[0]
	l.sent = l.sent[1:]
	w.foldString(string(b))
	w.note(KindShared, p.id, "network", "", w.says("%d bytes from c%d", len(b), l.process.id+1))
	if l.far.Give(b); b == nil {
		l.far.HangUp()
	}
	p.wake(w, 0)
}

// ownerOf finds the owner of a goroutine that asks for the network. One of a dead process stays until the episode is over.
func ownerOf(number uint64) (owner, error) {
	o, known := ownerNumbered(number)
	if !known {
		return o, errors.New("zktorture: the simulated world of this goroutine has ended")
	}
	if o.door != nil && o.door.Dead() {
		o.door.Stay()
	}
	return o, nil
}

// places are those that the owner's code reaches.
func (o owner) places() []place {
	if o.door == nil {
		return nil
	}
	return o.world.places
}

// barredMax is how many calls are noted at most in one world.
const barredMax = 20

// bar notes a call that would leave the world, and returns its error.
func (o owner) bar(call, instead string) error {
	b := &barred{call, bubble.Caller(), instead}
	w := o.world
	w.enter()
	defer w.mu.Unlock()
	if len(w.barred) < barredMax {
		w.barred = append(w.barred, b)
	}
	return b
}

// instead says what code does that wants to reach a server.
func (o owner) instead() string {
	if o.world.terms.Door == ByDialer {
		return ": connect to the Addresses of workload.Servers, or declare others by workload.At"
	}
	return ": this workload's code is given its connection, and code that connects by itself takes workload.Servers"
}
