package proxy

import (
	"time"

	"github.com/zktorture/zktorture/wire"
)

// Direction is the way in which a frame goes.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

func (d Direction) String() string { return [...]string{"to server", "to client"}[d] }

// Kind is what a frame is.
type Kind int

// The kinds of frames.
const (
	Connect   Kind = iota // the client's first
	Connected             // the server's first
	Request
	Reply
	Event // of a watch
)

func (k Kind) String() string {
	return [...]string{"connect", "connected", "request", "reply", "event"}[k]
}

// Frame is a frame that is about to be forwarded.
type Frame struct {
	Connection int // of this proxy, from 1
	Direction  Direction
	Kind       Kind
	Xid        int32
	Op         wire.Op // of a request, and of that to which a reply is
	Path       string  // that the request, reply or event is about; of a multi, that of its first operation
	Err        int32   // of a reply: 0, or a code of KeeperException
	Event      wire.WatcherEvent
	Session    int64         // 0 before it is known
	Resumes    int64         // of a connect: the session that the client goes on with, 0 for a new one
	Timeout    time.Duration // of the session; 0 before it is known

	payload []byte
}

// Housekeeping tells whether the frame belongs to no operation of a user's: pings, and what a client sends
// by itself when it connects.
func (f *Frame) Housekeeping() bool {
	switch f.Op {
	case wire.OpPing, wire.OpAuth, wire.OpSetWatches, wire.OpSetWatches2, wire.OpSASL:
		return true
	}
	return f.Kind == Connect || f.Kind == Connected
}

// Action is what becomes of a frame.
type Action int

// The actions.
const (
	Forward   Action = iota
	CutBefore        // the connection is cut, and the frame is lost
	CutAfter         // the frame is forwarded; then the connection is cut: after a request, when its reply has come, which is lost
	Discard          // the frame alone is lost, as TCP never does
)

// Director decides about each frame when it is about to be forwarded. It is called by one goroutine for each
// direction of each connection. It may take its time, and so hold the direction; done is closed when the
// connection ends, and the frame is lost then whatever it says.
type Director func(done <-chan struct{}, f *Frame) Action
