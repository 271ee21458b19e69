package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// wireDraw draws what clients send. Nothing depends on an answer, so both sides are sent the same bytes, but for
// sessions.
type wireDraw struct{ *rand.Rand }

// wireClients is how many clients an episode has.
const wireClients = 3

// drawEpisode draws an episode of about so many requests.
func drawEpisode(seed, number uint64, requests int) []wireStep {
	d := wireDraw{rand.New(rand.NewPCG(seed, number))}
	var steps []wireStep
	for requests > 0 {
		step := d.step()
		steps = append(steps, step)
		requests -= step.requests()
	}
	return steps
}

func pick[T any](d wireDraw, from ...T) T { return from[d.IntN(len(from))] }

// one tells with a chance of one in n.
func (d wireDraw) one(n int) bool { return d.IntN(n) == 0 }

func (d wireDraw) step() wireStep {
	step := wireStep{client: d.IntN(wireClients)}
	switch kind := d.IntN(100); {
	case kind < 84:
		step.do, step.frames, step.pieces = doSend, d.batch(), pick(d, 1, 1, 1, 2, 5)
	case kind < 87:
		step.do, step.frames = doSend, []wireFrame{d.fatal()}
	case kind < 89:
		step.do = doAbandon
	case kind < 98:
		step.do, step.connect = doConnect, d.connect()
	default:
		step.do = doClose
	}
	return step
}

// batch draws requests that are sent without waiting for answers between. Credentials are first, because the server
// takes them out of turn. No write is behind another whose effects the server does not foresee when it checks the
// second (docs/explanation/fidelity.md, "Requests do not overlap inside a server").
func (d wireDraw) batch() []wireFrame {
	var frames []wireFrame
	if d.one(12) {
		frames = append(frames, wireFrame{xid: wire.XidAuth, op: wire.OpAuth, body: d.credentials()})
	}
	unforeseen := false
	for range 1 + d.IntN(pick(d, 1, 8, 8, 16, 16, 64)) {
		f := d.mangled(d.request())
		if unforeseen && (f.op.Writes() || f.op == wire.OpCheck) {
			continue
		}
		unforeseen = unforeseen || f.unforeseen()
		frames = append(frames, f)
	}
	return frames
}

// unforeseen reports whether writes that follow at once may be checked against what was before a setACL, against what a
// multi would have done that is given up by an exception, or against a container that flags call ephemeral.
func (f wireFrame) unforeseen() bool {
	switch r := f.body.(type) {
	case *wire.SetACLRequest:
		return true
	case *wire.MultiRequest:
		return f.raw != nil || slices.ContainsFunc(r.Ops, throws)
	case *wire.CreateRequest:
		return f.op == wire.OpCreateContainer && (f.raw != nil || r.Flags == 1 || r.Flags == 3)
	}
	return false
}

// throws reports whether the server cannot make a request of an operation: the flags of a TTL outside createTTL.
func throws(part wire.MultiOp) bool {
	r, ok := part.Record.(*wire.CreateRequest)
	return ok && (r.Flags == 5 || r.Flags == 6)
}

// fatal draws a frame that ends the connection.
func (d wireDraw) fatal() wireFrame {
	unknown := pick[wire.Op](d, 0, 10, 108, 4711, -2)
	scheme := pick(d, "world", "super", "", "digest")
	return pick(d,
		wireFrame{xid: 7, op: unknown, body: d.path(), ends: true},
		wireFrame{xid: wire.XidAuth, op: wire.OpAuth, body: &wire.AuthRequest{Scheme: scheme}, ends: true},
		wireFrame{xid: wire.XidAuth, op: wire.OpAuth, raw: []byte{0, 0}, ends: true},
		wireFrame{stream: pick(d, []byte{0, 0x10, 0, 0}, []byte{0xff, 0xff, 0xff, 0xff}, []byte{0x80, 0, 0, 0},
			[]byte{0, 0, 0, 0}, []byte{0, 0, 0, 3, 1, 2, 3}, []byte{0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7}), ends: true},
	)
}

// connect draws how a client connects again. Most go on with their session.
func (d wireDraw) connect() *wireConnect {
	c := &wireConnect{
		how:      pick(d, goOn, goOn, goOn, goOn, goOn, goOn, guess, claim, return_, begin, nonsense),
		timeout:  pick[int32](d, 0, -1, 1, 70_000, 1<<31-1),
		readOnly: pick(d, nil, new(false), new(true)),
		password: pick(d, nil, []byte{}, make([]byte, 16), []byte("0123456789abcdef")),
		stream: pick(d, []byte{0x7f, 0xff, 0xff, 0xff}, []byte{0x80, 0, 0, 0}, []byte{0, 0x10, 0, 0}, []byte{0, 0, 0, 0},
			slices.Concat([]byte{0, 0, 0, 24}, make([]byte, 24)), slices.Concat([]byte{0, 0, 0, 8}, make([]byte, 8)),
			slices.Concat([]byte{0, 0, 0, 28}, make([]byte, 24), []byte{0, 0, 0, 1}),
			slices.Concat([]byte{0, 0, 0, 28}, make([]byte, 24), []byte{0x80, 0, 0, 0})),
	}
	if (c.how == goOn || c.how == begin) && d.one(3) {
		c.frames = d.batch()
	}
	return c
}

// mangled breaks one request in twenty-five: it is cut off, goes on too long, or has other bytes, but no text that is not
// in UTF-8 (docs/explanation/fidelity.md).
func (d wireDraw) mangled(of wireFrame) wireFrame {
	if of.body == nil || of.op == wire.OpCheck || !d.one(25) {
		return of
	}
	f := of
	f.raw = wire.Append([]byte{}, f.body)
	at := d.IntN(len(f.raw))
	switch d.IntN(6) {
	case 0:
		f.raw = f.raw[:at]
	case 1:
		f.raw = append(f.raw, make([]byte, 1+d.IntN(9))...)
	case 2:
		f.raw[at] ^= 1 << d.IntN(8)
	case 3:
		f.raw[at] = pick[byte](d, 0, 0x7f, 0x80, 0xff)
	case 4:
		copy(f.raw[at-at%4:], pick(d, []byte{0xff, 0xff, 0xff, 0xfe}, []byte{0x7f, 0xff, 0xff, 0xff}))
	case 5: // no text at all, of which docs/explanation/fidelity.md says what sync and addWatch make
		if f.op != wire.OpSync && f.op != wire.OpAddWatch {
			copy(f.raw, []byte{0xff, 0xff, 0xff, 0xff})
		}
	}
	if record := wire.NewRequest(f.op); !readable(f.raw, record) {
		return of
	}
	return f
}

// readable reports whether the texts of a record, as far as it can be read, are in UTF-8.
func readable(raw []byte, record wire.Record) bool {
	wire.Parse(raw, record)
	if multi, is := record.(*wire.MultiRequest); is {
		return !slices.ContainsFunc(multi.Ops, func(part wire.MultiOp) bool { return !utf8.ValidString(fmt.Sprintf("%s", part.Record)) })
	}
	return utf8.ValidString(fmt.Sprintf("%s", record))
}

// request draws one that is answered, and leaves the connection open.
func (d wireDraw) request() wireFrame {
	op := d.op()
	xid := pick[int32](d, 1, 2, 3, 1<<31-1, -1<<31, 0)
	if op == wire.OpPing && d.one(2) {
		xid = wire.XidPing
	}
	return wireFrame{xid: xid, op: op, body: d.body(op)}
}

func (d wireDraw) op() wire.Op {
	switch kind := d.IntN(100); {
	case kind < 28:
		return pick(d, wire.OpCreate, wire.OpCreate, wire.OpCreate2, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL)
	case kind < 40:
		return pick(d, wire.OpSetData, wire.OpSetData, wire.OpDelete, wire.OpDelete, wire.OpDelete, wire.OpCheck)
	case kind < 43:
		return wire.OpSetACL
	case kind < 52:
		return wire.OpMulti
	case kind < 82:
		return pick(d, wire.OpExists, wire.OpExists, wire.OpGetData, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2,
			wire.OpGetACL, wire.OpSync)
	case kind < 86:
		return wire.OpAddWatch
	case kind < 92:
		return wire.OpRemoveWatches
	case kind < 96:
		return pick(d, wire.OpSetWatches, wire.OpSetWatches2, wire.OpSetWatches2)
	default:
		return pick(d, wire.OpPing, wire.OpReconfig)
	}
}

func (d wireDraw) body(op wire.Op) wire.Record {
	switch op {
	case wire.OpPing:
		return nil
	case wire.OpSetData:
		return d.setData()
	case wire.OpDelete:
		return d.versioned()
	case wire.OpCheck: // alone it fails, as a server does not answer one that succeeds (docs/explanation/fidelity.md)
		return &wire.PathVersionRequest{Path: d.name(), Version: 99}
	case wire.OpSetACL:
		return &wire.SetACLRequest{Path: d.name(), ACL: d.acl(), Version: d.version()}
	case wire.OpMulti:
		return d.multi()
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		return &wire.WatchRequest{Path: d.name(), Watch: d.one(2)}
	case wire.OpAddWatch:
		return &wire.PathTypeRequest{Path: d.name(), Type: pick[int32](d, 0, 0, 0, 1, 1, 1, 2, -1)}
	case wire.OpRemoveWatches:
		return &wire.PathTypeRequest{Path: d.name(), Type: pick[int32](d, 1, 2, 3, 1, 2, 3, 0, 4)}
	case wire.OpSetWatches, wire.OpSetWatches2:
		return d.setWatches(op)
	case wire.OpReconfig:
		return &wire.ReconfigRequest{Joining: "server.1=localhost:1:2;3", Config: -1}
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		return d.create(op)
	}
	return d.path()
}

// create draws no createTTL of a negative time with flags that are not a TTL's: a real server ends of it
// (docs/explanation/fidelity.md).
func (d wireDraw) create(op wire.Op) wire.Record {
	path, flags := d.name(), pick[int32](d, 0, 0, 0, 0, 1, 1, 2, 3)
	if op == wire.OpCreateTTL {
		flags = pick[int32](d, 5, 6)
	}
	if d.one(20) && op != wire.OpCreateTTL {
		flags = pick[int32](d, 4, 5, 6, 7, -1)
	}
	if flags == 2 || flags == 3 || flags == 6 {
		path += pick(d, "", "-", "/")
	}
	r := wire.CreateRequest{Path: path, Data: d.data(), ACL: d.acl(), Flags: flags}
	if op == wire.OpCreateTTL {
		return &wire.CreateTTLRequest{CreateRequest: r, TTL: pick[int64](d, 1<<30, 1<<30, 1<<30, 1<<40-1, 1<<40, 0)}
	}
	return &r
}

func (d wireDraw) setData() wire.Record {
	return &wire.SetDataRequest{Path: d.name(), Data: d.data(), Version: d.version()}
}

func (d wireDraw) versioned() wire.Record {
	return &wire.PathVersionRequest{Path: d.name(), Version: d.version()}
}

func (d wireDraw) path() wire.Record { return &wire.PathRequest{Path: d.name()} }

// multi draws operations, one in forty of which is of a kind that does not belong there.
func (d wireDraw) multi() wire.Record {
	m := &wire.MultiRequest{}
	for range d.IntN(6) {
		kind := d.writeOp()
		if d.one(40) {
			kind = pick(d, wire.OpGetData, wire.OpGetChildren, wire.OpExists, wire.OpSetACL, wire.OpError, wire.OpDelete)
		}
		part := wire.MultiOp{Op: kind, Err: -1}
		switch kind {
		case wire.OpCheck:
			part.Record = d.versioned()
		case wire.OpError:
			part.Record = &wire.CountReply{Count: pick[int32](d, 0, -101)}
		default:
			part.Record = d.body(kind)
		}
		m.Ops = append(m.Ops, part)
	}
	return m
}

func (d wireDraw) writeOp() wire.Op {
	return pick(d, wire.OpCreate, wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpSetData,
		wire.OpDelete, wire.OpCheck)
}

// setWatches draws watches that a client claims to have had. The zxid is added to the last one that it has seen.
func (d wireDraw) setWatches(op wire.Op) wire.Record {
	r := wire.SetWatchesRequest{LastZxid: pick[int64](d, 0, 0, -1, -2, -5, -10, 1<<20),
		Data: d.names(), Exist: d.names(), Childs: d.names()}
	if op == wire.OpSetWatches {
		return &r
	}
	return &wire.SetWatches2Request{SetWatchesRequest: r, Persistent: d.names(), Recursive: d.names()}
}

func (d wireDraw) names() []string {
	names := []string{}
	for range d.IntN(4) {
		names = append(names, d.name())
	}
	return names
}

// odd are paths that the server does not take, or takes for something else.
var odd = []string{"", "/", "/", "/", "//", "/a/", "a", "/a//b", "/./a", "/a/..", "/a\x00b", "/a\x01", "/\u0085",
	"/é", "/\uf8ff", "/\ufff0", "/ ", "/none/a", "/zookeeper",
	"/zookeeper/config", "/zookeeper/quota"}

// name draws a path, mostly one of a few, so that requests meet.
func (d wireDraw) name() string {
	if d.one(12) {
		return pick(d, odd...)
	}
	if d.one(40) {
		return "/" + d.text()
	}
	path := ""
	for range 1 + d.IntN(pick(d, 1, 2, 3)) {
		path += "/" + pick(d, "a", "a", "b", "c")
	}
	if d.one(8) {
		path += pick(d, "-", "", "/") + pick(d, "0000000000", "0000000001", "0000000002", "0000000003")
	}
	return path
}

// text is in UTF-8, of characters of the Basic Multilingual Plane: others Java writes in another way.
func (d wireDraw) text() (s string) {
	for range d.IntN(6) {
		s += pick(d, "a", "é", "語", "\uffff", "\ue000")
	}
	return s
}

func (d wireDraw) version() int32 { return pick[int32](d, -1, -1, -1, -1, 0, 0, 1, 2, -2) }

func (d wireDraw) data() []byte {
	return pick(d, nil, []byte{}, []byte("d"), []byte("data"), []byte("more data"))
}

func (d wireDraw) credentials() wire.Record {
	return &wire.AuthRequest{Scheme: pick(d, "digest", "digest", "digest", "ip"),
		Auth: pick(d, []byte("ann:secret"), []byte("ann:secret"), []byte("bob:b"), []byte("bob"), []byte("a:b:c"), []byte(""),
			[]byte("super:test"))}
}

// acl draws a list, which is mostly open to all.
func (d wireDraw) acl() []zk.ACL {
	const all = zk.PermAll
	ann := zk.ACL{Perms: all, Scheme: "digest", ID: "ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM="}
	anyone := func(perms int32) zk.ACL { return zk.ACL{Perms: perms, Scheme: "world", ID: "anyone"} }
	if !d.one(6) {
		return []zk.ACL{anyone(all)}
	}
	return pick(d, []zk.ACL{anyone(zk.PermRead)}, []zk.ACL{anyone(all &^ zk.PermRead)}, []zk.ACL{anyone(0)}, []zk.ACL{},
		[]zk.ACL{anyone(all), anyone(all)}, []zk.ACL{ann}, []zk.ACL{ann, anyone(zk.PermRead)},
		[]zk.ACL{{Perms: all, Scheme: "auth"}}, []zk.ACL{{Perms: all, Scheme: "auth", ID: "x"}, anyone(zk.PermRead)},
		[]zk.ACL{{Perms: all, Scheme: "ip", ID: pick(d, "127.0.0.1", "127.0.0.0/8", "10.0.0.0/8", "127.0.0.1/33", "x")}},
		[]zk.ACL{{Perms: all, Scheme: "digest", ID: pick(d, "x", ":x", "x:", "a:b:c", d.text()+":x")}, anyone(all)},
		[]zk.ACL{{Perms: all, Scheme: pick(d, "world", "sasl", "x509", "none", ""), ID: "ann"}}, []zk.ACL{anyone(-1)})
}
