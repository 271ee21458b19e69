package published

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/zktorture/zktorture/fakezk/goclient"
)

// Kazoo keeps the list that it has read, as published.
func TestQ2WhatIsMoreUrgentWaits(t *testing.T) {
	for _, test := range []struct {
		bugs   Bugs
		second string
	}{{NoBugs(), "urgent"}, {OnlyBugs("Q2"), "two"}} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			q := NewKazooPriorityQueue(connect(t, servers), "/q", test.bugs)
			must(t, q.Offer(t.Context(), 0, []byte("one")))
			must(t, q.Offer(t.Context(), 0, []byte("two")))
			_, err := q.Poll(t.Context())
			must(t, err)
			must(t, q.Offer(t.Context(), -1, []byte("urgent")))
			if got, err := q.Poll(t.Context()); string(got) != test.second || err != nil {
				t.Errorf("bugs %v: Poll = %q, %v, want %s", test.bugs, got, err, test.second)
			}
		})
	}
}

func TestAConsumerThatDiesLeavesItsItem(t *testing.T) {
	for _, test := range []struct {
		bugs  Bugs
		again bool
	}{{NoBugs(), true}, {OnlyBugs("DQ4"), false}} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			dying := connect(t, servers)
			q := NewConsumer(dying, "/q", test.bugs)
			must(t, q.Offer(t.Context(), []byte("one")))
			_, err := q.Claim(t.Context())
			must(t, err)
			got := make(chan string, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if item, err := NewConsumer(connect(t, servers), "/q", test.bugs).Claim(ctx); err == nil {
					got <- string(item.Data())
				}
			}()
			dying.Close()
			synctest.Wait()
			if again := len(got) == 1; again != test.again {
				t.Errorf("bugs %v: the item comes again: %v", test.bugs, again)
			}
			cancel()
			synctest.Wait()
		})
	}
}
