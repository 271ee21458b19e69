package proxy

import (
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Direction is the direction of a frame.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

func (d Direction) String() string { return [...]string{"to server", "to client"}[d] }

// Frame is a frame that is about to be forwarded. Connections are numbered from 1.
type Frame struct {
	wire.Frame
	Direction Direction
	Err       wire.Code // of a reply
	Event     wire.WatcherEvent

	payload []byte
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
