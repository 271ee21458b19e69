package histories

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	lin "github.com/zktorture/zktorture/linearizability"
)

func TestRecorder(t *testing.T) {
	var r Recorder
	a := r.Begin(1, "acquire", lin.Null, 1)
	b := r.Begin(2, "try", lin.Null, 2)
	b.End(lin.OK, lin.Null, 3)
	a.End(lin.OK, lin.Int(7), 4)
	r.Begin(1, "release", lin.Null, 5).Note("connection closed").End(lin.Unknown, lin.Null, 6)
	again := r.Begin(1, "release", lin.Null, 7)
	again.End(lin.OK, lin.Null, 8)
	again.End(lin.Unknown, lin.Null, 9) // does not count
	r.Begin(1, "acquire", lin.Null, 9).On("/lock").End(lin.Unknown, lin.Null, 10)
	r.Begin(1, "acquire", lin.Null, 11).End(lin.Fail, lin.Null, 12)
	r.Begin(2, "acquire", lin.Null, 13)
	const want = `client 2 try → null [2..3]
client 1 acquire → 7 [1..4]
client 101 release [7..8]
client 201 acquire (fail) [11..12]
client 1 release (unknown) [5..]
client 101 acquire (unknown) [9..]
client 2 acquire (unknown) [13..]
`
	h := r.History()
	var got strings.Builder
	for _, op := range h {
		fmt.Fprintln(&got, op)
	}
	if got.String() != want {
		t.Errorf("the history is\n%swant\n%s", &got, want)
	}
	if h[0].Process != lin.Null || h[2].Process != lin.Int(1) || h[3].Process != lin.Int(1) {
		t.Errorf("processes are not kept: %v", h)
	}
	if h[4].Note != "connection closed" || h[5].Object != "/lock" {
		t.Errorf("note or object is not kept: %v", h)
	}
	h[0].Client = 9
	if r.History()[0].Client != 2 {
		t.Error("a caller can change what was recorded")
	}
}

func TestFreshClientsAreNobodyElse(t *testing.T) {
	var r Recorder
	for _, client := range []int{0, 5, 100, 1234} {
		r.Begin(client, "take", lin.Null, 1).End(lin.Unknown, lin.Null, 2)
		r.Begin(client, "take", lin.Null, 3).End(lin.Unknown, lin.Null, 4)
		r.Begin(client, "take", lin.Null, 5)
	}
	seen := make(map[int]bool)
	for _, op := range r.History() {
		if seen[op.Client] {
			t.Errorf("client %d has two operations that never returned", op.Client)
		}
		seen[op.Client] = true
	}
	if !seen[10005] || !seen[21234] {
		t.Errorf("the clients are %v", seen)
	}
}

func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	var r Recorder
	var group sync.WaitGroup
	for client := range 4 {
		group.Go(func() {
			for i := range int64(100) {
				p := r.Begin(client, "offer", lin.Str(fmt.Sprint(client, "-", i)), 2*i)
				p.End(lin.Outcome(i%3), lin.Null, 2*i+1)
				r.History()
			}
		})
	}
	group.Wait()
	h := r.History()
	if len(h) != 400 {
		t.Errorf("%d operations were recorded, not 400", len(h))
	}
	if v := lin.Check(lin.Queue(), h, 0)[0]; v.Outcome != lin.Ok {
		t.Error(v)
	}
}
