package world

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// Door is how clients reach the servers of an episode.
type Door uint8

const (
	// InProcess is a [goclient.Conn], which imitates go-zookeeper: fast, and exactly repeatable.
	InProcess Door = iota
	// OverWire gives each process a *zk.Conn of the unmodified go-zookeeper, over connections in memory: [User.ZK].
	OverWire
	// ByDialer lets the code connect by itself, as often as it likes: [User.Dial].
	ByDialer
)

// Wired reports whether clients reach the servers over connections, and not in process.
func (d Door) Wired() bool { return d != InProcess }

// door is how the code of one incarnation of a process reaches the servers over the wire.
type door struct {
	world   *World
	process *process
	conn    *zk.Conn   // that all users of the process share; nil if they dial by themselves
	own     []*zk.Conn // that the users have opened with [User.ZKOption]; guarded by World.mu
	events  <-chan zk.Event
	lines   []*line.Line // dialled so far; guarded by World.mu
	conns   int          // that the world knows, and closes; guarded by World.mu

	crashed  atomic.Bool   // the process is dead: what its goroutines call stays there …
	released chan struct{} // … until the episode is over: see release
	closed   atomic.Bool   // the world has closed the connections that it knows
	shut     atomic.Bool   // goroutines that still dial end
	unknown  atomic.Bool   // a connection was dialled for a *zk.Conn that the world does not know
}

// openDoor gives a process that begins a way to the servers.
func (p *process) openDoor() {
	w := p.world
	p.door = &door{world: w, process: p, released: make(chan struct{})}
	p.clients = p.clients[:0]
	w.doors = append(w.doors, p.door)
	if w.door != OverWire {
		return
	}
	p.door.conns = 1
	bubble.As(owner{world: w, process: p, door: p.door}.number(), p.door.connect)
	w.settle()
	takeHanded(w)
}

// connect opens the connection that all users of the process share.
func (d *door) connect() {
	conn, events, err := zk.Connect(line.Addresses, sessionTimeout*time.Millisecond, zk.WithHostProvider(&line.Hosts{}),
		zk.WithDialer(d.dialer(-1, 1)), zk.WithLogger(line.Silence{}), zk.WithLogInfo(false))
	if err != nil {
		panic(fmt.Errorf("go-zookeeper does not connect to %v: %w", line.Addresses, err))
	}
	d.conn, d.events, d.own = conn, events, []*zk.Conn{conn}
}

// dialer dials on behalf of a user, -1 for all of them, for the *zk.Conn with a number, which the world closes; 0 if it
// is not known for which.
func (d *door) dialer(user, conn int) zk.Dialer {
	return func(_, _ string, timeout time.Duration) (net.Conn, error) {
		l := line.New(d, user, conn)
		switch late, err := d.knock(l); {
		case err != nil:
			return nil, err
		case late:
			return l, nil
		}
		var over <-chan time.Time
		if timeout > 0 {
			timer := time.NewTimer(timeout)
			defer timer.Stop()
			over = timer.C
		}
		return dialed(l, over)
	}
}

// knock hands a dial to the loop, unless it is too late for that.
func (d *door) knock(l *line.Line) (late bool, err error) {
	select {
	case <-d.released:
		return true, d.dialLate(l)
	default:
	}
	if d.Dead() {
		return false, d.Stay()
	}
	d.hand(handed{line: l, kind: handedDial})
	return false, nil
}

// dialLate dials when the episode is over.
func (d *door) dialLate(l *line.Line) error {
	switch {
	case l.Conn != 0 && !d.closed.Load():
		l.Part()
		d.world.enter()
		d.note(l)
		d.world.mu.Unlock()
		return nil
	case d.shut.Load():
		runtime.Goexit()
	case l.Conn == 0:
		l.Expire()
		return nil
	}
	return line.ErrRefused
}

// option makes a connection dial by the door, and lets the world close it.
func (d *door) option(user int) func(*zk.Conn) {
	return func(conn *zk.Conn) {
		d.world.enter()
		d.own = append(d.own, conn)
		d.conns++
		number := d.conns
		d.world.mu.Unlock()
		zk.WithHostProvider(&line.Hosts{})(conn)
		zk.WithDialer(d.dialer(user, number))(conn)
	}
}

// dialed waits until the loop lets the dial succeed or fail, or the dialler's time is over.
func dialed[T any](l *line.Line, over <-chan T) (net.Conn, error) {
	var err error
	select {
	case err = <-l.Dialed:
	case <-over:
		l.Close()
		err = &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	switch {
	case l.Host.Dead():
		return nil, l.Host.Stay()
	case err != nil:
		return nil, err
	}
	return l, nil
}

// Dead reports whether the process is dead.
func (d *door) Dead() bool { return d.crashed.Load() }

// Stay keeps a goroutine of a dead process until the episode is over.
func (d *door) Stay() error {
	<-d.released
	return io.EOF
}

// handed is what goroutines of clients hand to the loop.
type handed struct {
	line  *line.Line
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
	h.user = h.line.User
	if h.user < 0 {
		h.user = d.process.runs()
	}
	w.handed = append(w.handed, h)
	w.wake()
}

// Fence orders what the loop has done before what a timer has woken, see [World.enter].
func (d *door) Fence() { d.world.fence.Load() }

// Held reports whether what the servers send stays on the way.
func (d *door) Held() bool { return d.process.held }

// Takes hands a frame to the loop that the code has written.
func (d *door) Takes(l *line.Line, frame []byte) {
	d.hand(handed{line: l, kind: handedFrame, frame: frame})
}

// Closes tells the loop that the code has closed a connection.
func (d *door) Closes(l *line.Line) { d.hand(handed{line: l, kind: handedClose}) }

// doorOf is the door by which a line was dialled.
func doorOf(l *line.Line) *door { return l.Host.(*door) }

// note numbers a line. World.mu is held.
func (d *door) note(l *line.Line) {
	d.lines = append(d.lines, l)
	l.Number = len(d.lines)
}

// takeHanded takes what clients have handed in: those of one line in their order, the lines in an order that does not
// depend on the Go scheduler.
func takeHanded(w *World) {
	for len(w.handed) > 0 {
		all := w.handed
		w.handed = nil
		slices.SortStableFunc(all, func(a, b handed) int {
			return cmp.Or(doorOf(a.line).process.id-doorOf(b.line).process.id, a.line.Number-b.line.Number)
		})
		for _, h := range all {
			if doorOf(h.line) == doorOf(h.line).process.door { // not of a process that has died since
				take(w, h)
			}
		}
	}
}

func take(w *World, h handed) {
	p := doorOf(h.line).process
	switch h.kind {
	case handedDial:
		p.clientFor(h.line.Conn).line = h.line
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
func (p *process) clientFor(conn int) *wireClient {
	w := p.world
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
func (p *process) clientAt(l *line.Line) *wireClient {
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
	d.world.cfg.Places.Bury(d.process.pending())
	for _, c := range d.process.clients {
		c.(*wireClient).drop()
	}
}

// release takes the servers away. Lines of connections that the world will close answer by themselves from now on, so
// that closing one takes no time: the code may be closing it, too, and who comes second waits with a mutex, which stops
// the world if the first waits for anything that only the world gives.
func (d *door) release() {
	for _, c := range d.process.clients {
		if c := c.(*wireClient); c.line != nil && doorOf(c.line) == d {
			if c.connected && c.line.Conn != 0 {
				c.line.Part()
			}
			c.drop()
		}
	}
	for _, l := range d.lines {
		l.Finish()
	}
	close(d.released)
}

// closeTime is how long it takes at most until a released connection of go-zookeeper's is there again, or has been
// closed by the code: it pauses for a second between dials, and gives up closing after another.
const closeTime = 3 * time.Second

// closeDoors releases all doors, and closes the connections that the world knows.
func closeDoors(w *World) {
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
			l.HangUp()
		}
	}
}

// lateTime is how long code may look for a server when the episode is over, where the world cannot close its
// connections. They have been told that their sessions are gone, and each request fails within a second or two.
const lateTime = 7 * time.Second

// tireDoors ends the goroutines of such connections, which would go on for minutes.
func tireDoors(w *World) {
	own := slices.DeleteFunc(slices.Clone(w.doors), func(d *door) bool { return !d.unknown.Load() })
	if len(own) > 0 {
		time.Sleep(lateTime)
	}
	reap(w, func(o owner) bool { return o.door != nil && o.door.unknown.Load() })
	for _, d := range own {
		d.shut.Store(true)
	}
}

// shutDoors ends the goroutines that still look for a server. Without them nothing keeps the bubble going for ever.
func shutDoors(w *World) {
	for _, d := range w.doors {
		d.shut.Store(true)
	}
	if w.door != InProcess {
		time.Sleep(time.Minute)
		synctest.Wait()
	}
}

// outsider says whose code goes beyond its process or the world: something failed because a call was barred that would have
// left the world; or somebody waits for a mutex that processes share; or it is given [User.ZKOption] and [User.Dial], began
// an operation, or panicked, and has never dialled by the door. It is "" if there is none. An ordinary build cannot hold code
// that dials by itself; it sees what comes of it: this, and what package runner finds in a world that stands still.
func outsider(w *World) string {
	if len(w.barred) > 0 {
		for _, op := range w.ops {
			if because := (*barred)(nil); errors.As(op.Err, &because) {
				return fmt.Sprintf("%s, so c%d's %s failed", because.told(), op.Client+1, op.Name)
			}
		}
		if len(w.panicked) > 0 {
			return fmt.Sprintf("%s, and %s", w.barred[0].told(), w.panicked[0].Message)
		}
	}
	if shared := sharedMutex(w); shared != "" || w.door != ByDialer || bubble.Exact && len(w.barred) == 0 {
		return shared
	}
	how := HowToConnect
	if len(w.barred) > 0 {
		how = w.barred[0].told()
	}
	for _, p := range w.procs {
		if p.door == nil || p.door.Dead() || len(p.door.lines) > 0 {
			continue
		}
		i := slices.IndexFunc(w.ops, func(op *Op) bool { return op.Client == p.id && op.Incarnation == p.incarnation })
		switch {
		case i >= 0 && w.ops[i].Err != nil:
			return fmt.Sprintf("%s. c%d never dialled, and its %s failed: %v", how, p.id+1, w.ops[i].Name, w.ops[i].Err)
		case len(w.panicked) > 0:
			return how + ". It never dialled, and " + w.panicked[0].Message
		case i >= 0:
			return fmt.Sprintf("%s. c%d began its %s, and never dialled", how, p.id+1, w.ops[i].Name)
		}
	}
	return ""
}

// noLog keeps go-zookeeper's log of simulated servers off the screen: it would drown the story. Who has set a logger has it.
var noLog = sync.OnceFunc(func() {
	if zk.DefaultLogger == libraryLogger {
		zk.DefaultLogger = line.Silence{}
	}
})

// libraryLogger is the logger that go-zookeeper has at first.
var libraryLogger = zk.DefaultLogger

// prepareNet lets package net make its own things before code in a bubble looks a name up: the channels among them
// would belong to that bubble, and end the process when anybody else uses them.
var prepareNet = sync.OnceFunc(func() {
	host, _, _ := net.SplitHostPort(line.Addresses[0])
	net.LookupHost(host)
})

const HowToConnect = "the code connects without the option that the simulated world gives. Run it by torture test, in " +
	"whose worlds zk.Connect(s.Addresses, timeout) is enough, s being the workload.Servers; or pass the option on: " +
	"zk.Connect(s.Addresses, timeout, s.Option); or, where the code takes a dialer only, " +
	"zk.Connect(s.Literals, timeout, zk.WithDialer(s.Dial))"

// usage is which of a process's connections a user goes by, where its code opens them by itself: what it gets by an
// operation depends on the one over which it has last asked for an ephemeral znode; if it asked for none, for a change;
// if for none of these, for anything. An operation that asks for nothing goes by the one of the operation before.
type usage struct {
	client  *wireClient // nil: none
	session int64       // its own when that was asked for
	rank    askRank
}

// askRank is how much depends on a request.
type askRank uint8

const (
	asksNothing askRank = iota
	asks
	asksChange
	asksEphemeral
)

func rankOf(r *fakezk.Request) (rank askRank) {
	switch {
	case r.Op == wire.OpCloseSession:
		return asksNothing
	case r.Op == wire.OpMulti:
		for i := range r.Ops {
			rank = max(rank, rankOf(&r.Ops[i]))
		}
		return rank
	case reads(r.Op) || r.Op == wire.OpCheck:
		return asks
	case r.Flags&zk.FlagEphemeral != 0 && (r.Op == wire.OpCreate || r.Op == wire.OpCreate2):
		return asksEphemeral
	}
	return asksChange
}

// use notes that a request goes over a client.
func (u *usage) use(c *wireClient, r *fakezk.Request) {
	if rank := rankOf(r); rank != asksNothing && rank >= u.rank {
		*u = usage{c, c.Session(), rank}
	}
}

// severalConns reports whether the process's code opens connections by itself.
func (p *process) severalConns() bool { return p.door != nil && p.door.conn == nil }

// used is what the operation has used, or those around it, or the one before.
func (op *Op) used() usage {
	for o := op; o != nil; o = o.outer {
		if o.over.client != nil {
			return o.over
		}
	}
	return op.user.over
}

// Session is the one that the operation goes by now: the present one of its client, of a client that has none any more
// the last that the operation has used.
func (op *Op) Session() int64 {
	used := op.used()
	if !op.user.process.severalConns() || used.client == nil {
		return op.user.process.session()
	}
	if present := used.client.Session(); present != 0 {
		return present
	}
	return used.session
}

// owner is whose code a goroutine runs: that of an incarnation of a process, or the world's own.
type owner struct {
	world   *World
	process *process // nil: the world's own code
	user    *User    // in one life of its process; nil: the world's own code, and that of a connection that users share
	door    *door    // nil in process, and of the world's own code
}

// owners are those of the worlds that run, by the numbers that the runtime knows.
var owners struct {
	sync.Mutex
	last uint64
	all  map[uint64]owner
}

// outside says why the world cannot lead the code to its servers at the addresses that it expects, "" if it can.
func (t *Terms) outside() string {
	switch {
	case len(t.At) == 0 || bubble.Exact && t.Door == ByDialer:
		return ""
	case t.Door != ByDialer:
		return "workload.At is for code that connects by itself: let it take workload.Servers (workload.Of)"
	}
	return fmt.Sprintf("the code connects by itself to %s, which leads to the simulated servers in exact mode only: run it by "+
		"torture test, or torture run --exact; or pass the option on that the simulated world gives: "+
		"zk.Connect(s.Addresses, timeout, s.Option), s being the workload.Servers", strings.Join(t.At, ", "))
}

// number gives an owner a number, 0 but in exact mode.
func (o owner) number() uint64 {
	if !bubble.Exact {
		return 0
	}
	owners.Lock()
	defer owners.Unlock()
	if owners.all == nil {
		owners.all = map[uint64]owner{}
	}
	owners.last++
	owners.all[owners.last] = o
	return owners.last
}

// reap ends the goroutines of processes, and reports whether it can, which is in exact mode. They run nothing any more, and
// the world has nothing to close for them.
func reap(w *World, whose func(owner) bool) bool {
	if w.tape == nil {
		return false
	}
	owners.Lock()
	defer owners.Unlock()
	for number, o := range owners.all {
		if o.world != w || o.process == nil || !whose(o) {
			continue
		}
		if bubble.Reap(number); o.door != nil {
			o.door.own = nil
		}
	}
	return true
}

// disown forgets the owners of a world that has ended.
func disown(w *World) {
	owners.Lock()
	defer owners.Unlock()
	for number, o := range owners.all {
		if o.world == w {
			delete(owners.all, number)
		}
	}
}

func ownerNumbered(number uint64) (o owner, known bool) {
	owners.Lock()
	defer owners.Unlock()
	o, known = owners.all[number]
	return o, known
}

// place is an address at which code that connects by itself reaches the world's servers.
type place struct {
	address, host string
	tcp           *net.TCPAddr // that it is looked up as
}

// places are those of a workload.
func (t *Terms) places() (all []place) {
	if !bubble.Exact || t.Door != ByDialer {
		return nil
	}
	for i, address := range slices.Concat(line.Addresses, line.Literals, t.At) {
		host, port, _ := net.SplitHostPort(address)
		p := place{address, host, &net.TCPAddr{IP: net.ParseIP(host)}}
		p.tcp.Port, _ = strconv.Atoi(port)
		if same := slices.IndexFunc(all, func(q place) bool { return q.host == host }); same >= 0 {
			p.tcp.IP = all[same].tcp.IP
		} else if p.tcp.IP == nil {
			p.tcp.IP = line.IP(i)
		}
		all = append(all, p)
	}
	return all
}

// barred is a call of package net that would have left the world.
type barred struct {
	call, at string
	instead  string // what to do, "" if there is nothing
}

func (b *barred) Error() string { return "zktorture: " + onlyServers + b.instead }

// told says what was barred, and where.
func (b *barred) told() string {
	return fmt.Sprintf("%s is barred, at %s: %s%s", b.call, b.at, onlyServers, b.instead)
}

const onlyServers = "the simulated world has its ZooKeeper servers and no other network"
