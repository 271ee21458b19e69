package quorum

import (
	"bytes"
	"context"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// Packets as a leader of ZooKeeper 3.8.0 sent them to a follower.
const (
	leaderInfo = "0000001100000001000000000000000400010000ffffffff"
	diff       = "0000000d0000000000000000ffffffffffffffff"
	upToDate   = "0000000cffffffffffffffffffffffffffffffff"
	proposal   = "000000020000000100000001000000300300036374510000000000000000000100000001" +
		"000001a2006bcdaafffffff6000007d0000000020000000051c6d660ffffffff"
	commit1 = "000000040000000100000001ffffffffffffffff"
	commit2 = "000000040000000100000002ffffffffffffffff"
	commit3 = "000000040000000100000003ffffffffffffffff"
	ping    = "000000050000000100000002ffffffffffffffff"
	// And as it would send them.
	syncAnswer = "000000070000000000000000ffffffffffffffff"
	snapshot   = "0000000f0000000100000002ffffffffffffffff"
	// With two identities, the second without a scheme.
	identified = "000000050000000100000002ffffffff" + "00000002" + "0000000161" + "00000002" + "6262" + "ffffffff" +
		"00000000"
)

func octets(t *testing.T, packets ...string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(packets, ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRead(t *testing.T) {
	sent := []string{leaderInfo, diff, upToDate, proposal, commit1, ping, identified}
	kinds := []kind{17, 13, kindUpToDate, 2, kindCommit, 5, 5}
	zxids := []int64{1 << 32, 0, -1, 1<<32 | 1, 1<<32 | 1, 1<<32 | 2, 1<<32 | 2}
	r := reader{source: bytes.NewReader(octets(t, sent...))}
	for i := range sent {
		p, err := r.read()
		if err != nil || p.kind != kinds[i] || p.zxid != zxids[i] || !bytes.Equal(p.bytes, octets(t, sent[i])) {
			t.Errorf("packet %d: %d %#x %x, %v; want %d %#x %s", i, p.kind, p.zxid, p.bytes, err, kinds[i], zxids[i],
				sent[i])
		}
	}
	if _, err := r.read(); err != io.EOF {
		t.Error(err)
	}
}

// What ends inside a packet, or has an impossible length, is an error, with what was read of it.
func TestReadBroken(t *testing.T) {
	whole := octets(t, proposal)
	for n := 1; n < len(whole); n++ {
		r := reader{source: bytes.NewReader(whole[:n])}
		if p, err := r.read(); err != io.ErrUnexpectedEOF || !bytes.Equal(p.bytes, whole[:n]) {
			t.Errorf("of %d bytes: %x, %v", n, p.bytes, err)
		}
	}
	for _, length := range []string{"fffffffe", "7fffffff"} {
		r := reader{source: bytes.NewReader(octets(t, commit1[:24], length, "00000000"))}
		if _, err := r.read(); err == nil || !strings.Contains(err.Error(), "malformed packet") {
			t.Errorf("length %s: %v", length, err)
		}
	}
}

// stand is a follower behind a hold, and the leader's end of its connection.
type stand struct {
	*testing.T
	hold   *Hold
	leader net.Conn
	bytes  chan byte     // that have passed
	ended  chan struct{} // closed when nothing passes any more
}

func newStand(t *testing.T) *stand {
	t.Helper()
	leader, far := net.Pipe()
	s := &stand{T: t, hold: NewHold(), leader: leader, bytes: make(chan byte, 1<<16), ended: make(chan struct{})}
	t.Cleanup(func() { leader.Close() })
	go func() {
		defer close(s.ended)
		s.hold.pass(s, far)
	}()
	return s
}

func (s *stand) Write(b []byte) (int, error) {
	for _, c := range b {
		s.bytes <- c
	}
	return len(b), nil
}

func (s *stand) send(packets ...string) {
	s.Helper()
	if _, err := s.leader.Write(octets(s.T, packets...)); err != nil {
		s.Fatal(err)
	}
}

// wants waits for packets. What is behind them in the same order has passed, too, or not yet.
func (s *stand) wants(packets ...string) {
	s.Helper()
	want := octets(s.T, packets...)
	var got []byte
	deadline := time.After(20 * time.Second)
	for range want {
		select {
		case b := <-s.bytes:
			got = append(got, b)
		case <-deadline:
			s.Fatalf("there came %x, want %x", got, want)
		}
	}
	if !bytes.Equal(got, want) {
		s.Fatalf("there came %x, want %x", got, want)
	}
}

// COMMITs after the limit are held, and syncs behind them; all else passes.
func TestHold(t *testing.T) {
	s := newStand(t)
	s.send(leaderInfo, diff, upToDate, commit1)
	s.wants(leaderInfo, diff, upToDate, commit1)
	s.hold.Hold(1<<32 | 1)
	s.send(syncAnswer, proposal, commit2, syncAnswer, proposal, commit3, syncAnswer, ping)
	s.wants(syncAnswer, proposal, proposal, ping)
	s.hold.Hold(1<<32 | 2)
	s.wants(commit2, syncAnswer)
	s.send(ping)
	s.wants(ping)
	if !s.hold.Holds() {
		t.Error("the hold is open")
	}
	s.hold.Free()
	s.wants(commit3, syncAnswer)
	if s.hold.Holds() || s.hold.Blind() {
		t.Error("it holds, or cannot")
	}
}

// Until a follower is up to date everything passes in order, with the transactions that it has missed.
func TestGateBeforeUpToDate(t *testing.T) {
	s := newStand(t)
	s.hold.Hold(0)
	s.send(diff, proposal, commit1, upToDate, commit2, ping)
	s.wants(diff, proposal, commit1, upToDate, ping)
	s.hold.Free()
	s.wants(commit2)
}

// What follows a snapshot passes as it is.
func TestGateBlind(t *testing.T) {
	s := newStand(t)
	s.hold.Hold(0)
	noPacket := strings.Repeat("7f", 100)
	s.send(leaderInfo, snapshot, noPacket, commit1, ping)
	s.wants(leaderInfo, snapshot, noPacket, commit1, ping)
	if !s.hold.Blind() {
		t.Error("who has been sent a snapshot can be held")
	}
}

// The end comes after all that may pass, whether it is in order or not, and what is held is lost.
func TestGateEnd(t *testing.T) {
	s := newStand(t)
	s.send(upToDate)
	s.wants(upToDate)
	s.hold.Hold(1<<32 | 1)
	s.send(commit1, commit2, ping, proposal[:20])
	s.leader.Close()
	s.wants(commit1, ping, proposal[:20])
	<-s.ended
	if s.hold.Blind() || !s.hold.Holds() || len(s.bytes) > 0 {
		t.Errorf("the end of a connection has changed the hold, or %d bytes have passed", len(s.bytes))
	}
}

// A follower's connections reach the leader behind the hold, both ways, and end with either side or the pipe.
func TestPipe(t *testing.T) {
	leader, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	hold := NewHold()
	dial := func(context.Context) (net.Conn, error) { return net.Dial("tcp4", leader.Addr().String()) }
	p, err := NewPipe("127.0.0.1:0", dial, hold)
	if err != nil {
		t.Fatal(err)
	}
	ends := func() (follower, atLeader net.Conn) {
		follower, err := net.Dial("tcp4", p.Addr().String())
		if err == nil {
			atLeader, err = leader.Accept()
		}
		if err != nil {
			t.Fatal(err)
		}
		return follower, atLeader
	}
	wants := func(from net.Conn, want []byte) {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(from, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%x, %v: want %x", got, err, want)
		}
	}
	gone := func(from net.Conn) {
		if n, err := from.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes, want the end", n)
		}
	}
	follower, atLeader := ends()
	hold.Hold(0)
	follower.Write([]byte("hello"))
	wants(atLeader, []byte("hello"))
	atLeader.Write(octets(t, upToDate, commit1, ping))
	wants(follower, octets(t, upToDate, ping))
	atLeader.Close()
	gone(follower)
	follower, atLeader = ends()
	follower.Close()
	gone(atLeader)
	follower, atLeader = ends()
	p.Close()
	gone(follower)
	gone(atLeader)
}
