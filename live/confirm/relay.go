package confirm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// relay says to real servers what was said to simulated ones.
type relay struct {
	cfg      Config
	admin    recipes.Conn
	setUp    func() error              // before anybody connects; nil when it is done
	conns    map[int32]*relayedConn    // that are open, by their number in the simulation
	sessions map[int64]*relayedSession // by session of the simulation
	zxids    map[int64]int64           // real ones, by those of the simulation
	held                               // followers that are dialled
	missed   bool                      // an event of a session's end has not come before its connection's
}

// relayedSession is a session of real servers.
type relayedSession struct {
	wire.ConnectResponse
	zxid   int64 // the last that its client has seen
	server int   // to which it was connected last
	over   bool
}

// relayedConn is a connection to a real server.
type relayedConn struct {
	net.Conn
	session *relayedSession
	arrives chan []byte   // closed when the server has closed the connection
	ended   chan struct{} // closed at its end
	arrived [][]byte      // but for answers to pings
	closed  bool
	asked   []string // the paths of requests that were not answered yet
}

// relayed says all to real servers that was said in a run.
func relayed(ctx context.Context, w *workload.Workload, property string, r *sim.Replayed, cfg Config) (*Confirmation, error) {
	if !slices.ContainsFunc(r.Record.Talk, func(t world.Talk) bool { return t.Kind == world.TalkHello }) {
		return &Confirmation{Untried: "its code has said nothing to the servers"}, nil
	}
	admin := cfg.own[0]
	l := &relay{
		cfg: cfg, held: held{Followers: cfg.Followers}, admin: admin, conns: map[int32]*relayedConn{},
		setUp:    func() error { return w.SetUp(admin, world.Root0+"/"+w.Name()) },
		sessions: map[int64]*relayedSession{}, zxids: map[int64]int64{},
	}
	defer l.end(ctx)
	if err := clearBelow(admin, "/"); err != nil {
		return nil, err
	}
	for _, t := range r.Record.Talk {
		l.add(t.Server)
	}
	out := &Confirmation{}
	for _, t := range r.Record.Talk {
		turn, cancel := context.WithCancel(ctx)
		go endLate(turn, cancel, cfg.Patience, cfg.own)
		err := l.pass(turn, t)
		cancel()
		if err != nil {
			out.Step, out.Difference, out.missed = t.Step, err.Error(), l.missed
			return out, ctx.Err()
		}
	}
	if r.Violation != nil && r.Violation.Property == property {
		out.Violation = r.Violation
	}
	return out, nil
}

// clearBelow deletes what is below a znode, but what is ZooKeeper's own.
func clearBelow(c recipes.Conn, parent string) error {
	names, _, err := c.Children(parent)
	for _, name := range names {
		below := path.Join(parent, name)
		if below == "/zookeeper" {
			continue
		}
		if err := clearBelow(c, below); err != nil {
			return err
		}
		if err := c.Delete(below, -1); err != nil && err != zk.ErrNoNode {
			return fmt.Errorf("%s cannot be deleted: %w", below, err)
		}
	}
	return err
}

// pass has happen what has happened in the simulation.
func (l *relay) pass(ctx context.Context, t world.Talk) error {
	if err := l.follow(ctx, t.Behind); err != nil {
		return err
	}
	c := l.conns[t.Conn]
	switch t.Kind {
	case world.TalkMakes:
		_, err := l.admin.Create(t.Path, nil, 0, zk.WorldACL(zk.PermAll))
		return err
	case world.TalkDeletes:
		return l.admin.Delete(t.Path, -1)
	case world.TalkHello:
		return l.hello(ctx, t)
	case world.TalkEnds:
		return l.expire(ctx, l.sessions[t.Session])
	case world.TalkDropped:
		if c != nil {
			c.Close()
			delete(l.conns, t.Conn)
		}
		return nil
	}
	if c == nil {
		return errors.New("there is no such connection")
	}
	switch t.Kind {
	case world.TalkRequest:
		return l.request(ctx, c, t.Frame)
	case world.TalkReply:
		return l.reply(c, t)
	case world.TalkEvent:
		return l.event(ctx, c, t.Frame)
	}
	if !c.await(ctx, func() bool { return c.closed }) || len(c.arrived) > 0 {
		return errors.New("the server has not closed the connection")
	}
	return nil
}

// await receives until something is so; false if that does not come.
func (c *relayedConn) await(ctx context.Context, so func() bool) bool {
	for !so() {
		if c.closed {
			return false
		}
		select {
		case frame, more := <-c.arrives:
			if c.closed = !more; more {
				c.arrived = append(c.arrived, frame)
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// receive receives what the server sends.
func (c *relayedConn) receive() {
	defer close(c.arrives)
	defer close(c.ended)
	for {
		frame, err := wire.ReadFrame(c, nil, wire.FrameMax)
		if err != nil {
			return
		}
		if header, _ := replied(frame); header.Xid != wire.XidPing {
			c.arrives <- frame
		}
	}
}

// replied is the header of a frame of a server's, and what follows it.
func replied(frame []byte) (header wire.ReplyHeader, body []byte) {
	body, _ = wire.Parse(frame, &header)
	return header, body
}

// pingEvery is how often real servers hear of each client at least. Sessions last longer.
const pingEvery = 3 * time.Second

// ping has the server hear of the client, however long a step takes.
func (c *relayedConn) ping() {
	for {
		select {
		case <-c.ended:
			return
		case <-time.After(pingEvery):
			c.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}))
		}
	}
}

// backlog is how many frames of a server wait unread.
const backlog = 1 << 12

// dial shakes hands with a server. There is no answer if it closes the connection, and no session if that has ended.
func (l *relay) dial(ctx context.Context, server int, asked wire.ConnectRequest) (c *relayedConn, answer *wire.ConnectResponse, err error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", l.cfg.Servers[server])
	if err != nil {
		return nil, nil, err
	}
	c = &relayedConn{Conn: raw, arrives: make(chan []byte, backlog), ended: make(chan struct{})}
	go c.receive()
	raw.Write(wire.AppendFrame(nil, &asked)) // if that fails the connection is closed
	if c.await(ctx, func() bool { return len(c.arrived) > 0 }) {
		answer = new(wire.ConnectResponse)
		_, err = wire.Parse(c.arrived[0], answer)
		c.arrived = c.arrived[1:]
	} else if !c.closed {
		err = errors.New("the server does not answer the handshake")
	}
	if err != nil || answer == nil || answer.Session == 0 {
		raw.Close()
	}
	return c, answer, err
}

// hello connects a client.
func (l *relay) hello(ctx context.Context, t world.Talk) error {
	if l.setUp != nil {
		if err := l.setUp(); err != nil {
			return err
		}
		l.setUp = nil
	}
	var asked wire.ConnectRequest
	wire.Parse(t.Frame, &asked) // as the simulation has done
	s := l.sessions[asked.Session]
	if s != nil {
		asked.Session, asked.Password, asked.LastZxid = s.Session, s.Password, s.zxid
	}
	return l.through(t.Server, asked.Session == 0, func() error {
		c, answer, err := l.dial(ctx, t.Server, asked)
		switch {
		case err != nil:
			return err
		case (answer == nil) != t.Refused:
			return fmt.Errorf("the server refuses the connection: %v, and not %v", answer == nil, t.Refused)
		case answer != nil && (answer.Session == 0) != (t.Session == 0):
			return fmt.Errorf("the session has ended: %v, and not %v", answer.Session == 0, t.Session == 0)
		case answer == nil || answer.Session == 0:
			return nil
		}
		if s == nil {
			s = &relayedSession{}
			l.sessions[t.Session] = s
		}
		s.ConnectResponse, s.server = *answer, t.Server
		c.session, l.conns[t.Conn] = s, c
		go c.ping()
		return nil
	})
}

// request has a request arrive at its server, and waits until that has answered.
func (l *relay) request(ctx context.Context, c *relayedConn, frame []byte) error {
	var header wire.RequestHeader
	body, _ := wire.Parse(frame, &header)
	asked := wire.NewRequest(header.Op)
	if asked != nil {
		wire.Parse(body, asked) // what cannot be read has no path
	}
	if zxid := part[int64](asked, "LastZxid"); zxid != nil { // it sets its watches again
		*zxid = c.session.zxid
		frame = wire.AppendFrame(nil, &header, asked)[lengthBytes:]
	}
	c.asked = append(c.asked, wire.PathOf(asked))
	c.session.over = c.session.over || header.Op == wire.OpCloseSession
	return l.through(c.session.server, header.Op.Writes() || header.Op == wire.OpSync, func() error {
		c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)) // if that fails the connection is closed
		answered := c.await(ctx, func() bool {
			return slices.ContainsFunc(c.arrived, func(frame []byte) bool {
				answer, _ := replied(frame)
				return answer.Xid == header.Xid
			})
		})
		if !answered && !c.closed {
			return errors.New("the server has not answered")
		}
		return nil
	})
}

// lengthBytes are in front of each frame.
const lengthBytes = 4

// reply compares the next that a server has sent with the reply of the simulation.
func (l *relay) reply(c *relayedConn, t world.Talk) error {
	if len(c.arrived) == 0 || len(c.asked) == 0 {
		return fmt.Errorf("the server has closed the connection, and not answered the %v", t.Asked)
	}
	simulated, simulatedBody := replied(t.Frame[lengthBytes:])
	real, realBody := replied(c.arrived[0])
	path := c.asked[0]
	c.arrived, c.asked = c.arrived[1:], c.asked[1:]
	switch {
	case real.Xid != simulated.Xid:
		return fmt.Errorf("something else arrives before the reply to the %v of %s", t.Asked, path)
	case real.Err != simulated.Err:
		return fmt.Errorf("the %v of %s is answered with the error %d, and not %d", t.Asked, path, real.Err, simulated.Err)
	}
	c.session.zxid = max(c.session.zxid, real.Zxid)
	a, b := wire.NewReply(t.Asked), wire.NewReply(t.Asked)
	if a == nil || len(simulatedBody) == 0 || len(realBody) == 0 {
		a, b = simulatedBody, realBody
	} else {
		wire.Parse(simulatedBody, a)
		wire.Parse(realBody, b)
		l.rename(a, b, path)
	}
	if want, got := told(a), told(b); got != want {
		return fmt.Errorf("the %v of %s is answered with %s, and not %s", t.Asked, path, got, want)
	}
	return nil
}

// told is all that a record says.
func told(r wire.Record) (all string) {
	multi, is := r.(*wire.MultiReply)
	if !is {
		return fmt.Sprintf("%+v", r)
	}
	for _, op := range multi.Ops {
		all += fmt.Sprintf("[%v %d %s]", op.Op, op.Err, told(op.Record))
	}
	return all
}

// rename gives what a real server has answered the names and times of the simulation, as far as they fit, and both lists of
// names one order.
func (l *relay) rename(simulated, real wire.Record, path string) {
	a, same := simulated.(*wire.MultiReply)
	if b, too := real.(*wire.MultiReply); same && too && len(a.Ops) == len(b.Ops) {
		for i := range a.Ops {
			l.rename(a.Ops[i].Record, b.Ops[i].Record, path)
		}
		return
	}
	if x, y := part[zk.Stat](simulated, "Stat"), part[zk.Stat](real, "Stat"); x != nil && y != nil {
		own := path == "/" || strings.HasPrefix(path, "/zookeeper") // of which others know, too
		owner := l.sessions[x.EphemeralOwner]
		switch {
		case own:
			*y = *x
		case owner != nil && owner.Session == y.EphemeralOwner:
			y.EphemeralOwner = x.EphemeralOwner
		}
		for _, zxid := range [][2]*int64{{&x.Czxid, &y.Czxid}, {&x.Mzxid, &y.Mzxid}, {&x.Pzxid, &y.Pzxid}} {
			if own || l.sameTransaction(*zxid[0], *zxid[1]) {
				*zxid[1] = *zxid[0]
			}
		}
		y.Ctime, y.Mtime = x.Ctime, x.Mtime
	}
	for _, r := range []wire.Record{simulated, real} {
		if names := part[[]string](r, "Names"); names != nil {
			slices.Sort(*names)
		}
	}
}

// part is a field of a record; nil if there is none.
func part[T any](r wire.Record, name string) *T {
	if r == nil {
		return nil
	}
	field := reflect.ValueOf(r).Elem().FieldByName(name)
	if !field.IsValid() {
		return nil
	}
	found, _ := field.Addr().Interface().(*T)
	return found
}

// sameTransaction reports whether a transaction of the simulation may be a real one: it is in the same order among others.
func (l *relay) sameTransaction(simulated, real int64) bool {
	for x, y := range l.zxids {
		if cmp.Compare(x, simulated) != cmp.Compare(y, real) {
			return false
		}
	}
	l.zxids[simulated] = real
	return true
}

// event waits for the event of a watch. Those of one transaction come in any order.
func (l *relay) event(ctx context.Context, c *relayedConn, frame []byte) error {
	_, want := replied(frame[lengthBytes:])
	at := 0
	came := c.await(ctx, func() bool {
		for at = range c.arrived {
			switch header, body := replied(c.arrived[at]); {
			case header.Xid != wire.XidWatch:
				return false
			case bytes.Equal(body, want):
				return true
			}
		}
		return false
	})
	if !came {
		l.missed = c.closed
		var event wire.WatcherEvent
		wire.Parse(want, &event)
		return fmt.Errorf("no event %v of %s comes", zk.EventType(event.Type), event.Path)
	}
	c.arrived = slices.Delete(c.arrived, at, at+1)
	return nil
}

// expire ends a session, as if by itself, by way of a server that its client is not connected to and that does not lag.
func (l *relay) expire(ctx context.Context, s *relayedSession) error {
	if s == nil || s.over {
		return nil
	}
	s.over = true
	others := l.others(s.server)
	if len(others) == 0 {
		return errors.New("there is no other server that does not lag, to end the session")
	}
	return l.through(others[0], true, func() error {
		c, answer, err := l.dial(ctx, others[0], wire.ConnectRequest{
			Timeout: s.Timeout, Session: s.Session, Password: s.Password, LastZxid: 0, ReadOnly: new(bool),
		})
		if err != nil || answer == nil || answer.Session == 0 {
			return errors.Join(errors.New("the session has ended before"), err)
		}
		defer c.Close()
		c.session = &relayedSession{server: others[0]}
		return l.request(ctx, c, wire.Append(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpCloseSession}))
	})
}

// others are the servers but one that do not lag.
func (l *relay) others(but int) (all []int) {
	for server := range l.cfg.Servers {
		if f := l.follower(server); server != but && (f == nil || !f.lags) {
			all = append(all, server)
		}
	}
	return all
}

// follow holds the followers as far behind as those of the simulation are.
func (l *relay) follow(ctx context.Context, behind []int) error {
	for _, f := range l.all {
		f.lags = behind[f.server] > 0
		if err := l.behind(ctx, f, behind[f.server]); err != nil {
			return err
		}
	}
	return nil
}

// through has something done by way of a server, which if it changes anything it is only when the server has applied it.
func (l *relay) through(server int, changes bool, do func() error) error {
	if f := l.follower(server); f != nil && changes {
		l.free(f)
	}
	return do()
}

// end ends what is left.
func (l *relay) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.Patience)
	defer cancel()
	l.freeAll()
	for _, c := range l.conns {
		c.Close()
	}
	for _, s := range l.sessions {
		l.expire(ctx, s)
	}
}
