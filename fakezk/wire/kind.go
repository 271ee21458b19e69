package wire

import "time"

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

// Frame is what is known of a frame between a client and a server.
type Frame struct {
	Connection int // the number of its connection
	Kind       Kind
	Xid        int32
	Op         Op            // of a request, or of the request of a reply
	Path       string        // of a request, reply or event; of a multi, that of its first operation
	Session    int64         // 0 before it is known
	Resumes    int64         // of a connect: the session that the client goes on with, 0 for a new one
	Timeout    time.Duration // of the session; 0 before it is known
}
