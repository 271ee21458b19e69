package bubble

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// Who is alone in a bubble knows it, and nobody is who has started or woken another goroutine.
func TestAlone(t *testing.T) {
	if at := FindCensus(); at.running == 0 && strings.HasSuffix(runtime.GOARCH, "64") {
		t.Fatal("the counts of this runtime are not where they are sought")
	} else if at.running == 0 {
		t.Skip("of this runtime it is not known")
	}
	var outside sync.WaitGroup
	defer outside.Wait()
	stop := make(chan int)
	defer close(stop)
	outside.Go(func() { <-stop })
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			c, ch := CensusHere(), make(chan int)
			expect := func(want bool, when string) {
				t.Helper()
				if c.Alone() != want {
					t.Errorf("%s: alone is %v", when, !want)
				}
			}
			synctest.Wait() // for who was counted by
			expect(true, "nobody else is there")
			if c.Number != Number() {
				t.Errorf("the bubble's number is %d, want %d", c.Number, Number())
			}
			go func() { <-ch }()
			expect(false, "another one is about to run")
			synctest.Wait()
			expect(true, "the other one waits")
			ch <- 1
			expect(false, "the other one is woken")
			synctest.Wait()
			var busy sync.Mutex
			busy.Lock()
			go busy.Lock()
			for range 100 {
				runtime.Gosched()
			}
			expect(false, "the other one waits for a mutex")
			busy.Unlock()
		})
	}
	if (Census{}).Alone() {
		t.Error("who is not counted is alone")
	}
}
