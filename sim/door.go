package sim

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

// Door is how clients reach the servers of an episode.
type Door uint8

const (
	// InProcess is a [fakezk.Conn], which imitates go-zookeeper: fast, and exactly repeatable.
	InProcess Door = iota
	// OverWire gives each process a *zk.Conn of the unmodified go-zookeeper, over connections in memory: [User.ZK].
	OverWire
	// ByDialer lets the code connect by itself, as often as it likes: [User.Dial].
	ByDialer
)

// WithDoor is a [Workload] and its [Episode] that say how clients reach the servers; those of others do in process.
type WithDoor interface {
	Door() Door
}

func overWire(w Workload) bool {
	d, can := w.(WithDoor)
	return can && d.Door() != InProcess
}

// door is how the code of one incarnation of a process reaches the servers over the wire.
type door struct {
	world   *World
	process *process
	conn    *zk.Conn   // that all users of the process share; nil if they dial by themselves
	own     []*zk.Conn // that the users have opened with [User.ZKOption]; guarded by World.mu
	events  <-chan zk.Event
	lines   []*line // dialled so far; guarded by World.mu
	conns   int     // that the world knows, and closes; guarded by World.mu

	crashed  atomic.Bool   // the process is dead: what its goroutines call stays there …
	released chan struct{} // … until the episode is over: see release
	closed   atomic.Bool   // the world has closed the connections that it knows
	shut     atomic.Bool   // goroutines that still dial end
	unknown  atomic.Bool   // a connection was dialled for a *zk.Conn that the world does not know
}

// addresses are the servers' for who dials. Which server answers is the world's choice, whatever the address: the code
// shuffles them anyway. A label of more than 63 bytes fits into no query, so whoever looks a name up by himself is
// refused by his own resolver, at once.
var addresses = []string{"zk1" + beyond, "zk2" + beyond, "zk3" + beyond}

const beyond = ".only-the-option-or-the-dialer-of-the-simulated-world-leads-to-this-server.invalid:2181"

// literals are addresses for code that takes a dialer only, and looks names up before. No system makes a connection to
// everybody.
var literals = []string{"255.255.255.255:2181", "255.255.255.255:2182", "255.255.255.255:2183"}

// hosts is a [zk.HostProvider] as go-zookeeper's own, but for looking names up.
type hosts struct {
	all      []string
	at, last int
}

// Init implements [zk.HostProvider].
func (h *hosts) Init(servers []string) error {
	h.all, h.at, h.last = servers, -1, -1
	return nil
}

// Len implements [zk.HostProvider].
func (h *hosts) Len() int { return len(h.all) }

// Next implements [zk.HostProvider].
func (h *hosts) Next() (server string, retryStart bool) {
	h.at = (h.at + 1) % len(h.all)
	retryStart = h.at == h.last
	h.last = max(h.last, 0)
	return h.all[h.at], retryStart
}

// Connected implements [zk.HostProvider].
func (h *hosts) Connected() { h.last = h.at }

// openDoor gives a process that begins a way to the servers.
func (w *World) openDoor(p *process) {
	p.door = &door{world: w, process: p, released: make(chan struct{})}
	p.clients = p.clients[:0]
	w.doors = append(w.doors, p.door)
	if w.door != OverWire {
		return
	}
	p.door.conns = 1
	conn, events, err := zk.Connect(addresses, sessionTimeout*time.Millisecond, zk.WithHostProvider(&hosts{}),
		zk.WithDialer(p.door.dialer(-1, 1)), zk.WithLogger(silence{}), zk.WithLogInfo(false))
	if err != nil {
		panic(fmt.Errorf("go-zookeeper does not connect to %v: %w", addresses, err))
	}
	p.door.conn, p.door.events, p.door.own = conn, events, []*zk.Conn{conn}
	w.settle()
	w.takeHanded()
}

type silence struct{}

func (silence) Printf(string, ...any) {}

// dialer dials on behalf of a user, -1 for all of them, for the *zk.Conn with a number, which the world closes; 0 if it
// is not known for which.
func (d *door) dialer(user, conn int) zk.Dialer {
	return func(_, _ string, timeout time.Duration) (net.Conn, error) {
		select {
		case <-d.released:
			return d.dialLate(conn)
		default:
		}
		if d.dead() {
			return nil, d.stay()
		}
		return d.dial(newLine(d, user, conn), timeout)
	}
}

// dialLate dials when the episode is over.
func (d *door) dialLate(conn int) (net.Conn, error) {
	switch {
	case conn != 0 && !d.closed.Load():
		l := newLine(d, -1, conn)
		l.part()
		d.world.enter()
		d.note(l)
		d.world.mu.Unlock()
		return l, nil
	case d.shut.Load():
		runtime.Goexit()
	}
	return nil, errRefused
}

// option makes a connection dial by the door, and lets the world close it.
func (d *door) option(user int) func(*zk.Conn) {
	return func(conn *zk.Conn) {
		d.world.enter()
		d.own = append(d.own, conn)
		d.conns++
		number := d.conns
		d.world.mu.Unlock()
		zk.WithHostProvider(&hosts{})(conn)
		zk.WithDialer(d.dialer(user, number))(conn)
	}
}

// dial waits until the loop lets the dial succeed or fail.
func (d *door) dial(l *line, timeout time.Duration) (net.Conn, error) {
	d.hand(handed{line: l, kind: handedDial})
	var over <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		over = timer.C
	}
	var err error
	select {
	case err = <-l.dialed:
	case <-over:
		l.Close()
		err = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	switch {
	case d.dead():
		return nil, d.stay()
	case err != nil:
		return nil, err
	}
	return l, nil
}

// errRefused is what a dial fails with where nothing listens.
var errRefused error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

func (d *door) dead() bool { return d.crashed.Load() }

// stay keeps a goroutine of a dead process until the episode is over.
func (d *door) stay() error {
	<-d.released
	return io.EOF
}

// handed is what goroutines of clients hand to the loop.
type handed struct {
	line  *line
	kind  handedKind
	frame []byte
	user  int // that the loop had woken, -1 if it had woken several or none
}

type handedKind uint8

const (
	handedDial handedKind = iota
	handedFrame
	handedClose
)

// hand hands something to the loop.
func (d *door) hand(h handed) {
	w := d.world
	w.enter()
	defer w.mu.Unlock()
	if h.kind == handedDial {
		d.note(h.line)
	}
	h.user = h.line.user
	if h.user < 0 {
		h.user = d.process.stirring
	}
	w.handed = append(w.handed, h)
	w.wake()
}

// note numbers a line. World.mu is held.
func (d *door) note(l *line) {
	d.lines = append(d.lines, l)
	l.number = len(d.lines)
}

// takeHanded takes what clients have handed in: those of one line in their order, the lines in an order that does not
// depend on the Go scheduler.
func (w *World) takeHanded() {
	for len(w.handed) > 0 {
		all := w.handed
		w.handed, w.handedBefore = w.handedBefore[:0], all // memory to reuse
		slices.SortStableFunc(all, func(a, b handed) int {
			return cmp.Or(a.line.door.process.id-b.line.door.process.id, a.line.number-b.line.number)
		})
		for _, h := range all {
			if h.line.door == h.line.door.process.door { // not of a process that has died since
				w.take(h)
			}
		}
		clear(all)
	}
}

func (w *World) take(h handed) {
	p := h.line.door.process
	switch h.kind {
	case handedDial:
		w.clientFor(p, h.line.conn).line = h.line
	case handedFrame:
		if c := p.clientAt(h.line); c != nil {
			c.accept(h)
		}
	case handedClose:
		if c := p.clientAt(h.line); c != nil {
			c.hangUp()
		}
	}
}

// clientFor returns the client that a new connection belongs to: that of the *zk.Conn with the number. If that is not
// known it is taken to be the first that has none.
func (w *World) clientFor(p *process, conn int) *wireClient {
	for _, c := range p.clients {
		if c := c.(*wireClient); c.conn == conn && c.line == nil {
			return c
		}
	}
	c := &wireClient{world: w, process: p, conn: conn}
	p.clients = append(p.clients, c)
	return c
}

// clientAt returns the client of a connection; nil if that has broken.
func (p *process) clientAt(l *line) *wireClient {
	for _, c := range p.clients {
		if c := c.(*wireClient); c.line == l {
			return c
		}
	}
	return nil
}

// crash leaves a process's goroutines where they are: whatever they ask of their connections, they wait.
func (d *door) crash() {
	d.crashed.Store(true)
	d.world.cfg.places.bury(d.process.pending())
	for _, c := range d.process.clients {
		c.(*wireClient).drop()
	}
}

// release takes the servers away. Lines of connections that the world will close answer by themselves from now on, so
// that closing one takes no time: the code may be closing it, too, and who comes second waits with a mutex, which stops
// the world if the first waits for anything that only the world gives.
func (d *door) release() {
	for _, c := range d.process.clients {
		if c := c.(*wireClient); c.line != nil && c.line.door == d {
			if c.connected && c.line.conn != 0 {
				c.line.part()
			}
			c.drop()
		}
	}
	for _, l := range d.lines {
		l.finish()
	}
	close(d.released)
}

// closeTime is how long it takes at most until a released connection of go-zookeeper's is there again, or has been
// closed by the code: it pauses for a second between dials, and gives up closing after another.
const closeTime = 3 * time.Second

// closeDoors releases all doors, and closes the connections that the world knows.
func (w *World) closeDoors() {
	if w.door == InProcess {
		return
	}
	for _, d := range w.doors {
		d.release()
	}
	time.Sleep(closeTime)
	for _, d := range w.doors {
		for _, conn := range d.own {
			go conn.Close()
			synctest.Wait()
		}
		d.closed.Store(true)
		for _, l := range d.lines { // of what the code has opened meanwhile
			l.hangUp()
		}
	}
}

// shutDoors ends the goroutines that still look for a server. Without them nothing keeps the bubble going for ever.
func (w *World) shutDoors() {
	for _, d := range w.doors {
		d.shut.Store(true)
	}
	if w.door != InProcess {
		time.Sleep(time.Minute)
		synctest.Wait()
	}
}
