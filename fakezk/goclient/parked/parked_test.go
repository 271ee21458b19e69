package parked

import (
	"testing"
	"testing/synctest"
)

// Whether a goroutine waits at a channel is known, however it waits, and however many do.
func TestAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, capacity := range []int{0, 1, 64} {
			ch, other := make(chan int, capacity), make(chan int)
			expect := func(want bool, when string) {
				t.Helper()
				if synctest.Wait(); At(ch) != want {
					t.Errorf("with room for %d, %s: %v", capacity, when, !want)
				}
			}
			expect(false, "nobody waits")
			for range 2 {
				go func() { <-ch }()
			}
			expect(true, "two receive")
			ch <- 1
			expect(true, "one receives")
			ch <- 1
			expect(false, "both have received")
			go func() {
				select {
				case <-ch:
				case <-other:
				}
			}()
			expect(true, "one selects")
			other <- 1
			expect(false, "it has got something else")
			if capacity > 0 {
				ch <- 1
				expect(false, "something lies there")
			}
			close(ch)
			expect(false, "it is closed")
		}
	})
}
