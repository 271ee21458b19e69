package published_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zoo/published"
)

// queue is what the published queues have in common.
type queue interface {
	Offer(ctx context.Context, data []byte) error
	Poll(ctx context.Context) ([]byte, error)
}

var queues = map[string]func(c recipes.Conn) queue{
	"tutorial":      func(c recipes.Conn) queue { return published.NewTutorialQueue(c, "/q", published.NoBugs()) },
	"syncprimitive": func(c recipes.Conn) queue { return published.NewSyncPrimitiveQueue(c, "/q", published.NoBugs()) },
	"recipe":        func(c recipes.Conn) queue { return published.NewQueueRecipe(c, "/q", published.NoBugs()) },
	"kazoo":         func(c recipes.Conn) queue { return published.NewKazooQueue(c, "/q", published.NoBugs()) },
	"curator":       func(c recipes.Conn) queue { return published.NewCuratorQueue(c, "/q", published.NoBugs()) },
	"insistent":     func(c recipes.Conn) queue { return published.NewInsistentQueue(c, "/q", published.NoBugs()) },
}

func TestQueuesOnAGoodDay(t *testing.T) {
	for name, open := range queues {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				a, b := open(connect(t, servers)), open(connect(t, servers))
				must(t, a.Offer(t.Context(), []byte("1")))
				must(t, b.Offer(t.Context(), []byte("2")))
				for _, want := range []string{"1", "2"} {
					if got, err := b.Poll(t.Context()); string(got) != want || err != nil {
						t.Errorf("Poll = %q, %v, want %s", got, err, want)
					}
				}
				if _, err := a.Poll(t.Context()); !errors.Is(err, recipes.ErrEmpty) {
					t.Errorf("Poll of nothing: %v", err)
				}
			})
		})
	}
}

// Kazoo keeps the list that it has read, as published.
func TestQ2WhatIsMoreUrgentWaits(t *testing.T) {
	for _, test := range []struct {
		bugs   published.Bugs
		second string
	}{{published.NoBugs(), "urgent"}, {published.OnlyBugs("Q2"), "two"}} {
		world(t, func(t *testing.T, servers *fakezk.Local) {
			q := published.NewKazooPriorityQueue(connect(t, servers), "/q", test.bugs)
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
		bugs  published.Bugs
		again bool
	}{{published.NoBugs(), true}, {published.OnlyBugs("DQ4"), false}} {
		world(t, func(t *testing.T, servers *fakezk.Local) {
			dying := connect(t, servers)
			q := published.NewConsumer(dying, "/q", test.bugs)
			must(t, q.Offer(t.Context(), []byte("one")))
			_, err := q.Claim(t.Context())
			must(t, err)
			got := make(chan string, 1)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if item, err := published.NewConsumer(connect(t, servers), "/q", test.bugs).Claim(ctx); err == nil {
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
