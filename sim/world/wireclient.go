package world

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/internal/line"
)

// wireClient is a client of the unmodified go-zookeeper as its frames show it: its present connection, its session,
// and the watches that it has left. A process has one for each *zk.Conn that its code has open.
type wireClient struct {
	world   *World
	process *process
	conn    int        // the number of its *zk.Conn; 0 if it is not known
	line    *line.Line // nil: none, and it does not dial

	accepted  bool // the dial has succeeded
	stalled   bool // and nothing else will: the connection is half open
	connected bool // the handshake is done
	id        fakezk.ConnID
	replica   int
	muted     bool
	deafened  bool
	closing   bool // it has asked for the end of its session

	sent, waiting []*wireCall
	session       atomic.Int64
	zxid          int64
	watches       []wireWatch
}

// wireCall is a request on its way.
type wireCall struct {
	goclient.Call
	asked     protocol.Asked
	frame     []byte
	malformed bool
}

// wireWatch is a watch that a client waits for.
type wireWatch struct {
	path string
	kind watchKind
	user int
	tag  int64
}

// watchKind is what a watch waits for: a change of data, the creation, or a change of the children.
type watchKind uint8

const (
	watchData watchKind = iota
	watchExist
	watchChild
)

func (c *wireClient) Connected() (replica int, ok bool) { return c.replica, c.connected }
func (c *wireClient) Session() int64                    { return c.session.Load() }
func (c *wireClient) LastZxid() int64                   { return c.zxid }
func (c *wireClient) Queued() *goclient.Call            { return nil } // what waits inside go-zookeeper does not show
func (c *wireClient) Waiting() int                      { return len(c.waiting) }
func (c *wireClient) Watches() int                      { return len(c.watches) }
func (c *wireClient) Silent() (mute, deaf bool)         { return c.muted, c.deafened }
func (c *wireClient) GiveUp() bool                      { return false } // go-zookeeper does, by its own clock

func (c *wireClient) Connection() fakezk.ConnID {
	if !c.connected {
		return -1
	}
	return c.id
}

func (c *wireClient) Sent() *goclient.Call {
	if len(c.sent) == 0 {
		return nil
	}
	return &c.sent[0].Call
}

func (c *wireClient) Unanswered() *goclient.Call {
	if len(c.waiting) == 0 {
		return nil
	}
	return &c.waiting[0].Call
}

// Dialing reports whether a dial, or a handshake, waits for the loop.
func (c *wireClient) Dialing() bool {
	return c.line != nil && !c.connected && !c.stalled && (!c.accepted || c.line.Hello != nil)
}

// Knock lets the dial succeed, after which go-zookeeper sends its handshake at once.
func (c *wireClient) Knock() bool {
	if l := c.line; !c.accepted {
		c.accepted = true
		l.Dialed <- nil
		c.world.settle()
		takeHanded(c.world)
	}
	return c.readHello()
}

func (c *wireClient) readHello() bool {
	if c.line == nil || c.line.Hello == nil {
		return false
	}
	var asked wire.ConnectRequest
	if _, err := wire.Parse(c.line.Hello, &asked); err != nil {
		c.Break(errClosed)
		return false
	}
	c.exchangeWith(asked.Session)
	c.session.Store(asked.Session)
	c.zxid = asked.LastZxid
	return true
}

// exchangeWith takes over what another client of the process without a connection had, if the session is that one's:
// the connection is not of the client that it was taken to belong to.
func (c *wireClient) exchangeWith(session int64) {
	if session == c.session.Load() {
		return
	}
	for _, o := range c.process.clients {
		if o := o.(*wireClient); o.line == nil && o.session.Load() == session {
			o.watches, c.watches = c.watches, o.watches
			o.zxid = c.zxid
			o.session.Store(c.session.Load())
			return
		}
	}
}

// Dial lets a server answer the handshake.
func (c *wireClient) Dial(now int64, replica int) error {
	l := c.line
	id, granted, answer, err := c.shakeHands(now, replica)
	switch {
	case err != nil:
		c.lose()
		l.HangUp()
	case granted.SessionID == 0:
		c.learnExpiry()
		c.lose()
		l.Give(answer)
		l.HangUp()
	default:
		c.id, c.replica, c.connected = id, replica, true
		c.session.Store(granted.SessionID)
		l.Give(answer)
	}
	c.world.settle()
	if err != nil && !errors.Is(err, fakezk.ErrNoQuorum) {
		err = goclient.ErrRefused
	}
	return err
}

// shakeHands has a server answer the handshake.
func (c *wireClient) shakeHands(now int64, replica int) (id fakezk.ConnID, granted fakezk.ConnectResponse, answer []byte, err error) {
	var asked wire.ConnectRequest
	wire.Parse(c.line.Hello, &asked) // Knock has tried
	id, granted, err = c.world.greet(now, replica, protocol.Handshake(&asked), c.line.Hello)
	return id, granted, protocol.AppendConnected(nil, &asked, granted), err
}

// DialInVain implements [client].
func (c *wireClient) DialInVain(now int64, replica int) (session int64, err error) {
	l := c.line
	id, granted, _, err := c.shakeHands(now, replica)
	if err == nil && granted.SessionID != 0 {
		c.unplug(id)
	}
	c.lose()
	l.HangUp()
	c.world.settle()
	return granted.SessionID, err
}

// unplug breaks a connection at the servers.
func (c *wireClient) unplug(id fakezk.ConnID) {
	c.world.noteTalk(Talk{Kind: TalkDropped, Conn: int32(id)})
	c.world.servers.Drop(id)
}

// learnExpiry notes that the client is told that its session is gone.
func (c *wireClient) learnExpiry() {
	c.process.learnExpiry(c.world, c, c.session.Swap(0))
	c.zxid, c.watches = 0, nil
}

// accept takes a frame that the client has written.
func (c *wireClient) accept(h handed) {
	if h.line.Hello == nil {
		h.line.Hello = h.frame
		return
	}
	var header wire.RequestHeader
	body, err := wire.Parse(h.frame, &header)
	if err != nil {
		c.Break(errClosed)
		return
	}
	call := &wireCall{asked: protocol.Asked{Xid: header.Xid, Op: header.Op}, frame: h.frame}
	call.Request, err = protocol.ParseRequest(header.Op, body)
	call.malformed = err != nil
	call.User = c.process.userOf(h.user, &call.Request)
	if op := c.process.opOf(call.User); op != nil {
		call.Tag = op.Number
		op.over.use(c, &call.Request)
	}
	c.world.noteSent(&call.Call)
	c.process.noteAsked(&call.Call)
	noteRemovals(c.world, &call.Request, c.Session())
	c.world.cfg.Places.NoteWire(&call.Call, pending(c.world))
	c.sent = append(c.sent, call)
}

// userOf is the user on whose behalf a request was sent, -1 if it cannot be known: the user whom the loop had woken, or
// the only one.
func (p *process) userOf(woken int, r *fakezk.Request) int {
	switch {
	case r.Op == wire.OpSetWatches || r.Op == wire.OpSetWatches2:
		return -1 // go-zookeeper's own
	case woken >= 0:
		return woken
	case len(p.users) == 1:
		return 0
	}
	return -1
}

func (c *wireClient) Arrive(now int64) *goclient.Call {
	call := c.sent[0]
	c.closing = c.closing || call.Request.Op == wire.OpCloseSession
	c.sent = slices.Delete(c.sent, 0, 1)
	c.waiting = append(c.waiting, call)
	c.world.noteTalk(Talk{Kind: TalkRequest, Conn: int32(c.id), Frame: call.frame})
	if call.malformed {
		c.world.servers.Malformed(now, c.id, call.Request.Op)
	} else {
		c.world.servers.Request(now, c.id, &call.Request)
	}
	if c.world.servers.Hangs(c.id) {
		c.line.Silence(false, true) // pings behind it are not answered either
	}
	return &call.Call
}

func (c *wireClient) Deliver() (fakezk.Message, *goclient.Call) {
	m, ok := c.world.servers.Next(c.id)
	if !ok {
		return m, nil
	}
	l, call, user := c.line, (*wireCall)(nil), -1
	talk := Talk{Kind: TalkClosed, Conn: int32(c.id)}
	switch {
	case m.Closed:
		c.world.noteTalk(talk)
		c.Break(errClosed)
		return m, nil
	case m.Reply != nil:
		call = c.waiting[0]
		c.waiting = slices.Delete(c.waiting, 0, 1)
		user = call.User
		c.note(call, m.Reply)
		talk.Kind, talk.Asked, talk.Frame = TalkReply, call.asked.Op, protocol.AppendReply(nil, call.asked, m.Reply)
	default:
		user = c.fire(m)
		talk.Kind, talk.Frame = TalkEvent, protocol.AppendEvent(nil, &m)
	}
	c.world.noteTalk(talk)
	l.Give(talk.Frame)
	c.process.wake(c.world, user)
	if call == nil {
		return m, nil
	}
	return m, &call.Call
}

// note notes what a reply tells the client: the watch that its request has left, and the last transaction.
func (c *wireClient) note(call *wireCall, reply *fakezk.Response) {
	if reply.Zxid > 0 {
		c.zxid = reply.Zxid
	}
	if !call.Request.Watch {
		return
	}
	w := wireWatch{path: call.Request.Path, user: call.User, tag: call.Tag}
	switch {
	case reply.Err == wire.CodeNoNode && call.Request.Op == wire.OpExists:
		w.kind = watchExist
	case reply.Err != wire.CodeOK:
		return
	case call.Request.Op == wire.OpGetChildren || call.Request.Op == wire.OpGetChildren2:
		w.kind = watchChild
	}
	c.watches = append(c.watches, w)
}

// fire takes away the watches that an event concerns, and returns the user that has left them, -1 if several have.
func (c *wireClient) fire(m fakezk.Message) (user int) {
	user = none
	c.watches = slices.DeleteFunc(c.watches, func(w wireWatch) bool {
		hit := w.path == m.Path && w.waitsFor(m.Event)
		switch {
		case !hit:
		case user == none || user == w.user:
			user = w.user
		default:
			user = -1
		}
		return hit
	})
	return max(user, -1)
}

// none is less than every user.
const none = -2

func (w wireWatch) waitsFor(event zk.EventType) bool {
	switch event {
	case zk.EventNodeCreated:
		return w.kind == watchExist
	case zk.EventNodeDataChanged:
		return w.kind != watchChild
	case zk.EventNodeChildrenChanged:
		return w.kind == watchChild
	}
	return event == zk.EventNodeDeleted
}

func (c *wireClient) WatchedBy(path string, list []goclient.Watcher) []goclient.Watcher {
	for _, w := range c.watches {
		if w.path == path {
			list = append(list, goclient.Watcher{User: w.user, Tag: w.tag})
		}
	}
	return list
}

// Break ends the connection. With errReset the client finds out when it writes next.
func (c *wireClient) Break(err error) {
	l := c.drop()
	switch {
	case l == nil:
		return
	case err == line.ErrReset:
		l.Reset()
		return
	}
	l.HangUp()
	c.world.settle()
}

// drop breaks the connection at the servers: what is on its way is lost.
func (c *wireClient) drop() *line.Line {
	l := c.line
	if c.connected {
		c.unplug(c.id)
	}
	c.lose()
	return l
}

// lose forgets the connection.
func (c *wireClient) lose() {
	c.line, c.accepted, c.stalled, c.connected, c.muted, c.deafened = nil, false, false, false, false, false
	c.sent, c.waiting = c.sent[:0], c.waiting[:0]
	if c.closing {
		c.closing, c.watches = false, nil
		c.session.Store(0)
	}
}

// hangUp is the client's end of the connection. What it has written before arrives.
func (c *wireClient) hangUp() {
	for c.connected && len(c.sent) > 0 {
		w := c.world
		w.noteRequest(c.process, c, c.process.carryOut(c), fakezk.Message{})
	}
	c.drop()
	c.process.held = false
}

// BreakUnsent refuses the dials until go-zookeeper has tried each address, after which it fails the requests that wait.
func (c *wireClient) BreakUnsent() {
	for range line.Addresses {
		c.refuse()
	}
}

// refuse lets a dial fail.
func (c *wireClient) refuse() {
	if l := c.line; l != nil && !c.accepted {
		c.lose()
		l.Dialed <- line.ErrRefused
		c.world.settle()
		takeHanded(c.world)
	}
}

// stall lets a dial succeed, and nothing come of it.
func (c *wireClient) stall() {
	c.accepted, c.stalled = true, true
	c.line.Silence(true, true)
	c.line.Dialed <- nil
	c.world.settle()
}

// Losses implements [client].
func (c *wireClient) Losses() []loss {
	switch {
	case c.connected && len(c.sent) > 0:
		return lossesOfFrame
	case c.connected:
		return lossesOfLine
	case c.line != nil && !c.accepted && c.Session() == 0:
		return lossesOfNew
	case c.line != nil && !c.accepted:
		return lossesOfDial
	}
	return nil
}

// mute loses what the client sends from here on, and what is on its way; deafen what it is sent.
func (c *wireClient) mute() {
	c.muted, c.sent = true, c.sent[:0]
	c.line.Silence(true, false)
}

func (c *wireClient) deafen() {
	c.deafened = true
	c.line.Silence(false, true)
}

// Heal implements [client].
func (c *wireClient) Heal() {
	if c.muted || c.deafened || c.stalled {
		c.Break(errClosed)
	}
}

// pending are the requests of all processes that wait for an answer.
func pending(w *World) (calls []*goclient.Call) {
	for _, p := range w.procs {
		calls = append(calls, p.pending()...)
	}
	return calls
}

// pending are the requests of the process that wait for an answer.
func (p *process) pending() (calls []*goclient.Call) {
	for _, c := range p.clients {
		c := c.(*wireClient)
		for _, call := range slices.Concat(c.sent, c.waiting) {
			calls = append(calls, &call.Call)
		}
	}
	return calls
}
