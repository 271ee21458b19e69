package fakezk_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// Whatever is done to a znode and below it, wherever its counters begin: a change is said to end a counter if, and only if,
// that falls, or, of the numbers of children, stays, as the znode's state before and after has it.
func TestCountersEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := fakezk.New(fakezk.Config{SequenceWraps: rapid.Bool().Draw(t, "wraps")})
		do := func(r fakezk.Request) wire.Code {
			r.ACL, r.Version = zk.WorldACL(zk.PermAll), -1
			return e.Admin(1, &r).Err
		}
		do(fakezk.Request{Op: wire.OpCreate, Path: "/a"})
		near := rapid.SampledFrom([]int32{0, 1<<30 - 1, 1 << 30, math.MaxInt32 - 1, math.MaxInt32})
		e.SetSequence("/a", near.Draw(t, "number"))
		e.SetVersions("/a", near.Draw(t, "version"))
		var ends []fakezk.CounterEnd
		e.OnCommit = func(c fakezk.Change) {
			if c.End != fakezk.EndNone {
				ends = append(ends, c.End)
			}
		}
		for i := range rapid.IntRange(1, 16).Draw(t, "operations") {
			before, _ := e.Node("/a")
			ends = ends[:0]
			child := fmt.Sprint("/a/", rapid.IntRange(0, 7).Draw(t, "child"))
			request := rapid.SampledFrom([]fakezk.Request{
				{Op: wire.OpCreate, Path: child}, {Op: wire.OpDelete, Path: child},
				{Op: wire.OpSetData, Path: "/a"}, {Op: wire.OpSetACL, Path: "/a"},
			}).Draw(t, "request")
			code := do(request)
			after, _ := e.Node("/a")
			if want := fell(request.Op, code, before, after); len(want) != len(ends) || len(want) > 0 && want[0] != ends[0] {
				t.Fatalf("operation %d, %v %s: ends %v, want %v; %+v then %+v", i, request.Op, child, ends, want, before, after)
			}
		}
	})
}

// fell says which counter has come to its end between two states of a znode.
func fell(op wire.Op, code wire.Code, before, after fakezk.NodeInfo) []fakezk.CounterEnd {
	switch b, a := before.Stat, after.Stat; {
	case code != wire.CodeOK:
	case op == wire.OpCreate && after.Sequence == before.Sequence:
		return []fakezk.CounterEnd{fakezk.EndSticks}
	case after.Sequence < before.Sequence:
		return []fakezk.CounterEnd{fakezk.EndNumbers}
	case a.Cversion < b.Cversion:
		return []fakezk.CounterEnd{fakezk.EndCversion}
	case a.Version < b.Version:
		return []fakezk.CounterEnd{fakezk.EndVersion}
	case a.Aversion < b.Aversion:
		return []fakezk.CounterEnd{fakezk.EndAversion}
	}
	return nil
}
