package linearizability

import (
	"fmt"
	"sync"
	"testing"
)

func TestRecorder(t *testing.T) {
	var r Recorder
	a := r.Begin(1, "acquire", Null, 1)
	b := r.Begin(2, "try", Null, 2)
	b.End(OK, Null, 3)
	a.End(OK, Int(7), 4)
	r.Begin(1, "release", Null, 5).Note("connection closed").End(Unknown, Null, 6)
	again := r.Begin(1, "release", Null, 7)
	again.End(OK, Null, 8)
	again.End(Unknown, Null, 9) // does not count
	r.Begin(1, "acquire", Null, 9).On("/lock").End(Unknown, Null, 10)
	r.Begin(1, "acquire", Null, 11).End(Fail, Null, 12)
	r.Begin(2, "acquire", Null, 13)
	const want = `client 2 try → null [2..3]
client 1 acquire → 7 [1..4]
client 101 release [7..8]
client 201 acquire (fail) [11..12]
client 1 release (unknown) [5..]
client 101 acquire (unknown) [9..]
client 2 acquire (unknown) [13..]
`
	h := r.History()
	if got := lines(h); got != want {
		t.Errorf("the history is\n%swant\n%s", got, want)
	}
	if h[0].Process != Null || h[2].Process != Int(1) || h[3].Process != Int(1) {
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
		r.Begin(client, "take", Null, 1).End(Unknown, Null, 2)
		r.Begin(client, "take", Null, 3).End(Unknown, Null, 4)
		r.Begin(client, "take", Null, 5)
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
				p := r.Begin(client, "offer", Str(fmt.Sprint(client, "-", i)), 2*i)
				p.End(Outcome(i%3), Null, 2*i+1)
				r.History()
			}
		})
	}
	group.Wait()
	h := r.History()
	if len(h) != 400 {
		t.Errorf("%d operations were recorded, not 400", len(h))
	}
	if v := Check(Queue(), h, Options{})[0]; v.Outcome != Ok {
		t.Error(v)
	}
}
