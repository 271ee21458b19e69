package goclient

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Network carries the requests of a Client. The simulator is one, and so is [Local].
type Network interface {
	// Submit hands over a call. It runs on the goroutine of the recipe, which then waits for the call to complete;
	// several goroutines may submit at the same time.
	Submit(call *Call)
}

// Call is one request of a recipe on its way to a server and back.
type Call struct {
	Request fakezk.Request
	User    int   // which handle of the connection it came through, see [Client.Handle]
	Tag     int64 // the network's to use; kept with the watch that the call leaves

	client   *Client
	reply    *fakezk.Response
	watch    chan zk.Event
	done     chan error
	internal bool // sent by the client library itself; nobody waits
}

// Client returns the client that the call belongs to.
func (call *Call) Client() *Client { return call.client }

// Client is the state of go-zookeeper's Conn: session, watches, pending requests. It is passive. Recipes call the
// methods of its [Conn] handles; the owner of the network (one goroutine) moves it with Dial, Arrive, Deliver and
// Break, and nothing else changes it. Each of them wakes the recipe's goroutines one at a time and waits after each
// (see [NewClient]).
//
// Invariant: a call is in exactly one of unsent (no connection yet), sent (on the wire, not arrived) and waiting
// (arrived, reply not delivered), or it is completed.
type Client struct {
	network Network
	servers Servers
	settle  func()

	conn      fakezk.ConnID
	connected bool
	replica   int
	server    atomic.Int32 // the replica that it is or was last connected to, from 1; 0: none
	session   atomic.Int64
	state     atomic.Int32
	password  []byte
	timeout   int64
	lastZxid  int64
	creds     []authInfo

	unsent, sent, waiting []*Call

	stalls stalls

	expiries int // that it has learned of

	watches watches
	events  events
	closing atomic.Bool // Close has been called
	closed  atomic.Bool // and has come to its end
	killed  atomic.Bool
	dead    atomic.Bool   // see Die
	buried  chan struct{} // closed by Finish and Kill, if it is dead
	refused atomic.Int64  // calls since

	// Memory of latest, unsent, sent, waiting and watches, as long as that suffices.
	latestRoom  [4]zk.Event
	callsRoom   [3][2]*Call
	watchesRoom [2]watch

	// Semantics is the client library that is imitated, go-zookeeper unless set before the first request.
	Semantics ClientSemantics

	// HoldEvents keeps events from the channels of [Conn.SessionEvents] until Tell hands them over, one at a
	// time. To be set before the first request.
	HoldEvents bool

	// SettlesWoken says that the wait of [NewClient] is needed only after a goroutine was woken.
	SettlesWoken bool

	// GUIDSeed makes the identities of this client's handles differ from other clients'.
	GUIDSeed uint32

	// OnWait, if set, is what [Conn.BeginsToWait] calls.
	OnWait func()

	// OnExpired, if set, is called when the client learns that its session is gone.
	OnExpired func(session int64)

	// OnLearned, if set, is called on a goroutine of a user that sees by [Conn.SessionID] or [Conn.State] that a session has ended.
	OnLearned func(user int)

	// OnRefused, if set, is called on the goroutine of a call that comes when the client is closed.
	OnRefused func()

	// OnLate, if set, is called when something has come for a goroutine that is stalled.
	OnLate func(Told)

	// OnFail, if set, is called before a call of the recipe fails in the client: no server has answered it.
	OnFail func(call *Call, err error)
}

// Servers are what a client has of a [fakezk.Ensemble], whose methods these are.
type Servers interface {
	Connect(now int64, replica int, asked fakezk.ConnectRequest) (fakezk.ConnID, fakezk.ConnectResponse, error)
	Request(now int64, id fakezk.ConnID, r *fakezk.Request)
	Next(id fakezk.ConnID) (fakezk.Message, bool)
	Drop(id fakezk.ConnID)
}

type authInfo struct {
	scheme string
	auth   []byte
}

// OnFull sets what is called when a user's channel of [Conn.SessionEvents] has no room for a change of the connection's state.
func (c *Client) OnFull(f func(user int, event zk.Event)) { c.events.full = f }

// sendBuffer is what of go-zookeeper's buffer of 1536 kB is left for a request behind the length of its frame.
const sendBuffer = 1536<<10 - 4

// ErrRefused is returned by Dial when the server closed the connection without an answer,
// because it has not yet seen what the client has seen.
var ErrRefused = errors.New("fakezk: the server is behind the client and refuses it")

// NewClient returns a client that is not yet connected. timeout is the session timeout asked for, in milliseconds.
// await, which may be nil, is called after each goroutine that was woken; it waits until the goroutine is blocked.
func NewClient(network Network, servers Servers, timeout int64, await func()) *Client {
	if await == nil {
		await = func() {}
	}
	c := &Client{
		network: network, servers: servers, timeout: timeout, settle: await,
		events: events{ch: make(chan zk.Event, eventBuffer), settle: await},
	}
	c.events.latest, c.watches = c.latestRoom[:0], c.watchesRoom[:0]
	c.unsent, c.sent, c.waiting = c.callsRoom[0][:0], c.callsRoom[1][:0], c.callsRoom[2][:0]
	c.state.Store(int32(zk.StateDisconnected))
	return c
}

// Events is go-zookeeper's event channel, for one reader: session events and a copy of every watch event. Recipes use
// [Conn.SessionEvents].
func (c *Client) Events() <-chan zk.Event { return c.events.ch }

// Server names the replica that the client is connected to, was last, or tries, as host and port; "" before the first
// attempt.
func (c *Client) Server() string {
	switch server := int(c.server.Load()); {
	case server == 0:
		return ""
	case server <= len(serverNames):
		return serverNames[server-1]
	default:
		return serverName(server - 1)
	}
}

func serverName(replica int) string { return "fake-" + strconv.Itoa(replica) + ":2181" }

// serverNames are those of usual ensembles.
var serverNames = [...]string{serverName(0), serverName(1), serverName(2), serverName(3), serverName(4)}

// Connected reports whether the client has a connection, and to which replica.
func (c *Client) Connected() (replica int, ok bool) { return c.replica, c.connected }

// Connection returns the client's connection at the servers; meaningless unless connected.
func (c *Client) Connection() fakezk.ConnID { return c.conn }

// Session returns the session that the client believes to have, 0 if none.
func (c *Client) Session() int64 { return c.session.Load() }

// LastZxid returns the last transaction of which the client has seen a reply in its session.
func (c *Client) LastZxid() int64 { return c.lastZxid }

// Sent returns the oldest request that is on the wire and has not arrived, nil if there is none.
func (c *Client) Sent() *Call { return first(c.sent) }

func first(of []*Call) *Call {
	if len(of) == 0 {
		return nil
	}
	return of[0]
}

// Waiting returns how many requests have arrived whose replies have not.
func (c *Client) Waiting() int { return len(c.waiting) }

// Unsent returns how many requests wait for a connection.
func (c *Client) Unsent() int { return len(c.unsent) }

// Unanswered returns the oldest request that has arrived and whose reply has not, nil if there is none.
func (c *Client) Unanswered() *Call { return first(c.waiting) }

// Queued returns the oldest request that waits for a connection, nil if there is none.
func (c *Client) Queued() *Call { return first(c.unsent) }

// Accept takes a submitted call into the client: onto the wire if there is one, else into the queue.
func (c *Client) Accept(call *Call) {
	last := call.Request.Op == wire.OpCloseSession
	switch {
	case c.dead.Load() && !c.closed.Load():
		c.unsent = append(c.unsent, call)
		return
	case c.closed.Load(), c.closing.Load() && !last:
		c.complete(call, zk.ErrConnectionClosed)
		return
	case last && !c.connected:
		c.complete(call, zk.ErrConnectionClosed)
		c.Finish()
		return
	case last:
		c.forsake()
	}
	if c.connected {
		c.send(call)
		return
	}
	c.unsent = append(c.unsent, call)
}

// forsake completes all pending calls, which are carried out, or not, all the same (conn.go: request, which waits for
// the reply or for Close).
func (c *Client) forsake() {
	for _, list := range [...][]*Call{c.waiting, c.sent} {
		for i, call := range list {
			left := *call
			left.internal = true
			list[i] = &left
			c.complete(call, zk.ErrConnectionClosed)
		}
	}
}

// send puts a call onto the wire, unless it does not fit into go-zookeeper's buffer (conn.go: sendData).
func (c *Client) send(call *Call) {
	if call.Request.Size() > sendBuffer {
		c.complete(call, zk.ErrShortBuffer)
		return
	}
	c.sent = append(c.sent, call)
}

// Dial connects to a replica: it opens a session, resumes the old one, or learns that it is gone (the third moment of
// an expiry; the next Dial then opens a new session under the same Conn, as go-zookeeper does). Then the client sends
// its credentials, re-arms its watches by setWatches, and sends what was queued. The error is ErrRefused or ErrNoQuorum.
func (c *Client) Dial(now int64, replica int) error {
	id, answer, err := c.shakeHands(now, replica)
	if err != nil {
		c.setState(zk.StateDisconnected)
		if !errors.Is(err, fakezk.ErrNoQuorum) {
			err = ErrRefused
		}
		return err
	}
	if answer.SessionID == 0 {
		c.learnExpiry()
		return nil
	}
	c.conn, c.replica, c.connected = id, replica, true
	c.password, c.timeout = answer.Password, answer.Timeout
	c.session.Store(answer.SessionID)
	c.setState(zk.StateHasSession)
	c.resume()
	return nil
}

func (c *Client) shakeHands(now int64, replica int) (fakezk.ConnID, fakezk.ConnectResponse, error) {
	c.server.Store(int32(replica + 1))
	c.setState(zk.StateConnecting)
	c.setState(zk.StateConnected)
	return c.servers.Connect(now, replica, fakezk.ConnectRequest{
		LastZxid: c.lastZxid, Timeout: c.timeout, SessionID: c.session.Load(), Password: c.password,
	})
}

// DialInVain is Dial whose answer is lost with the connection. It returns the session that the server has begun, or taken up.
func (c *Client) DialInVain(now int64, replica int) (session int64, err error) {
	id, answer, err := c.shakeHands(now, replica)
	if err == nil && answer.SessionID != 0 {
		c.servers.Drop(id)
	}
	c.setState(zk.StateDisconnected)
	return answer.SessionID, err
}

// learnExpiry is go-zookeeper's reaction to a refused session (conn.go: authenticate, loop).
func (c *Client) learnExpiry() {
	old := c.session.Swap(0)
	c.expiries++
	c.password, c.lastZxid = nil, 0
	c.setState(zk.StateExpired)
	if c.OnExpired != nil {
		c.OnExpired(old)
	}
	c.invalidate(zk.ErrSessionExpired)
	c.setState(zk.StateDisconnected)
}

// resume sends what go-zookeeper sends first on a new connection.
func (c *Client) resume() {
	own := func(r fakezk.Request) { c.sent = append(c.sent, &Call{Request: r, client: c, internal: true}) }
	for _, cred := range c.creds {
		own(fakezk.Request{Op: wire.OpAuth, Scheme: cred.scheme, Auth: cred.auth})
	}
	for _, r := range c.watches.setAgain(c.lastZxid) {
		own(r)
	}
	unsent := c.unsent
	c.unsent = nil
	for _, call := range unsent {
		c.send(call)
	}
}

// Arrive lets the oldest request on the wire reach the server, which carries it out.
func (c *Client) Arrive(now int64) *Call {
	call := c.sent[0]
	c.sent = slices.Delete(c.sent, 0, 1)
	c.waiting = append(c.waiting, call)
	c.servers.Request(now, c.conn, &call.Request)
	return call
}

// Deliver hands the oldest message of the connection to the client: a reply completes its call, an event goes to the
// watches, an end breaks the connection. The call is nil unless the message was a reply.
func (c *Client) Deliver() (fakezk.Message, *Call) {
	m, ok := c.servers.Next(c.conn)
	switch {
	case !ok:
		return m, nil
	case m.Closed:
		c.Break(zk.ErrConnectionClosed)
		return m, nil
	case m.Reply == nil:
		c.fire(zk.Event{Type: m.Event, State: zk.StateSyncConnected, Path: m.Path})
		return m, nil
	}
	call := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	c.answer(call, m.Reply)
	return m, call
}

// answer registers a call's watch and completes the call, so that no event can come between (go-zookeeper: recvFunc
// runs before the next frame is read).
func (c *Client) answer(call *Call, reply *fakezk.Response) {
	if reply.Zxid > 0 {
		c.lastZxid = reply.Zxid
	}
	call.reply = reply
	if call.Request.Watch {
		c.register(call, reply.Err)
	}
	if call.Request.Op == wire.OpAuth && reply.Err == wire.CodeOK && !call.internal {
		c.creds = append(c.creds, authInfo{call.Request.Scheme, call.Request.Auth})
	}
	last := call.Request.Op == wire.OpCloseSession
	if c.complete(call, reply.Err.Err()); last { // a call that is completed belongs to its recipe again
		c.Finish()
	}
}

// Break ends the connection: requests sent and not answered fail with err (their outcome is unknown), queued ones
// stay queued, watches stay to be re-armed.
func (c *Client) Break(err error) {
	if !c.connected {
		return
	}
	c.servers.Drop(c.conn)
	c.connected = false
	c.setState(zk.StateDisconnected)
	c.fail(err, &c.waiting, &c.sent)
	if c.closing.Load() {
		c.Finish()
	}
}

// BreakUnsent is go-zookeeper's reaction when no server can be reached: queued requests fail with ErrNoServer. They
// had no effect.
func (c *Client) BreakUnsent() { c.fail(zk.ErrNoServer, &c.unsent) }

// fail completes all calls of the lists, which are empty before the first of them completes.
func (c *Client) fail(err error, lists ...*[]*Call) {
	var calls []*Call
	for _, list := range lists {
		calls = append(calls, *list...)
		*list = (*list)[:0]
	}
	for _, call := range calls {
		if c.OnFail != nil && !call.internal && !c.killed.Load() && err != zk.ErrClosing { // the client lives
			c.OnFail(call, err)
		}
		c.complete(call, err)
	}
}

// Die is the death of the client's process: the session stays at the servers until it runs out. Its goroutines cannot
// be ended, as they may wait for each other. Nothing reaches them any more: those that wait for a reply or an event go
// on waiting, and so do those that make another call, until Finish or Kill.
func (c *Client) Die() {
	c.buried = make(chan struct{})
	c.dead.Store(true)
	c.leave()
	c.forgetLate()
}

// Kill ends the client, as Die does, and its goroutines that wait for a reply or make another call, by runtime.Goexit.
// Watch channels are closed.
func (c *Client) Kill() {
	c.killed.Store(true)
	c.leave()
	c.forgetLate()
	c.fail(errKilled, &c.waiting, &c.sent, &c.unsent)
	c.Finish()
}

// leave ends the connection without a word to anybody here.
func (c *Client) leave() {
	if c.connected {
		c.servers.Drop(c.conn)
		c.connected = false
	}
}

var errKilled = errors.New("fakezk: the process of this client is dead")

// Closed reports whether the client will not connect again.
func (c *Client) Closed() bool { return c.closed.Load() }

// Finish is the end of go-zookeeper's loop after Close: requests fail, watches end with ErrClosing, event channels
// are closed. It may be called again.
func (c *Client) Finish() {
	if c.closed.Swap(true) {
		return
	}
	if c.connected {
		c.Break(zk.ErrConnectionClosed)
	} else {
		c.setState(zk.StateDisconnected)
	}
	if c.buried != nil {
		close(c.buried)
		c.settle()
	}
	c.fail(c.over(), &c.waiting, &c.sent, &c.unsent)
	c.invalidate(zk.ErrClosing)
	c.events.silence(c.killed.Load())
}

// over is the error of calls after the end: go-zookeeper's after Close. To those of a process that has died it is said
// that nothing will be answered any more, as then fewer of them are tried again.
func (c *Client) over() error {
	if c.dead.Load() {
		return zk.ErrClosing
	}
	return zk.ErrConnectionClosed
}

// complete tells the goroutine of a call what came of it, unless it is stalled.
func (c *Client) complete(call *Call, err error) {
	if !call.internal && !c.delay(late{Told: Told{User: call.User, Call: call, Err: err}}) {
		c.finish(call, err)
	}
}

func (c *Client) finish(call *Call, err error) {
	call.done <- err
	c.settle()
}

func (c *Client) publish(event zk.Event) {
	c.events.publish(Told{Event: event, Knew: c.knowledge()}, c.HoldEvents)
}

func (c *Client) setState(state zk.State) {
	c.state.Store(int32(state))
	c.publish(zk.Event{Type: zk.EventSession, State: state, Server: c.Server()})
	c.tellWatches(state)
}

// Check returns which call of a client is in two of its queues: it would be answered twice. That would be a bug of this
// package.
func Check(c *Client) error {
	all := slices.Concat(c.unsent, c.sent, c.waiting)
	for i, call := range all {
		if slices.Contains(all[i+1:], call) {
			return fmt.Errorf("a %v of %s is pending twice", call.Request.Op, call.Request.Path)
		}
	}
	return nil
}
