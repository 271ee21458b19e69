package chaosproxy

import (
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// connections is how many there are at most in one run.
const connections = 3

// frameOf makes a frame of four bytes.
func frameOf(b []byte) *proxy.Frame {
	f := &proxy.Frame{Frame: wire.Frame{
		Kind: wire.Kind(b[0] % 5), Connection: 1 + int(b[1]%connections), Xid: int32(b[2] % 4),
		Timeout: time.Duration(b[3]) * time.Hour,
	}}
	switch f.Kind {
	case wire.Connect:
		f.Resumes = int64(b[3] % 4)
	case wire.Connected:
		f.Session = int64(b[3] % 4)
	case wire.Request, wire.Reply:
		f.Op = []wire.Op{wire.OpPing, wire.OpCreate, wire.OpCloseSession, wire.OpSetWatches}[b[3]%4]
	}
	return f
}

// Property: whatever frames come, in whatever order, also such as no server and no client would send, nothing
// panics; what strikes is counted and told; and what lasts is bounded.
func FuzzProxy(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x00\x00\x00\x01\x00\x00\x01\x02\x00\x01\x01\x03\x00\x01\x01"+
		"\x02\x00\x02\x01\x04\x00\x00\x00\xff\x00\x00\x00"))
	f.Add(uint64(115), []byte("9001")) // a request before its client has come
	f.Add(uint64(2), []byte("\x04\x00\x00\x00\x03\x00\x00\x00\x01\x01\x00\x03\x02\x00\x00\x01"))
	gone := make(chan struct{})
	close(gone)
	f.Fuzz(func(t *testing.T, seed uint64, frames []byte) {
		told := map[strike.Fault]int{}
		p, err := New(Config{Servers: []string{"127.0.0.1:1"}, Faults: strike.Faults(strike.OnProxy), Every: 1, Seed: seed,
			Struck: func(s strike.Strike) {
				told[s.Fault]++
				if s.ForMS < 0 || s.ForMS > strike.LastsMax.Milliseconds() || s.Client < 1 && s.Connection < 1 {
					t.Errorf("told: %+v", s)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		requests := 0
		for ; len(frames) >= 4; frames = frames[4:] {
			if frames[0] == 0xff {
				p.ended(1 + int(frames[1]%connections))
				continue
			}
			frame := frameOf(frames)
			if frame.Kind == wire.Request {
				requests++
			}
			p.direct(gone, frame)
		}
		stats := p.Stats()
		for kind, n := range stats.Struck {
			if told[kind] != n {
				t.Errorf("%d of %s struck and %d were told", n, kind, told[kind])
			}
		}
		if stats.Open > connections || stats.Requests > requests || stats.Total() > requests {
			t.Errorf("%+v of %d requests", stats, requests)
		}
	})
}
