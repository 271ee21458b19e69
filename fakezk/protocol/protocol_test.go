package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// ops are the operations that clients send in frames of their own.
var ops = []wire.Op{
	wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData, wire.OpSetData, wire.OpGetACL, wire.OpSetACL, wire.OpGetChildren,
	wire.OpSync, wire.OpPing, wire.OpGetChildren2, wire.OpCheck, wire.OpMulti, wire.OpCreate2, wire.OpRemoveWatches,
	wire.OpCreateContainer, wire.OpCreateTTL, wire.OpAuth, wire.OpSetWatches, wire.OpSetWatches2, wire.OpAddWatch, wire.OpCloseSession,
}

// drawn is the record of a request, nil if there is none.
func drawn(t *rapid.T, op wire.Op) wire.Record {
	record := wire.NewRequest(op)
	switch record := record.(type) {
	case nil:
	case *wire.MultiRequest:
		parts := []wire.Op{wire.OpCreate, wire.OpDelete, wire.OpSetData, wire.OpCheck, wire.OpCreateTTL}
		for range rapid.IntRange(0, 4).Draw(t, "operations") {
			part := rapid.SampledFrom(parts).Draw(t, "part")
			record.Ops = append(record.Ops, wire.MultiOp{Op: part, Err: noError, Record: drawn(t, part)})
		}
	case *wire.AuthRequest:
		testkit.Draw(t, record)
		record.Type = 0 // is always
	default:
		testkit.Draw(t, record)
	}
	return record
}

// A request that was read from a frame is written as the same frame.
func TestRequestsBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := Asked{Xid: rapid.Int32().Draw(t, "xid"), Op: rapid.SampledFrom(ops).Draw(t, "op")}
		frame := wire.Append(nil, &wire.RequestHeader{Xid: asked.Xid, Op: asked.Op})
		header := len(frame)
		if record := drawn(t, asked.Op); record != nil {
			frame = wire.Append(frame, record)
		}
		r, err := ParseRequest(asked.Op, frame[header:])
		if err != nil {
			t.Fatal(err)
		}
		if again := AppendRequest(nil, asked, &r); !bytes.Equal(again, frame) {
			t.Errorf("%v:\n%x is written as\n%x", asked.Op, frame, again)
		}
	})
}

// So is a handshake.
func TestHandshakesBothWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var asked wire.ConnectRequest
		testkit.Draw(t, &asked)
		asked.Version, asked.ReadOnly = 0, new(bool)
		if asked.Password == nil {
			asked.Password = make([]byte, passwordBytes)
		}
		frame := wire.Append(nil, &asked)
		if again := AppendHandshake(nil, Handshake(&asked)); !bytes.Equal(again, frame) {
			t.Errorf("%x is written as\n%x", frame, again)
		}
	})
}
