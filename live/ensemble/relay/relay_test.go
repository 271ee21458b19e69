package relay_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/relay"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// world is a relay, and the two ends of one connection through it.
type world struct {
	relay     *relay.Relay
	near, far *net.TCPConn
}

func connect(t *testing.T) *world {
	t.Helper()
	server := listen(t)
	r := relay.New(listen(t), func() (net.Conn, error) { return net.Dial("tcp", server.Addr().String()) })
	t.Cleanup(r.Close)
	near, err := net.Dial("tcp", r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{near, far} {
		c.SetDeadline(testkit.Deadline())
		t.Cleanup(func() { c.Close() })
	}
	return &world{r, near.(*net.TCPConn), far.(*net.TCPConn)}
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

func wantRead(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func wantReset(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading: %v, want a reset", err)
	}
}

// What one side sends the other receives, all of it and in order, and the end of one direction leaves the other open.
func TestForwardsAllBothWays(t *testing.T) {
	w := connect(t)
	ends := [2]*net.TCPConn{w.near, w.far}
	for i, from := range ends {
		sent := make([]byte, 3<<20)
		rand.NewChaCha8([32]byte{byte(i)}).Read(sent)
		go func() {
			from.Write(sent)
			from.CloseWrite()
		}()
		got, err := io.ReadAll(ends[1-i])
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("from end %d: %d bytes arrived, of %d, %v; or not the same ones", i, len(got), len(sent), err)
		}
	}
}

// The delay is of what the far side sends only, is not shorter than asked, and ends when it is taken back.
func TestDelay(t *testing.T) {
	w := connect(t)
	const delay = 100 * time.Millisecond
	w.relay.Delay(delay)
	began := time.Now()
	write(t, w.far, "late")
	write(t, w.near, "in time")
	wantRead(t, w.far, "in time")
	wantRead(t, w.near, "late")
	if took := time.Since(began); took < delay {
		t.Errorf("late by %v, want %v", took, delay)
	}
	w.relay.Delay(time.Hour)
	write(t, w.far, "an hour later")
	w.near.SetReadDeadline(time.Now().Add(delay))
	if n, err := w.near.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes arrived an hour too early", n)
	}
	w.near.SetReadDeadline(testkit.Deadline())
	w.relay.Delay(0)
	wantRead(t, w.near, "an hour later")
}

// In a network with a delay the second message is not later than the first by another delay.
func TestDelayDoesNotAddUp(t *testing.T) {
	w := connect(t)
	const delay, messages = 200 * time.Millisecond, 500
	w.relay.Delay(delay)
	began := time.Now()
	for range messages {
		write(t, w.far, "x")
		write(t, w.near, "y")
		wantRead(t, w.far, "y") // so that the relay reads them one by one
	}
	for range messages {
		wantRead(t, w.near, "x")
	}
	if took := time.Since(began); took > messages*delay/2 {
		t.Errorf("%d messages took %v", messages, took)
	}
}

func TestTheEndIsLateToo(t *testing.T) {
	w := connect(t)
	w.relay.Delay(time.Hour)
	w.far.Close()
	w.near.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := w.near.Read(make([]byte, 1)); err == io.EOF {
		t.Error("the end came an hour too early")
	}
	w.near.SetReadDeadline(testkit.Deadline())
	w.relay.Delay(0)
	if _, err := w.near.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("reading: %v, want the end", err)
	}
}

func TestBreaksOnBothSides(t *testing.T) {
	for _, near := range []bool{true, false} {
		w := connect(t)
		broken, other := w.far, w.near
		if near {
			broken, other = w.near, w.far
		}
		broken.SetLinger(0)
		broken.Close()
		wantReset(t, other)
	}
}

func TestResetsWhatItCannotForward(t *testing.T) {
	r := relay.New(listen(t), func() (net.Conn, error) { return nil, errors.New("nobody is there") })
	defer r.Close()
	c, err := net.Dial("tcp", r.Addr().String())
	if errors.Is(err, syscall.ECONNRESET) {
		return // it may come that soon
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantReset(t, c)
}

// Close ends everything, also what has an hour to wait and what is not read.
func TestClose(t *testing.T) {
	w := connect(t)
	w.relay.Delay(time.Hour)
	write(t, w.far, "never")
	w.relay.Close()
	w.relay.Close()
	wantReset(t, w.near)
	if c, err := net.Dial("tcp", w.relay.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}
