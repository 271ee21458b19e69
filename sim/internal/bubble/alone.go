package bubble

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/zktorture/zktorture/fakezk/goclient/parked"
)

// Census is what the runtime knows of a bubble: its number, how many goroutines are not durably blocked, and what else
// keeps it from being so (runtime/synctest.go: synctestBubble).
type Census struct {
	Number int
	counts unsafe.Pointer
}

// Known reports whether it has more than the number.
func (c Census) Known() bool { return c.counts != nil }

// Alone reports whether the caller is surely the only goroutine of the bubble that is not durably blocked. Then no other
// one runs before it wakes one, or is blocked itself.
func (c Census) Alone() bool {
	return c.Known() && atomic.LoadUintptr(parked.Word(c.counts, 0)) == 1 && atomic.LoadUintptr(parked.Word(c.counts, 1)) == 0
}

// CensusHere is that of the caller's bubble, in which no other goroutine may call synctest.Wait. It has but the number in
// exact mode, and unless FindCensus, outside of bubbles, has found where this runtime has it.
func CensusHere() Census {
	at := FindCensus()
	if Exact || at.running == 0 || at.number == 0 {
		return Census{Number: Number()}
	}
	ch := make(chan int)
	defer close(ch)
	bubble := *pointer(parkHere(ch), at.bubble)
	return Census{int(*parked.Word(bubble, at.number)), unsafe.Pointer(parked.Word(bubble, at.running))}
}

// place says by the numbers of words where a goroutine has its bubble, and where that has what is in a census; 0 is not
// known. Both have more words than are looked at.
type place struct{ bubble, number, running int }

const goroutineWords, bubbleWords = 52, 17

// FindCensus seeks where the runtime has that.
var FindCensus = sync.OnceValue(func() (at place) {
	ch := make(chan int)
	defer close(ch)
	go func() { <-ch }()
	for tries := 0; tries < 1<<20 && !parked.At(ch); tries++ {
		runtime.Gosched()
	}
	outside := parked.First(ch)
	for number := 0; outside != nil && number < bubbleWords; { // not to be confused with a count
		synctest.Test(&testing.T{}, func(*testing.T) {
			if number = Number(); number >= bubbleWords {
				at = seek(*pointer(outside, 0), uintptr(number))
			}
		})
	}
	return at
})

func pointer(at unsafe.Pointer, n int) *unsafe.Pointer {
	return (*unsafe.Pointer)(unsafe.Pointer(parked.Word(at, n)))
}

// parkHere lets a goroutine wait at a channel, and returns it as the runtime has it.
func parkHere(ch chan int) (goroutine unsafe.Pointer) {
	go func() { <-ch }()
	synctest.Wait()
	return *pointer(parked.First(ch), 0)
}

// seek looks for the one address that two goroutines of the caller's bubble have where one outside has nothing, for the
// word there that is the bubble's number, and for the one that follows how many of its goroutines run.
func seek(outside unsafe.Pointer, number uintptr) (at place) {
	ch, other, stop := make(chan int), make(chan int), atomic.Bool{}
	defer close(ch)
	defer close(other)
	defer stop.Store(true)
	a, b := parkHere(ch), parkHere(other)
	for n := range goroutineWords {
		if v := *parked.Word(a, n); v == *parked.Word(b, n) && *parked.Word(outside, n) == 0 && v >= 1<<16 && v%8 == 0 {
			if at.bubble != 0 {
				return place{}
			}
			at.bubble = n
		}
	}
	bubble, follows := *pointer(a, at.bubble), [bubbleWords]int{}
	for running := uintptr(1); running <= 3 && at.bubble != 0; running++ {
		for n := range follows {
			switch atomic.LoadUintptr(parked.Word(bubble, n)) {
			case number:
				at.number = n
			case running:
				follows[n]++
			}
			if follows[n] == 3 {
				at.running = n
			}
		}
		go func() {
			for !stop.Load() {
				runtime.Gosched()
			}
		}()
	}
	return at
}
