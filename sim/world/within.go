//go:build zktexact

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// In exact mode package net is the world's: code that dials by itself reaches the servers and processes of the world in whose
// bubble it runs, and nothing else. A goroutine has an owner, which those that it starts inherit.
func init() { bubble.Plug(dialWithin, listenWithin, lookUpWithin, barWithin) }

// dialWithin is the DialContext of a [net.Dialer] in a world.
func dialWithin(number uint64, ctx context.Context, network, address string) (net.Conn, error) {
	o, err := ownerOf(number)
	at := o.server(network, address)
	to, host := o.processAt(network, address)
	switch {
	case err != nil:
	case to != nil:
		return o.connect(ctx, to, host)
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
	return dialedIn(ctx, l)
}

// dialedIn is [dialed] with a context.
func dialedIn(ctx context.Context, l *line.Line) (net.Conn, error) {
	conn, err := dialed(l, ctx.Done())
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		err = &net.OpError{Op: "dial", Net: "tcp", Addr: l.Remote, Err: ctx.Err()}
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
	links     []*link // over which something may still come
	opened    int     // how many there were
	port      int     // the last that was given
}

// arrivals adds what can come of a process's dials, and be carried to it.
func (b *between) arrivals(p *process, add func(kind ActionKind, user int)) {
	for _, l := range b.links {
		if l.dials && l.door == p.door || !l.dials && l.to == p.door && len(l.sent) > 0 {
			add(ActCarry, l.number)
		}
	}
}

// cut ends what a process that dies has opened: what it has sent arrives, and then the end.
func (b *between) cut(d *door) {
	b.listeners = slices.DeleteFunc(b.listeners, func(l *listener) bool { return l.door == d })
	for _, l := range slices.Clone(b.links) {
		switch {
		case l.to == d || l.dials && l.door == d:
			l.forget()
		case l.door == d:
			l.send(nil)
		}
	}
}

// end ends all.
func (b *between) end() {
	for _, l := range b.links {
		l.near.Finish()
		l.far.Finish()
	}
}

// heal breaks what is silent.
func (b *between) heal(w *World) {
	for _, l := range slices.Clone(b.links) {
		if l.silent {
			l.tear()
			w.settle()
		}
	}
}

// aim adds the connections that a process has dialled, or dials, where they can be struck.
func (b *between) aim(p *process, add func(Target)) {
	for _, l := range b.links {
		if losses := l.losses(); l.door == p.door && len(losses) > 0 {
			add(Target{client: p.id, user: linked + l.number, variants: len(losses)})
		}
	}
}

// The ports that a process is given that asks for none, as Linux has them.
const (
	firstPort = 32768
	lastPort  = 60999
)

// free is a port that nobody uses, 0 if there is none.
func (b *between) free() int {
	for range lastPort - firstPort + 1 {
		if b.port++; b.port < firstPort || b.port > lastPort {
			b.port = firstPort
		}
		if !slices.ContainsFunc(b.listeners, func(l *listener) bool { return l.at.Port == b.port }) &&
			!slices.ContainsFunc(b.links, func(l *link) bool { return l.port == b.port }) {
			return b.port
		}
	}
	return 0
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
		at.Port = w.between.free()
	}
	if at.Port == 0 || w.between.at(o.door, at) != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: at, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &listener{o.door, at, make(chan net.Conn, 128), make(chan struct{})}
	w.between.listeners = append(w.between.listeners, l)
	return l, nil
}

// at is what listens at an address of a process, nil if nothing does.
func (b *between) at(d *door, at *net.TCPAddr) *listener {
	for _, l := range b.listeners {
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
		for len(l.dialled) > 0 {
			(<-l.dialled).(*line.Line).Host.(*link).tear()
		}
	}
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.at }

// link is one direction of a connection between processes. What the code of its door writes is on its way until the loop
// carries it to the other, [ActCarry]; before, it answers the dial so. [Loss] strikes in the direction of the dial.
type link struct {
	*door     // nil of a process that is dialled, until it is connected
	of        *process
	number    int
	to        *door      // nil as long as it is not connected
	near, far *line.Line // of the door's code, and of the other's
	back      *link
	port      int      // that the dialler was given; 0 in the other direction
	dials     bool     // its dial is not answered yet
	silent    bool     // nothing that is sent arrives any more
	sent      [][]byte // nil: the end
}

// Takes and Closes implement [line.Host].
func (l *link) Takes(_ *line.Line, b []byte) {
	l.world.enter()
	defer l.world.mu.Unlock()
	l.send(b)
	l.world.wake()
}
func (l *link) Closes(of *line.Line) { l.Takes(of, nil) }

func (l *link) send(b []byte) {
	if !l.silent {
		l.sent = append(l.sent, b)
	}
}

// connect dials a process.
func (o owner) connect(ctx context.Context, to *process, at *net.TCPAddr) (net.Conn, error) {
	l, err := o.link(to, at)
	if err != nil {
		return nil, err
	}
	return dialedIn(ctx, l.near)
}

func (o owner) link(to *process, at *net.TCPAddr) (*link, error) {
	o.world.enter()
	defer o.world.mu.Unlock()
	port := o.world.between.free()
	select {
	case <-o.door.released:
		if o.door.shut.Load() {
			runtime.Goexit()
		}
		return nil, line.ErrRefused
	default:
		if port == 0 {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}
		}
	}
	l := &link{door: o.door, of: o.user.process, port: port, dials: true}
	l.back = &link{of: to, back: l}
	l.near, l.far = line.New(l, o.user.Index, 0), line.New(l.back, 0, 0)
	l.back.near, l.back.far = l.far, l.near
	l.near.Raw, l.near.Local, l.near.Remote = true, &net.TCPAddr{IP: hostOf(o.user.process), Port: port}, at
	l.far.Raw, l.far.Local, l.far.Remote = true, at, l.near.Local
	l.begin()
	o.world.wake()
	return l, nil
}

// begin lets something come over the link, and forget nothing any more.
func (l *link) begin() {
	b := &l.of.world.between
	b.opened++
	l.number = b.opened
	b.links = append(b.links, l)
}

func (l *link) forget() {
	b := &l.of.world.between
	l.silent, l.sent = true, nil
	b.links = slices.DeleteFunc(b.links, func(other *link) bool { return other == l })
}

// tear breaks the connection, which both ends find out at once.
func (l *link) tear() {
	for _, l := range [...]*link{l, l.back} {
		l.forget()
		l.far.Break()
	}
}

// end is that of the link's door, as people call it.
func (l *link) end() string {
	return fmt.Sprintf("c%d:%d", l.of.id+1, l.near.Local.(*net.TCPAddr).Port)
}

// numbered is a link over which something may still come.
func (b *between) numbered(number int) *link {
	return b.links[slices.IndexFunc(b.links, func(l *link) bool { return l.number == number })]
}

// carry lets something come over a link: the answer to the process's dial, or what another one has sent first.
func (p *process) carry(number int) {
	if l := p.world.between.numbered(number); l.dials {
		l.answer()
	} else {
		l.deliver()
	}
}

// answer lets the dial succeed if somebody listens there.
func (l *link) answer() {
	w, to := l.world, l.back.of.door
	listens := w.between.at(to, l.near.Remote.(*net.TCPAddr))
	l.of.asks(func() string { return "dial " + l.back.end() })
	switch what := w.says("dials %s from %s", l.back.end(), l.end()); {
	case len(l.sent) > 0:
		w.note(KindShared, l.of.id, "network", "", what+", and has given up")
		l.forget()
	case listens == nil || len(listens.dialled) == cap(listens.dialled):
		w.note(KindShared, l.of.id, "network", "", what+", and is refused")
		l.forget()
		l.near.Dialed <- line.ErrRefused
	default:
		w.note(KindShared, l.of.id, "network", "", what)
		l.dials, l.to = false, to
		l.back.door, l.back.to = to, l.door
		l.back.begin()
		listens.dialled <- l.far
		l.near.Dialed <- nil
	}
	l.of.wake(w, l.near.User)
}

// deliver brings what was sent first.
func (l *link) deliver() {
	w, b := l.world, l.sent[0]
	l.sent = l.sent[1:]
	w.foldString(string(b))
	what := w.says("%d bytes from %s", len(b), l.end())
	if l.far.Give(b); b == nil {
		what = w.says("the end of what comes from %s", l.end())
		l.forget()
		l.far.HangUp()
	}
	w.note(KindShared, l.to.process.id, "network", "", what)
	l.to.process.wake(w, 0)
}

func (b *between) losses(number int) []loss { return b.numbered(number).losses() }

// losses are the ways in which the connection can be struck, in the direction of its dial: none if it does not leave its host.
func (l *link) losses() []loss {
	switch {
	case l.port == 0 || l.of == l.back.of || l.silent || l.back.silent:
		return nil
	case l.dials:
		return lossesOfDial
	case len(l.sent) > 0:
		return lossesOfFrame
	}
	return lossesOfLine
}

// onWay says what is lost with a direction.
func (l *link) onWay() string {
	n := 0
	for _, b := range l.sent {
		n += len(b)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d bytes to c%d are lost", n, l.back.of.id+1)
}

// lose strikes a connection of the process.
func (p *process) lose(number, variant int) {
	w, l := p.world, p.world.between.numbered(number)
	kind := l.losses()[variant]
	note := func(format string, args ...any) {
		what := w.says("the connection from %s to %s ", l.end(), l.back.end()) + w.says(format, args...)
		w.noteFault(Loss, p.id, "", what).Silent = kind >= lossMute && kind != lossRefuse
	}
	switch kind {
	case lossAfter:
		note("breaks as soon as something has reached c%d, whose answer is lost", l.back.of.id+1)
		l.deliver()
		l.tear()
	case lossBefore, lossIdle:
		note("breaks%s%s", l.onWay(), l.back.onWay())
		l.tear()
	case lossReset:
		note("is reset, which c%d will notice when it writes%s%s", p.id+1, l.onWay(), l.back.onWay())
		l.near.Reset()
		l.far.Break()
		l.silence()
		l.back.silence()
	case lossMute:
		note("carries nothing more to c%d%s", l.back.of.id+1, l.onWay())
		l.silence()
	case lossDeaf:
		note("carries nothing more to c%d%s", p.id+1, l.back.onWay())
		l.back.silence()
	case lossRefuse:
		note("is refused")
		l.forget()
		l.near.Dialed <- line.ErrRefused
	case lossHalfOpen:
		note("is made, and nothing else comes through")
		l.dials = false
		l.silence()
		l.near.Dialed <- nil
	}
	p.wake(w, l.near.User)
}

func (l *link) silence() { l.silent, l.sent = true, nil }

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

// Claims has the caller's goroutine, which has begun the operation, noted for the ephemeral znodes that it makes over the wire:
// in exact mode only.
func (op *Op) Claims() { op.Maker = bubble.Goroutine() }

// maker is the operation that claims the ephemeral znode which a request asks for: its goroutine waits for an answer, and the
// process for no other one, over its only connection. nil if there is none.
func (p *process) maker(call *goclient.Call) *Op {
	op := p.opOf(call.User)
	if op == nil || op.Maker == 0 || rankOf(&call.Request) != asksEphemeral || len(p.clients) != 1 || len(p.pending()) != 1 {
		return nil
	}
	stack := bubble.Goroutines(bubble.EveryStackBytesMax)[fmt.Sprintf("goroutine %d", op.Maker)]
	if !strings.Contains(stack, "zk.(*Conn).request(") {
		return nil
	}
	return op
}

// behindMutex says for which mutex a user's script waits, who holds that, and what the holder waits for; "" if it waits
// for none.
func behindMutex(w *World, u *User) string {
	waits := bubble.MutexWaits()
	if len(waits) == 0 {
		return ""
	}
	stacks := bubble.Goroutines(bubble.EveryStackBytesMax)
	text, told := "", []uint64{}
	for at := u.goroutine.Load(); ; {
		i := slices.IndexFunc(waits, func(wait [4]uint64) bool { return wait[0] == at })
		stack, lives := stacks[fmt.Sprintf("goroutine %d", at)]
		switch {
		case i < 0 && text == "" || slices.Contains(told, at):
			return text
		case i < 0 && !lives:
			return text + ", whose goroutine has ended"
		case i < 0:
			return text + ", which is" + bubble.At(stack)
		case text != "":
			text += ", which "
		}
		told, at = append(told, at), waits[i][1]
		text += fmt.Sprintf("waits in %s, held by %s", bubble.MutexPlace(stack), ownerNamed(waits[i][3]))
	}
}

// sharedMutex says for which mutex somebody waits that another process holds, or one that has crashed; "" if nobody does.
// Real processes have a mutex each.
func sharedMutex(w *World) string {
	for _, wait := range bubble.MutexWaits() {
		waits, _ := ownerNumbered(wait[2])
		holds, _ := ownerNumbered(wait[3])
		if waits.user == nil || holds.user == nil ||
			waits.user.process == holds.user.process && waits.user.Incarnation == holds.user.Incarnation {
			continue
		}
		place := bubble.MutexPlace(bubble.Goroutines(bubble.EveryStackBytesMax)[fmt.Sprintf("goroutine %d", wait[0])])
		return fmt.Sprintf("processes of the simulated world share a mutex, as they share package variables: c%d waits in %s, "+
			"held by %s. Give each process its own", waits.user.Client+1, place, nameOf(holds.user))
	}
	return ""
}

// ownerNamed names whose a goroutine is, by the number of its owner.
func ownerNamed(number uint64) string {
	if o, _ := ownerNumbered(number); o.user != nil {
		return nameOf(o.user)
	}
	return "a goroutine"
}

// nameOf names a user in one life of its process.
func nameOf(u *User) string {
	name := fmt.Sprintf("c%d", u.Client+1)
	if u.Index > 0 {
		name += fmt.Sprintf(" (user %d)", u.Index+1)
	}
	if u.dead.Load() {
		name += " before its crash"
	}
	return name
}
