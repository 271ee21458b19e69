package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// ops are all operations that the package knows.
func ops() (known []wire.Op) {
	for o := wire.Op(-20); o < 200; o++ {
		if !strings.HasPrefix(o.String(), "op ") {
			known = append(known, o)
		}
	}
	return known
}

// drawn draws a record's fields.
func drawn(t *rapid.T, r wire.Record) {
	parts := func(fresh func(wire.Op) wire.Record) []wire.MultiOp {
		single := slices.DeleteFunc(ops(), func(o wire.Op) bool { return o == wire.OpMulti })
		all := make([]wire.MultiOp, rapid.IntRange(0, 4).Draw(t, "operations"))
		for i := range all {
			all[i].Op = rapid.SampledFrom(single).Draw(t, "op")
			all[i].Err = wire.Code(rapid.Int32().Draw(t, "err"))
			if all[i].Record = fresh(all[i].Op); all[i].Record != nil {
				drawn(t, all[i].Record)
			}
		}
		return all
	}
	switch r := r.(type) {
	case *wire.MultiRequest:
		r.Ops = parts(wire.NewRequest)
	case *wire.MultiReply:
		r.Ops = parts(wire.NewReply)
	default:
		testkit.Draw(t, r)
	}
}

// records are empty records of all kinds.
func records() (all []func() wire.Record) {
	for _, o := range ops() {
		for _, fresh := range []func(wire.Op) wire.Record{wire.NewRequest, wire.NewReply} {
			if fresh(o) != nil {
				all = append(all, func() wire.Record { return fresh(o) })
			}
		}
	}
	return append(all,
		func() wire.Record { return new(wire.RequestHeader) }, func() wire.Record { return new(wire.ReplyHeader) },
		func() wire.Record { return new(wire.ConnectRequest) }, func() wire.Record { return new(wire.ConnectResponse) },
		func() wire.Record { return new(wire.WatcherEvent) })
}

// Property: what is written is read, and nothing of what is behind it; what is cut off is an error.
func TestRoundTrip(t *testing.T) {
	for _, fresh := range records() {
		t.Run(fmt.Sprintf("%T", fresh()), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := fresh()
				drawn(t, r)
				written := wire.Append([]byte("before"), r)
				got := fresh()
				rest, err := wire.Parse(written[6:], got)
				if diff := cmp.Diff(r, got, cmpopts.EquateEmpty()); err != nil || len(rest) > 0 || diff != "" {
					t.Fatalf("%v, %d left: %s", err, len(rest), diff)
				}
				cut := rapid.IntRange(0, max(0, len(written)-7)).Draw(t, "cut")
				var malformed *wire.Error
				if _, err := wire.Parse(written[6:6+cut], fresh()); !optional(r, cut) && !errors.As(err, &malformed) {
					t.Fatalf("cut off after %d of %d bytes: %v", cut, len(written)-6, err)
				}
			})
		})
	}
}

// optional reports whether a connect record without its last byte is that of an old client.
func optional(r wire.Record, cut int) bool {
	switch r := r.(type) {
	case *wire.ConnectRequest:
		return cut == 28+len(r.Password)
	case *wire.ConnectResponse:
		return cut == 20+len(r.Password)
	}
	return false
}

// What Java's classes write, byte for byte, by the tables of zookeeper.jute.
func TestKnownBytes(t *testing.T) {
	readOnly := false
	for want, r := range map[string]wire.Record{
		"00000000 0000000000000007 000003e8 0000000000000000 00000002 abcd 00": &wire.ConnectRequest{LastZxid: 7,
			Timeout: 1000, Password: []byte{0xab, 0xcd}, ReadOnly: &readOnly},
		"00000005 00000001":                  &wire.RequestHeader{Xid: 5, Op: wire.OpCreate},
		"ffffffff fffffff5":                  &wire.RequestHeader{Xid: -1, Op: wire.OpCloseSession},
		"00000005 0000000100000002 ffffff9b": &wire.ReplyHeader{Xid: 5, Zxid: 1<<32 + 2, Err: -101},
		"00000002 2f61 ffffffff 00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 " +
			"00000003": &wire.CreateRequest{Path: "/a", ACL: zk.WorldACL(zk.PermAll), Flags: 3},
		"00000001 2f 00000000 ffffffff": &wire.SetDataRequest{Path: "/",
			Data: []byte{}, Version: -1},
		"00000003 00000003 00000002 2f62": &wire.WatcherEvent{Type: 3, State: 3,
			Path: "/b"},
		"00000002 00 ffffffff 00000001 2f 00000004 ffffffff 01 " +
			"ffffffff": &wire.MultiRequest{Ops: []wire.MultiOp{{Op: wire.OpDelete, Err: -1,
			Record: &wire.PathVersionRequest{Path: "/", Version: 4}}}},
	} {
		if got := hex.EncodeToString(wire.Append(nil, r)); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%T:\n%s, want\n%s", r, got, strings.ReplaceAll(want, " ", ""))
		}
	}
}

// A frame comes in whatever pieces, and no length is believed.
func TestReadFrame(t *testing.T) {
	frame := wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpSync},
		&wire.PathRequest{Path: strings.Repeat("/a", 100_000)})
	stream := slices.Concat(frame, wire.AppendFrame(nil))
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"in halves": iotest.HalfReader(bytes.NewReader(stream)),
	} {
		first, err := wire.ReadFrame(r, nil, wire.FrameMax)
		if err != nil || !bytes.Equal(first, frame[4:]) {
			t.Fatalf("%s: %d bytes, %v", name, len(first), err)
		}
		if empty, err := wire.ReadFrame(r, first, wire.FrameMax); err != nil || len(empty) != 0 {
			t.Fatalf("%s: the empty frame has %d bytes, %v", name, len(empty), err)
		}
		if _, err := wire.ReadFrame(r, first, wire.FrameMax); err != io.EOF {
			t.Fatalf("%s: at the end %v", name, err)
		}
	}
	var malformed *wire.Error
	for _, bad := range []string{"\xff\xff\xff\xff", "\x80\x00\x00\x00", "\x00\x40\x00\x01"} {
		if _, err := wire.ReadFrame(strings.NewReader(bad+"xxxx"), nil, wire.FrameMax); !errors.As(err, &malformed) {
			t.Errorf("a length of %x: %v", bad, err)
		}
	}
	for _, cut := range []int{1, 3, 4, 5, len(frame) - 1} {
		if _, err := wire.ReadFrame(bytes.NewReader(frame[:cut]), nil, wire.FrameMax); err != io.ErrUnexpectedEOF {
			t.Errorf("cut off after %d bytes: %v", cut, err)
		}
	}
}

// Property: whatever bytes come, they are read or refused, what is read can be written and read again,
// and what is allocated is bounded by what came.
func FuzzParse(f *testing.F) {
	all := records()
	for i := range all {
		r := all[i]()
		f.Add(i, wire.Append(nil, r))
		f.Add(i, []byte("\x7f\xff\xff\xff\x00\x00\x00\x01"))
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		fresh := all[uint(i)%uint(len(all))]
		r := fresh()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := wire.Parse(data, r)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > allocationMax(len(data)) {
			t.Fatalf("%d bytes were allocated for %d", n, len(data))
		}
		if err != nil {
			return
		}
		again := fresh()
		if rest, err := wire.Parse(wire.Append(nil, r), again); err != nil || len(rest) > 0 {
			t.Fatalf("what was read cannot be read again: %v, %d left", err, len(rest))
		}
		if diff := cmp.Diff(r, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// allocationMax is what a frame of n bytes may make the package allocate. Other goroutines of the test
// allocate too.
func allocationMax(n int) uint64 { return 64<<10 + 40*uint64(n) }

// Property: whatever stream comes, frames are read or refused, and no more is allocated than came, and one
// step.
func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02abc"))
	f.Add([]byte("\x00\x3f\xff\xffabc"))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bytes.NewReader(data)
		total := 0
		for {
			frame, err := wire.ReadFrame(in, nil, wire.FrameMax)
			if err != nil {
				return
			}
			if total += 4 + len(frame); total > len(data) {
				t.Fatalf("%d bytes were read of %d", total, len(data))
			}
		}
	})
}
