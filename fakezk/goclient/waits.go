package goclient

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/go-zookeeper/zk"
)

// waits reports whether a goroutine waits to receive from a channel. Go has no way to ask; the runtime keeps a list.
// It is false for all channels if this runtime's list was not found.
func waits(ch chan zk.Event) bool {
	return receivers != 0 && *word(ch, receivers) != 0
}

// nobodyWaits reports whether surely no goroutine waits to receive from a channel.
func nobodyWaits(ch chan zk.Event) bool { return receivers != 0 && !waits(ch) }

// receivers is where a channel has the first of the goroutines that wait to receive: the number of the word, 0 if it is
// not known.
var receivers = findReceivers()

// channelWords are fewer than a channel of the runtime has (runtime/chan.go: hchan). With 32 bits the list is one further.
const channelWords = 11

// word is the n-th word of a channel.
func word(ch chan zk.Event, n int) *uintptr {
	return (*uintptr)(unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(&ch)), n*int(unsafe.Sizeof(uintptr(0)))))
}

// findReceivers lets a goroutine wait and looks for what has changed from nothing to two equal pointers, which are the
// first and the last of a list of one.
func findReceivers() int {
	ch := make(chan zk.Event, 1)
	defer close(ch)
	var before [channelWords]uintptr
	for n := range before {
		before[n] = *word(ch, n)
	}
	go func() { <-ch }()
	for range 1 << 20 {
		runtime.Gosched()
		for n := range channelWords - 1 {
			first, last := atomic.LoadUintptr(word(ch, n)), atomic.LoadUintptr(word(ch, n+1))
			if before[n] == 0 && before[n+1] == 0 && first != 0 && first == last {
				return n
			}
		}
	}
	return 0
}
