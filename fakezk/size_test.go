package fakezk_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// A request has the size with which it came.
func TestSize(t *testing.T) {
	for op := wire.Op(-20); op < 200; op++ {
		record := wire.NewRequest(op)
		if record == nil || op == wire.OpReconfig { // what that asks for is not read
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			if multi, ok := record.(*wire.MultiRequest); ok {
				multi.Ops = make([]wire.MultiOp, rapid.IntRange(0, 3).Draw(t, "operations"))
				for i := range multi.Ops {
					part := rapid.SampledFrom([]wire.Op{wire.OpCreate, wire.OpCreateTTL, wire.OpSetData, wire.OpDelete}).Draw(t, "op")
					multi.Ops[i] = wire.MultiOp{Op: part, Record: wire.NewRequest(part)}
					testkit.Draw(t, multi.Ops[i].Record)
				}
			} else {
				testkit.Draw(t, record)
			}
			frame := wire.AppendFrame(nil, &wire.RequestHeader{Op: op}, record)[4:]
			if r, err := protocol.ParseRequest(op, frame[8:]); err != nil || r.Size() != len(frame) {
				t.Errorf("%v, %v: %d bytes, want %d; %+v", op, err, r.Size(), len(frame), r)
			}
		})
	}
}
