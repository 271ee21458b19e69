package proxy

import (
	"time"

	"github.com/zktorture/zktorture/wire"
)

// Direction is the direction of a frame.
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
	Op         wire.Op // of a request, or of the request of a reply
	Path       string  // of a request, reply or event; of a multi, that of its first operation
	Err        int32   // of a reply: 0, or a code of KeeperException
	Event      wire.WatcherEvent
	Session    int64         // 0 before it is known
	Resumes    int64         // of a connect: the session that the client goes on with, 0 for a new one
	Timeout    time.Duration // of the session; 0 before it is known

	payload []byte
}

// Housekeeping tells whether the frame belongs to no operation of a user: pings, and what a client sends by itself
// when it connects.
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
	CutAfter         // the connection is cut after the frame, or after a request instead of forwarding its reply
	Discard          // the frame alone is lost, which never happens with TCP
)

// Director decides about each frame that is about to be forwarded. It is called by one goroutine for each direction
// of each connection, and may hold the direction by taking its time; when the connection ends done is closed, and the
// frame is lost.
type Director func(done <-chan struct{}, f *Frame) Action
