package sim

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/wire"
)

// line is a connection over the wire: a [net.Conn] in memory between a client in a process and the loop. What the
// client writes is handed to the loop frame by frame; what it reads is what the loop has given.
//
// Above mu is what belongs to the loop, but for what never changes.
type line struct {
	door   *door
	number int        // of the process's connections, in the order in which they were dialled
	user   int        // of the dialler, -1 if it is not known
	conn   int        // the number of the *zk.Conn, which the world closes; 0 if it is not known
	dialed chan error // tells the dialler what came of it

	hello []byte // the first frame, nil until it is there

	mu     sync.Mutex
	begun  []byte // of a frame that is not complete yet
	in     []byte // to be read
	end    error  // what a read finds when there is nothing left in in; nil: it waits
	broken error  // what a write fails with
	mute   bool   // what is written gets lost
	deaf   bool   // nothing comes, not even answers to pings
	said   bool   // the first frame has been written
	alone  bool   // the episode is over, and the line answers by itself
	readBy time.Time
	ready  chan struct{} // a token says that a waiting read must look again

	closing sync.Once
	closed  chan struct{} // by the client
}

func newLine(d *door, user, conn int) *line {
	return &line{
		door: d, user: user, conn: conn,
		dialed: make(chan error, 1), ready: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// Read implements [net.Conn].
func (l *line) Read(b []byte) (int, error) {
	for {
		n, until, err := l.take(b)
		if n > 0 || err != nil {
			return n, err
		}
		if err := l.wait(until); err != nil {
			return 0, err
		}
	}
}

// take reads what is there. Without anything there is neither a number nor an error.
func (l *line) take(b []byte) (n int, until time.Time, err error) {
	if l.dead() {
		return 0, until, l.door.stay()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.in) == 0 {
		return 0, l.readBy, l.end
	}
	n = copy(b, l.in)
	if l.in = l.in[n:]; len(l.in) == 0 {
		l.in = nil
	}
	return n, until, nil
}

// wait waits until there may be something to read.
func (l *line) wait(until time.Time) error {
	var over <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		over = timer.C
	}
	err := net.ErrClosed
	select {
	case <-l.ready:
		return nil
	case <-l.closed:
	case <-over:
		err = os.ErrDeadlineExceeded
	}
	if l.dead() {
		return l.door.stay()
	}
	return err
}

// Write implements [net.Conn].
func (l *line) Write(b []byte) (int, error) {
	if l.dead() {
		return 0, l.door.stay()
	}
	select {
	case <-l.closed:
		return 0, net.ErrClosed
	default:
	}
	l.door.world.fence.Load() // see World.enter
	frames, err := l.put(b)
	if err != nil {
		return 0, err
	}
	for _, frame := range frames {
		l.door.hand(handed{line: l, kind: handedFrame, frame: frame})
	}
	return len(b), nil
}

// put adds what is written, and returns the frames that are complete now. A ping is answered at once: it is no step.
func (l *line) put(b []byte) (frames [][]byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.mute {
		return nil, l.broken
	}
	l.begun = append(l.begun, b...)
	for len(l.begun) >= lengthBytes {
		end := lengthBytes + int64(binary.BigEndian.Uint32(l.begun))
		if int64(len(l.begun)) < end {
			break
		}
		frame := slices.Clone(l.begun[lengthBytes:end])
		l.begun = l.begun[end:]
		switch {
		case l.said && isPing(frame):
			l.pong()
			continue
		case l.alone:
			l.answer(frame)
			l.said = true
			continue
		}
		l.said = true
		frames = append(frames, frame)
	}
	return frames, nil
}

// lengthBytes are in front of each frame.
const lengthBytes = 4

func isPing(frame []byte) bool {
	var h wire.RequestHeader
	_, err := wire.Parse(frame, &h)
	return err == nil && h.Op == wire.OpPing
}

// pong answers a ping. mu is held.
func (l *line) pong() {
	if !l.deaf && !l.door.process.held && l.end == nil {
		l.in = wire.AppendFrame(l.in, &wire.ReplyHeader{Xid: wire.XidPing})
		l.wake()
	}
}

// part lets the line answer by itself.
func (l *line) part() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone, l.mute, l.deaf = true, false, false
}

// answer answers what go-zookeeper must send to be closed. mu is held.
func (l *line) answer(frame []byte) {
	var header wire.RequestHeader
	if !l.said {
		var asked wire.ConnectRequest
		wire.Parse(frame, &asked)
		l.in = protocol.AppendConnected(l.in, &asked, fakezk.ConnectResponse{
			SessionID: max(asked.Session, 1), Timeout: int64(asked.Timeout), Password: asked.Password,
		})
	} else if wire.Parse(frame, &header); header.Op == wire.OpAuth || header.Op == wire.OpCloseSession {
		l.in = wire.AppendFrame(l.in, &wire.ReplyHeader{Xid: header.Xid})
	}
	l.wake()
}

// finish ends a line that does not answer by itself: its dial, or its connection.
func (l *line) finish() {
	l.mu.Lock()
	alone := l.alone
	l.mu.Unlock()
	if alone {
		return
	}
	select {
	case l.dialed <- errRefused:
	default:
	}
	l.hangUp()
}

// dead tells whether the process is dead for the line.
func (l *line) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.alone && l.door.dead()
}

func (l *line) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// give lets the client read something.
func (l *line) give(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in = append(l.in, b...)
	l.wake()
}

// hangUp lets the client read to the end of what was given, and then find the connection closed. Writes fail.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.broken = io.EOF, errPipe
	l.wake()
}

// reset lets the client find out when it writes next, and not before.
func (l *line) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = errReset
}

// silence loses what is sent from here on: by the client if mute, to the client if deaf.
func (l *line) silence(mute, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute, l.deaf = l.mute || mute, l.deaf || deaf
}

var errPipe = errors.New("broken pipe")

// Close implements [net.Conn].
func (l *line) Close() error {
	if l.dead() {
		return l.door.stay()
	}
	l.closing.Do(func() {
		close(l.closed)
		l.door.hand(handed{line: l, kind: handedClose})
	})
	return nil
}

// SetReadDeadline implements [net.Conn].
func (l *line) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readBy = t
	return nil
}

// SetWriteDeadline implements [net.Conn]. Writes never wait.
func (l *line) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements [net.Conn].
func (l *line) SetDeadline(t time.Time) error { return l.SetReadDeadline(t) }

// LocalAddr implements [net.Conn].
func (l *line) LocalAddr() net.Addr { return lineAddr("10.0.1.1:2181") }

// RemoteAddr implements [net.Conn].
func (l *line) RemoteAddr() net.Addr { return lineAddr(addresses[0]) }

type lineAddr string

func (lineAddr) Network() string  { return "tcp" }
func (a lineAddr) String() string { return string(a) }
