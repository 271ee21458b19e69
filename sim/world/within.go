//go:build zktexact

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// In exact mode package net is the world's: code that dials by itself reaches the servers of the world in whose bubble it runs,
// and nothing else. A goroutine has an owner, which those that it starts inherit.
//
// So are the host's name, the process's id and the host's addresses: see [hostWithin].
func init() {
	bubble.Plug(dialWithin, lookUpWithin, barWithin)
	bubble.PlugHost(hostWithin)
	bubble.PlugAddr(addrWithin)
}

// dialWithin is the DialContext of a [net.Dialer] in a world.
func dialWithin(number uint64, ctx context.Context, network, address string) (net.Conn, error) {
	o, err := ownerOf(number)
	at := o.server(network, address)
	switch {
	case err != nil:
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

// hostWithin is what the host is called that code of a process runs on, and which process it is there, 0 if it is none's: each
// process has a host of its own, and each of its lives there another process id.
func hostWithin(number uint64) (name string, pid int) {
	o, known := ownerNumbered(number)
	if !known || o.process == nil {
		return "", 0
	}
	life := o.process.incarnation
	if o.user != nil {
		life = o.user.Incarnation
	}
	return fmt.Sprintf("c%d", o.process.id+1), 100*(o.process.id+1) + life
}

// addrWithin is the address of that host, nil if the code is no process's.
func addrWithin(number uint64) net.IP {
	o, known := ownerNumbered(number)
	if !known || o.process == nil {
		return nil
	}
	return net.IPv4(10, 0, 1, byte(1+o.process.id)).To4()
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
	if !bubble.Goroutines(bubble.EveryStackBytesMax)[fmt.Sprintf("goroutine %d", op.Maker)].Asks() {
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
			return text + ", which is" + stack.At()
		case text != "":
			text += ", which "
		}
		told, at = append(told, at), waits[i][1]
		text += fmt.Sprintf("waits in %s, held by %s", stack.Mutex(), ownerNamed(waits[i][3]))
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
		place := bubble.Goroutines(bubble.EveryStackBytesMax)[fmt.Sprintf("goroutine %d", wait[0])].Mutex()
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
