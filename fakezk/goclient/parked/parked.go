// Package parked reads from the Go runtime which goroutines are parked, for which Go has no functions. What this runtime
// does not have where it is sought is not known, and callers get on without it.
package parked

import (
	"runtime"
	"sync/atomic"
	"unsafe"
)

// At reports whether a goroutine waits to receive from a channel. It is false for all channels if this runtime's list was
// not found.
func At[T any](ch chan T) bool { return First(ch) != nil }

// NobodyAt reports whether surely no goroutine waits to receive from a channel.
func NobodyAt[T any](ch chan T) bool { return receivers != 0 && First(ch) == nil }

// First is the runtime's note of the first of these goroutines (runtime/runtime2.go: sudog), which begins with the
// goroutine; nil if there is none, or it is not known.
func First[T any](ch chan T) unsafe.Pointer {
	if receivers == 0 {
		return nil
	}
	return *(*unsafe.Pointer)(unsafe.Pointer(Word(*(*unsafe.Pointer)(unsafe.Pointer(&ch)), receivers)))
}

// receivers is where a channel has the first of the goroutines that wait to receive: the number of the word, 0 if it is
// not known.
var receivers = findReceivers()

// channelWords are fewer than a channel of the runtime has (runtime/chan.go: hchan). With 32 bits the list is one further.
const channelWords = 11

// Word is the n-th word of what the runtime has at an address.
//
//go:nocheckptr
func Word(at unsafe.Pointer, n int) *uintptr {
	return (*uintptr)(unsafe.Add(at, n*int(unsafe.Sizeof(uintptr(0)))))
}

// findReceivers lets a goroutine wait and looks for what has changed from nothing to two equal pointers, which are the
// first and the last of a list of one.
func findReceivers() int {
	ch := make(chan int, 1)
	defer close(ch)
	at := *(*unsafe.Pointer)(unsafe.Pointer(&ch))
	var before [channelWords]uintptr
	for n := range before {
		before[n] = *Word(at, n)
	}
	go func() { <-ch }()
	for range 1 << 20 {
		runtime.Gosched()
		for n := range channelWords - 1 {
			first, last := atomic.LoadUintptr(Word(at, n)), atomic.LoadUintptr(Word(at, n+1))
			if before[n] == 0 && before[n+1] == 0 && first != 0 && first == last {
				return n
			}
		}
	}
	return 0
}
