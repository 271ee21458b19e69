package goclient

import (
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
)

// Whether a goroutine waits at a channel is known, however it waits, and however many do.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, capacity := range []int{0, 1, 64} {
			ch, other := make(chan zk.Event, capacity), make(chan zk.Event)
			expect := func(want bool, when string) {
				t.Helper()
				if synctest.Wait(); waits(ch) != want {
					t.Errorf("with room for %d, %s: %v", capacity, when, !want)
				}
			}
			expect(false, "nobody waits")
			for range 2 {
				go func() { <-ch }()
			}
			expect(true, "two receive")
			ch <- zk.Event{}
			expect(true, "one receives")
			ch <- zk.Event{}
			expect(false, "both have received")
			go func() {
				select {
				case <-ch:
				case <-other:
				}
			}()
			expect(true, "one selects")
			other <- zk.Event{}
			expect(false, "it has got something else")
			if capacity > 0 {
				ch <- zk.Event{}
				expect(false, "something lies there")
			}
			close(ch)
			expect(false, "it is closed")
		}
	})
}
