package recipes_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func drainPriorities(t *testing.T, q *recipes.PriorityQueue) string {
	t.Helper()
	var items []string
	for {
		data, err := q.Poll(t.Context())
		if err == recipes.ErrEmpty {
			return strings.Join(items, " ")
		}
		must(t, err)
		items = append(items, string(data))
	}
}

func TestPriorityQueueRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewPriorityQueue(c, "/q")
		must(t, q.Offer(t.Context(), 3, []byte("1")))
		expect(t, c, `create /q/pq-80000003-A-: node does not exist
			create /q: ok
			create /q/pq-80000003-A-: ok`)
		if data, err := q.Peek(t.Context()); string(data) != "1" || err != nil {
			t.Errorf("Peek = %q, %v", data, err)
		}
		expect(t, c, `multi 1: ok
			children /q: ok
			get /q/pq-80000003-A-0000000000: ok`)
		if data, err := q.Poll(t.Context()); string(data) != "1" || err != nil {
			t.Errorf("Poll = %q, %v", data, err)
		}
		expect(t, c, `multi 1: ok
			children /q: ok
			get /q/pq-80000003-A-0000000000: ok
			delete /q/pq-80000003-A-0000000000: ok`)
		if _, err := q.Poll(t.Context()); err != recipes.ErrEmpty {
			t.Errorf("Poll: %v", err)
		}
		expect(t, c, `multi 1: ok
			children /q: ok`)
	})
}

// Property: items come out by priority, and those of one priority as they went in.
func TestPriorityQueueOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		offered := rapid.SliceOf(rapid.OneOf(
			rapid.Int32Range(-2, 2), rapid.SampledFrom([]int32{math.MinInt32, 9, 10, math.MaxInt32}),
		)).Draw(rt, "priorities")
		servers := goclient.NewLocal(fakezk.Config{})
		q := recipes.NewPriorityQueue(connect(t, servers), "/q")
		type item struct {
			priority int32
			number   int
		}
		var items []item
		for i, priority := range offered {
			must(t, q.Offer(t.Context(), priority, fmt.Append(nil, i)))
			items = append(items, item{priority, i})
		}
		slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.priority, b.priority) })
		var want []string
		for _, i := range items {
			want = append(want, fmt.Sprint(i.number))
		}
		if got := drainPriorities(t, q); got != strings.Join(want, " ") {
			rt.Fatalf("%v came out as %s, want %s", offered, got, strings.Join(want, " "))
		}
	})
}

// Q2: an item that came after the list was read must not wait behind a worse one.
func TestPriorityQueueLooksAgain(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, other := connect(t, servers), recipes.NewPriorityQueue(connect(t, servers), "/q")
		q := recipes.NewPriorityQueue(c, "/q")
		for i := range int32(3) {
			must(t, q.Offer(t.Context(), 5, fmt.Append(nil, i)))
		}
		c.plan("get", after(func() {
			if data, err := other.Poll(t.Context()); string(data) != "0" || err != nil {
				t.Errorf("the other's Poll = %q, %v", data, err)
			}
			must(t, other.Offer(t.Context(), 1, []byte("urgent")))
		}))
		if got := drainPriorities(t, q); got != "urgent 1 2" {
			t.Errorf("got %s", got)
		}
	})
}

func TestPriorityQueueTakeWaits(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := recipes.NewPriorityQueue(connect(t, servers), "/q"), recipes.NewPriorityQueue(connect(t, servers), "/q")
		got := make(chan string)
		go func() {
			data, err := a.Take(t.Context())
			got <- fmt.Sprint(string(data), err)
		}()
		synctest.Wait()
		must(t, b.Offer(t.Context(), 0, []byte("x")))
		if s := <-got; s != "x<nil>" {
			t.Errorf("Take = %s", s)
		}
	})
}

// Names of another form belong to somebody else.
func TestPriorityQueueIgnoresOthers(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewPriorityQueue(c, "/q")
		must(t, q.Offer(t.Context(), 7, []byte("mine")))
		for _, name := range []string{
			"pq-", "pq-0000000", "pq-zzzzzzzz-a-0000000001", "pq-00000000a-0000000001", "pq-00000000ab-0000000001",
			"pq-00000000-a", "qn-a-0000000001", "x",
		} {
			_, err := c.Conn.Create("/q/"+name, []byte(name), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			must(t, err)
		}
		if got := drainPriorities(t, q); got != "mine" {
			t.Errorf("got %s", got)
		}
	})
}

// A delete whose reply is lost leaves open who took the item, and the error says which it is.
func TestPriorityQueueLostReply(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		q := recipes.NewPriorityQueue(c, "/q")
		must(t, q.Offer(t.Context(), 7, []byte("x")))
		c.plan("delete", loseReply)
		var unknown *recipes.UnknownOutcomeError
		_, err := q.Poll(t.Context())
		if !errors.As(err, &unknown) || string(unknown.Data) != "x" || unknown.Op != "poll" {
			t.Errorf("Poll: %v", err)
		}
		certain := recipes.NewPriorityQueue(c, "/q", recipes.WithReceipts())
		must(t, certain.Offer(t.Context(), 7, []byte("y")))
		c.plan("multi", loseReply)
		if data, err := certain.Poll(t.Context()); string(data) != "y" || err != nil {
			t.Errorf("with receipts Poll = %q, %v", data, err)
		}
	})
}
