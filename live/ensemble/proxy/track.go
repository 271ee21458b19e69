package proxy

import (
	"fmt"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// track knows the open requests of a connection, and so what its replies are about.
type track struct {
	mu      sync.Mutex
	greeted [2]bool // by direction: the first frame has passed
	session Session
	asked   map[int32][]asked // by number, the oldest first; only housekeeping requests share numbers
	open    int
}

// asked is a request without its reply.
type asked struct {
	op   wire.Op
	path string
}

// openMax bounds the requests without a reply. ZooKeeper's default is a thousand (zookeeper.globalOutstandingLimit).
const openMax = 1 << 16

// frame reads a frame that has arrived.
func (t *track) frame(d Direction, payload []byte) (*Frame, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &Frame{Direction: d, payload: payload}
	var err error
	switch first := !t.greeted[d]; {
	case first && d == ToServer:
		err = t.connect(f)
	case first:
		err = t.connected(f)
	case d == ToServer:
		err = t.request(f)
	default:
		err = t.reply(f)
	}
	t.greeted[d] = true
	f.Session, f.Timeout = t.session.ID, t.session.Timeout
	return f, err
}

func (t *track) connect(f *Frame) error {
	f.Kind = wire.Connect
	var r wire.ConnectRequest
	_, err := wire.Parse(f.payload, &r)
	f.Resumes = r.Session
	return err
}

func (t *track) connected(f *Frame) error {
	f.Kind = wire.Connected
	var r wire.ConnectResponse
	_, err := wire.Parse(f.payload, &r)
	t.session.ID, t.session.Password = r.Session, r.Password
	t.session.Timeout = time.Duration(r.Timeout) * time.Millisecond
	return err
}

func (t *track) request(f *Frame) error {
	f.Kind = wire.Request
	var h wire.RequestHeader
	body, err := wire.Parse(f.payload, &h)
	if err != nil {
		return err
	}
	f.Xid, f.Op = h.Xid, h.Op
	if r := wire.NewRequest(h.Op); r != nil {
		if _, err := wire.Parse(body, r); err != nil {
			return err
		}
		f.Path = wire.PathOf(r)
	}
	if t.open == openMax {
		return &wire.Error{What: "request", Problem: fmt.Sprintf("%d requests before it have no reply", openMax)}
	}
	t.open++
	t.asked[h.Xid] = append(t.asked[h.Xid], asked{h.Op, f.Path})
	return nil
}

func (t *track) reply(f *Frame) error {
	f.Kind = wire.Reply
	var h wire.ReplyHeader
	body, err := wire.Parse(f.payload, &h)
	if err != nil {
		return err
	}
	f.Xid, f.Err = h.Xid, h.Err
	if h.Xid == wire.XidWatch {
		f.Kind = wire.Event
		_, err := wire.Parse(body, &f.Event)
		f.Path = f.Event.Path
		return err
	}
	open := t.asked[h.Xid]
	if len(open) == 0 {
		return &wire.Error{What: "reply", Problem: fmt.Sprintf("no request has the number %d", h.Xid)}
	}
	f.Op, f.Path = open[0].op, open[0].path
	t.open--
	if t.asked[h.Xid] = open[1:]; len(open) == 1 {
		delete(t.asked, h.Xid)
	}
	return nil
}
