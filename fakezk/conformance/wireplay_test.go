package conformance_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// What a client does in a step.
const (
	doSend    = "send"    // requests, without waiting for answers between
	doAbandon = "abandon" // leaves its connection, which the server does not learn
	doConnect = "connect" // once more
	doClose   = "close"   // ends its session
)

// wireStep is what one client does before another one does something.
type wireStep struct {
	client  int
	do      string
	frames  []wireFrame
	pieces  int // in which the frames are written
	connect *wireConnect
}

func (s wireStep) requests() int { return max(1, len(s.frames)) }

// wireFrame is a request.
type wireFrame struct {
	xid    int32
	op     wire.Op
	body   wire.Record // nil: there is none
	raw    []byte      // not nil: stands for body
	stream []byte      // not nil: stands for the whole frame
	ends   bool        // the server closes the connection
}

// bytes are what is sent by a client that has seen last.
func (f wireFrame) bytes(last int64) []byte {
	header := &wire.RequestHeader{Xid: f.xid, Op: f.op}
	switch r := f.body.(type) {
	case *wire.SetWatchesRequest:
		f.body = &wire.SetWatchesRequest{LastZxid: last + r.LastZxid, Data: r.Data, Exist: r.Exist, Childs: r.Childs}
	case *wire.SetWatches2Request:
		moved := *r
		moved.LastZxid += last
		f.body = &moved
	}
	switch {
	case f.stream != nil:
		return f.stream
	case f.raw != nil:
		framed := append(wire.AppendFrame(nil, header), f.raw...)
		binary.BigEndian.PutUint32(framed, uint32(len(framed)-4))
		return framed
	case f.body == nil:
		return wire.AppendFrame(nil, header)
	}
	return wire.AppendFrame(nil, header, f.body)
}

// How a client connects.
const (
	goOn     = "resume"          // with its session, or a new one if it has none
	begin    = "fresh"           // with a new session; the old one goes on without a connection
	guess    = "wrong password"  // for its session
	claim    = "zxid from later" // than there has been
	return_  = "ended session"   // the last one that ended
	nonsense = "nonsense"        // bytes that are no connect request
)

// wireConnect is a connect request.
type wireConnect struct {
	how      string
	timeout  int32
	readOnly *bool
	password []byte // a wrong one
	stream   []byte // nonsense

	frames []wireFrame // requests that do not wait for the answer
}

// wireSession is what a client knows of a session.
type wireSession struct {
	id       int64
	password []byte
}

// wirePlayer plays episodes on one side.
type wirePlayer struct {
	address  string
	patience time.Duration // with a server that says nothing

	clients [wireClients]wireClient
	ended   wireSession     // the last one that ended
	left    []wireSession   // sessions that have been given up
	order   map[int64]int64 // sessions, in the order in which they were granted

	passwords map[int64][]byte // of sessions

	seen  []wireMessage // in this step
	tally *wireTally
}

// wireTally counts what has been received, in all episodes.
type wireTally struct {
	answered, failed map[wire.Op]int // replies, and those with an error
	events, ended    int
}

// wireClient is a client with at most one connection that it uses.
type wireClient struct {
	*wireConn
	session   wireSession
	last      int64       // the last zxid in a reply
	abandoned []*wireConn // which the server may still hold for open
}

// wireConn is a connection.
type wireConn struct {
	net.Conn
	in       *bufio.Reader
	patience time.Duration
}

// wireMessage is what a client has received.
type wireMessage struct {
	client int
	op     wire.Op // of the request
	frame  []byte  // nil: the connection has ended
}

// play plays an episode and returns what came of each step. Then it ends all sessions and removes all znodes.
func (p *wirePlayer) play(steps []wireStep) ([][]wireMessage, error) {
	*p = wirePlayer{address: p.address, patience: p.patience, tally: p.tally}
	p.order, p.passwords = map[int64]int64{}, map[int64][]byte{}
	defer p.hangUp()
	var all [][]wireMessage
	for i, step := range steps {
		p.seen = nil
		if err := p.step(step); err != nil {
			return all, fmt.Errorf("step %d: %v: %w", i, step, err)
		}
		all = append(all, p.seen)
	}
	p.seen = nil
	err := p.finish()
	return append(all, p.seen), err
}

func (p *wirePlayer) hangUp() {
	for i := range p.clients {
		for _, c := range append(p.clients[i].abandoned, p.clients[i].wireConn) {
			if c != nil {
				c.Close()
			}
		}
	}
}

func (p *wirePlayer) step(step wireStep) error {
	c := &p.clients[step.client]
	switch step.do {
	case doConnect:
		return p.connect(step.client, step.connect)
	case doAbandon:
		p.abandon(c)
		return nil
	}
	if c.wireConn == nil {
		if err := p.connect(step.client, &wireConnect{how: goOn}); err != nil || c.wireConn == nil {
			return err
		}
	}
	if step.do == doClose {
		return p.close(step.client)
	}
	if step.frames[0].ends { // what is under way then may be lost
		if err := p.settle(step.client); err != nil {
			return err
		}
	}
	return p.send(step.client, step)
}

func (p *wirePlayer) abandon(c *wireClient) {
	if c.wireConn != nil {
		c.abandoned = append(c.abandoned, c.wireConn)
		c.wireConn = nil
	}
}

// send sends requests in so many pieces and receives their replies.
func (p *wirePlayer) send(client int, step wireStep) error {
	c := &p.clients[client]
	bytes := stream(step.frames, c.last)
	for piece := range slices.Chunk(bytes, len(bytes)/max(1, step.pieces)+1) {
		if err := c.write(piece); err != nil {
			return err
		}
	}
	return p.receive(client, step.frames)
}

func stream(frames []wireFrame, last int64) (bytes []byte) {
	for _, f := range frames {
		bytes = append(bytes, f.bytes(last)...)
	}
	return bytes
}

// receive takes a reply to each of the requests, and what comes before; after one that ends the connection, all up to
// its end.
func (p *wirePlayer) receive(client int, frames []wireFrame) error {
	for _, f := range frames {
		for c := &p.clients[client]; c.wireConn != nil; {
			frame, err := c.read()
			if err != nil {
				return err
			}
			p.note(client, f.op, frame)
			if frame != nil && !isEvent(frame) && !f.ends {
				break
			}
		}
	}
	return nil
}

// note keeps a message. Without a frame the connection has ended.
func (p *wirePlayer) note(client int, op wire.Op, frame []byte) {
	c := &p.clients[client]
	if frame == nil {
		c.Close()
		c.wireConn = nil
	} else if zxid := headerOf(frame).Zxid; zxid > 0 {
		c.last = zxid
	}
	p.tally.count(op, frame)
	p.seen = append(p.seen, wireMessage{client, op, p.normal(op, frame)})
}

func (t *wireTally) count(op wire.Op, frame []byte) {
	switch {
	case frame == nil:
		t.ended++
	case isEvent(frame):
		t.events++
	case headerOf(frame).Err != 0:
		t.failed[op]++
		fallthrough
	default:
		t.answered[op]++
	}
}

func isEvent(frame []byte) bool {
	return len(frame) >= 4 && int32(binary.BigEndian.Uint32(frame)) == wire.XidWatch
}

func headerOf(frame []byte) (header wire.ReplyHeader) {
	wire.Parse(frame, &header)
	return header
}

var pings = []wireFrame{{xid: wire.XidPing, op: wire.OpPing}}

// settle receives what has been sent to a client before.
func (p *wirePlayer) settle(client int) error {
	if p.clients[client].wireConn == nil {
		return nil
	}
	return p.send(client, wireStep{frames: pings})
}

func (p *wirePlayer) settleAll() error {
	for i := range p.clients {
		if err := p.settle(i); err != nil {
			return err
		}
	}
	return nil
}

// close ends a client's session. Its ephemerals go in any order, and so events come in any.
func (p *wirePlayer) close(client int) error {
	if err := p.settleAll(); err != nil {
		return err
	}
	before := len(p.seen)
	if err := p.send(client, wireStep{frames: []wireFrame{{xid: 1, op: wire.OpCloseSession, ends: true}}}); err != nil {
		return err
	}
	p.ended, p.clients[client].session = p.clients[client].session, wireSession{}
	if err := p.settleAll(); err != nil {
		return err
	}
	sortEvents(p.seen[before:])
	return nil
}

// sortEvents sorts events that come one after the other at the same client.
func sortEvents(seen []wireMessage) {
	for i := 0; i < len(seen); {
		j := i
		for j < len(seen) && seen[j].client == seen[i].client && isEvent(seen[j].frame) {
			j++
		}
		slices.SortFunc(seen[i:j], func(a, b wireMessage) int { return bytes.Compare(a.frame, b.frame) })
		i = max(j, i+1)
	}
}

// connect makes a new connection of a client. If that takes its session away from an older one, the server closes that.
// The client never does: when a real server notices is luck, and until then it keeps the watches.
func (p *wirePlayer) connect(client int, how *wireConnect) error {
	if err := p.settle(client); err != nil {
		return err
	}
	c := &p.clients[client]
	takesOver := how.how == goOn || how.how == guess
	fresh, granted, err := p.dial(client, append(p.asked(c, how), stream(how.frames, c.last)...))
	if err != nil {
		return err
	}
	if takesOver && c.wireConn != nil {
		if err := p.receive(client, []wireFrame{{ends: true}}); err != nil {
			return err
		}
	}
	if fresh != nil {
		p.abandon(c)
		if granted.id != c.session.id && c.session.id != 0 {
			p.left = append(p.left, c.session)
		}
		c.wireConn, c.session = fresh, granted
		return p.receive(client, how.frames)
	}
	return nil
}

// asked is what a client sends to connect.
func (p *wirePlayer) asked(c *wireClient, how *wireConnect) []byte {
	session := c.session
	asked := &wire.ConnectRequest{LastZxid: c.last, Timeout: how.timeout, ReadOnly: how.readOnly}
	switch how.how {
	case begin:
		session = wireSession{}
	case guess:
		session.password = how.password
	case claim:
		asked.LastZxid += 1 << 20
	case return_:
		session = p.ended
	case nonsense:
		return how.stream
	}
	asked.Session, asked.Password = session.id, session.password
	return wire.AppendFrame(nil, asked)
}

// dial sends what is asked on a new connection, which is nil if that has no session.
func (p *wirePlayer) dial(client int, asked []byte) (*wireConn, wireSession, error) {
	conn, err := net.DialTimeout("tcp", p.address, patience)
	if err != nil {
		return nil, wireSession{}, err
	}
	conn.(*net.TCPConn).SetLinger(0) // tens of thousands of closed connections would use up all ports
	c := &wireConn{conn, bufio.NewReader(conn), p.patience}
	if err := c.write(asked); err != nil {
		return nil, wireSession{}, err
	}
	frame, err := c.read()
	if err != nil {
		return nil, wireSession{}, err
	}
	granted := p.granted(frame)
	p.seen = append(p.seen, wireMessage{client, opConnect, p.normal(opConnect, frame)})
	if granted.id != 0 {
		return c, granted, nil
	}
	defer c.Close()
	if frame != nil {
		frame, err = c.read()
		p.seen = append(p.seen, wireMessage{client, opConnect, frame})
	}
	return nil, wireSession{}, err
}

// granted reads the answer to a connect request.
func (p *wirePlayer) granted(frame []byte) wireSession {
	var r wire.ConnectResponse
	if _, err := wire.Parse(frame, &r); err != nil || r.Session == 0 {
		return wireSession{}
	}
	if p.order[r.Session] == 0 {
		p.order[r.Session] = int64(len(p.order) + 1)
		p.passwords[r.Session] = r.Password
	}
	return wireSession{r.Session, r.Password}
}

func (c *wireConn) write(b []byte) error {
	c.SetDeadline(time.Now().Add(c.patience))
	_, err := c.Write(b)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return err
	}
	return nil // what the server has closed is seen by the next read
}

// read returns nil at the end of the connection, of whatever kind.
func (c *wireConn) read() ([]byte, error) {
	frame, err := wire.ReadFrame(c.in, nil, wire.FrameMax)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return nil, fmt.Errorf("neither an answer nor an end of the connection: %w", err)
	}
	return frame, nil
}

// finish ends all sessions, and then compares and removes all znodes.
func (p *wirePlayer) finish() error {
	if err := p.settleAll(); err != nil {
		return err
	}
	for i := range p.clients {
		if err := p.end(i); err != nil {
			return err
		}
	}
	for _, p.clients[0].session = range p.left {
		if err := p.end(0); err != nil {
			return err
		}
	}
	return p.clean()
}

// end closes a client's session, on a new connection if need be.
func (p *wirePlayer) end(client int) error {
	c := &p.clients[client]
	if c.wireConn == nil && c.session.id != 0 {
		if err := p.connect(client, &wireConnect{how: goOn}); err != nil {
			return err
		}
	}
	if c.wireConn == nil {
		return nil
	}
	return p.close(client)
}

// clean removes all znodes, with the powers of the super user.
func (p *wirePlayer) clean() error {
	if err := p.connect(0, &wireConnect{how: begin}); err != nil {
		return err
	}
	super := &wire.AuthRequest{Scheme: "digest", Auth: []byte("super:test")}
	if err := p.send(0, wireStep{frames: []wireFrame{{xid: wire.XidAuth, op: wire.OpAuth, body: super}}}); err != nil {
		return err
	}
	all := []string{"/"}
	for i := 0; i < len(all); {
		level := all[i:]
		i = len(all)
		below, err := p.look(level)
		if err != nil {
			return err
		}
		all = append(all, below...)
	}
	if err := p.remove(all[1:]); err != nil {
		return err
	}
	return p.close(0)
}

// look reads znodes, and returns the paths of their children.
func (p *wirePlayer) look(paths []string) (below []string, err error) {
	var frames []wireFrame
	for _, path := range paths {
		frames = append(frames,
			wireFrame{op: wire.OpGetChildren, body: &wire.WatchRequest{Path: path}},
			wireFrame{op: wire.OpGetData, body: &wire.WatchRequest{Path: path}},
			wireFrame{op: wire.OpGetACL, body: &wire.PathRequest{Path: path}})
	}
	before := len(p.seen)
	if err := p.send(0, wireStep{frames: frames}); err != nil {
		return nil, err
	}
	for i, path := range paths {
		var header wire.ReplyHeader
		var children wire.NamesReply
		if before+3*i < len(p.seen) {
			rest, _ := wire.Parse(p.seen[before+3*i].frame, &header)
			wire.Parse(rest, &children)
		}
		for _, name := range children.Names {
			if child := strings.TrimSuffix(path, "/") + "/" + name; child != "/zookeeper" {
				below = append(below, child)
			}
		}
	}
	return below, nil
}

// remove removes znodes, those first that were found last, and lets all clients do everything in the others.
func (p *wirePlayer) remove(paths []string) error {
	var frames []wireFrame
	for _, path := range slices.Backward(paths) {
		frames = append(frames, wireFrame{op: wire.OpDelete, body: &wire.PathVersionRequest{Path: path, Version: -1}})
	}
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota"} {
		open := &wire.SetACLRequest{Path: path, ACL: zk.WorldACL(zk.PermAll), Version: -1}
		frames = append(frames, wireFrame{op: wire.OpSetACL, body: open})
	}
	return p.send(0, wireStep{frames: frames})
}
