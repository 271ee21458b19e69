package line

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Host is the process whose code has dialled a line. Its methods are called on the code's goroutines.
type Host interface {
	Dead() bool                  // the process is dead: what its code calls stays there …
	Stay() error                 // … until the episode is over
	Fence()                      // what the loop has done comes before what its timers wake
	Held() bool                  // what the servers send stays on the way
	Takes(l *Line, frame []byte) // a frame was written
	Closes(l *Line)
}

// Line is a connection over the wire: a [net.Conn] in memory between a client in a process and the loop. What the
// client writes is handed to the loop frame by frame; what it reads is what the loop has given.
//
// Above mu is what belongs to the loop, but for what never changes.
type Line struct {
	Host   Host
	Number int        // of the process's connections, in the order in which they were dialled
	User   int        // of the dialler, -1 if it is not known
	Conn   int        // the number of the *zk.Conn, which the world closes; 0 if it is not known
	Dialed chan error // tells the dialler what came of it
	Remote net.Addr   // the server that was dialled

	Hello []byte // the first frame, nil until it is there

	mu     sync.Mutex
	begun  []byte // of a frame that is not complete yet
	in     []byte // to be read
	end    error  // what a read finds when there is nothing left in in; nil: it waits
	broken error  // what a write fails with
	mute   bool   // what is written gets lost
	deaf   bool   // nothing comes, not even answers to pings
	said   bool   // the first frame has been written
	alone  bool   // the episode is over, and the line answers by itself …
	gone   bool   // … that there is no such session
	readBy time.Time
	waits  bool          // a read does …
	ready  chan struct{} // … and a token says that it must look again
	putBy  time.Time

	closing sync.Once
	closed  chan struct{} // by the client
}

func New(of Host, user, conn int) *Line {
	return &Line{
		Host: of, User: user, Conn: conn, Remote: &net.TCPAddr{IP: IP(0), Port: 2181},
		Dialed: make(chan error, 1), ready: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// Read implements [net.Conn].
func (l *Line) Read(b []byte) (int, error) {
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
func (l *Line) take(b []byte) (n int, until time.Time, err error) {
	if l.dead() {
		return 0, until, l.Host.Stay()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits = len(l.in) == 0 && l.end == nil; len(l.in) == 0 {
		return 0, l.readBy, l.end
	}
	n = copy(b, l.in)
	if l.in = l.in[n:]; len(l.in) == 0 {
		l.in = nil
	}
	return n, until, nil
}

// wait waits until there may be something to read.
func (l *Line) wait(until time.Time) error {
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
		return l.Host.Stay()
	}
	return l.failed("read", err)
}

// failed is the error of a read or a write, as package net has it.
func (l *Line) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: l.LocalAddr(), Addr: l.Remote, Err: err}
}

// Write implements [net.Conn].
func (l *Line) Write(b []byte) (int, error) {
	if l.dead() {
		return 0, l.Host.Stay()
	}
	select {
	case <-l.closed:
		return 0, l.failed("write", net.ErrClosed)
	default:
	}
	l.Host.Fence()
	frames, err := l.put(b)
	if err != nil {
		return 0, err
	}
	for _, frame := range frames {
		l.Host.Takes(l, frame)
	}
	return len(b), nil
}

// put adds what is written, and returns the frames that are complete now. A ping is answered at once: it is no step.
func (l *Line) put(b []byte) (frames [][]byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.putBy.IsZero() && !time.Now().Before(l.putBy):
		return nil, l.failed("write", os.ErrDeadlineExceeded)
	case !l.said && len(l.begun) == 0 && len(b) > 0 && b[0] == tlsHandshake:
		return nil, l.failed("write", errTLS)
	case l.broken != nil || l.mute:
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

// tlsHandshake is the first byte of TLS, where a frame would have one of its length, which is never as large.
const tlsHandshake = 22

var errTLS = errors.New("zktorture: the simulated world's servers have no TLS: connect without")

// lengthBytes are in front of each frame.
const lengthBytes = 4

func isPing(frame []byte) bool {
	var h wire.RequestHeader
	_, err := wire.Parse(frame, &h)
	return err == nil && h.Op == wire.OpPing
}

// pong answers a ping. mu is held.
func (l *Line) pong() {
	if !l.deaf && !l.Host.Held() && l.end == nil {
		l.in = wire.AppendFrame(l.in, &wire.ReplyHeader{Xid: wire.XidPing})
		l.wake()
	}
}

// Part lets the line answer by itself.
func (l *Line) Part() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone, l.mute, l.deaf = true, false, false
}

// Expire lets the line tell the client, when it dials after the end of the episode, that its session is gone: so its
// watches end. One that had no session yet finds the connection closed.
func (l *Line) Expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alone, l.gone = true, true
}

// answer answers what go-zookeeper must send to be closed. mu is held.
func (l *Line) answer(frame []byte) {
	var header wire.RequestHeader
	var asked wire.ConnectRequest
	if !l.said {
		wire.Parse(frame, &asked)
	}
	if l.gone {
		if asked.Session != 0 {
			l.in = protocol.AppendConnected(l.in, &asked, fakezk.ConnectResponse{})
		}
		l.end, l.broken = io.EOF, errPipe
	} else if !l.said {
		l.in = protocol.AppendConnected(l.in, &asked, fakezk.ConnectResponse{
			SessionID: max(asked.Session, 1), Timeout: int64(asked.Timeout), Password: asked.Password,
		})
	} else if wire.Parse(frame, &header); header.Op == wire.OpAuth || header.Op == wire.OpCloseSession {
		l.in = wire.AppendFrame(l.in, &wire.ReplyHeader{Xid: header.Xid})
	}
	l.wake()
}

// Finish ends a line that does not answer by itself: its dial, or its connection.
func (l *Line) Finish() {
	l.mu.Lock()
	alone := l.alone
	l.mu.Unlock()
	if alone {
		return
	}
	select {
	case l.Dialed <- ErrRefused:
	default:
	}
	l.HangUp()
}

// dead reports whether the process is dead for the line.
func (l *Line) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.alone && l.Host.Dead()
}

func (l *Line) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// Give lets the client read something.
func (l *Line) Give(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.in = append(l.in, b...)
	l.wake()
}

// HangUp lets the client read to the end of what was given, and then find the connection closed. Writes fail.
func (l *Line) HangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end, l.broken = cmp.Or(l.end, io.EOF), errPipe
	l.wake()
}

// Reset lets the client find out when it writes next, and not before.
func (l *Line) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = ErrReset
}

// Silence loses what is sent from here on: by the client if mute, to the client if deaf.
func (l *Line) Silence(mute, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute, l.deaf = l.mute || mute, l.deaf || deaf
}

var errPipe error = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}

// Close implements [net.Conn].
func (l *Line) Close() error {
	if l.dead() {
		return l.Host.Stay()
	}
	l.closing.Do(func() {
		close(l.closed)
		l.Host.Closes(l)
	})
	return nil
}

// SetReadDeadline implements [net.Conn].
func (l *Line) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readBy = t; l.waits {
		l.wake()
	}
	return nil
}

// SetWriteDeadline implements [net.Conn]. Writes never wait.
func (l *Line) SetWriteDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putBy = t
	return nil
}

// SetDeadline implements [net.Conn].
func (l *Line) SetDeadline(t time.Time) error {
	return errors.Join(l.SetReadDeadline(t), l.SetWriteDeadline(t))
}

// LocalAddr implements [net.Conn].
func (l *Line) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 1, 1), Port: 40000 + l.Number}
}

// RemoteAddr implements [net.Conn].
func (l *Line) RemoteAddr() net.Addr { return l.Remote }

// ErrReset is what go-zookeeper returns, raw, when a write finds the connection reset.
var ErrReset error = &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)}
