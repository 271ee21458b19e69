package bubble

import (
	"testing"
	"unsafe"
)

// Within WithRoom the stack of a goroutine that uses 8 KB does not move, as it need not grow. (The runtime gives large stacks
// to goroutines in the place of those that have ended.)
func TestRoom(t *testing.T) {
	moved, goroutines := make(chan bool), 0
	WithRoom(func() {
		for still := true; still && goroutines < 1000; goroutines++ {
			go func() {
				var here byte
				at := uintptr(unsafe.Pointer(&here))
				use8KB(false)
				moved <- at != uintptr(unsafe.Pointer(&here))
			}()
			still = <-moved
		}
	})
	if goroutines == 1000 {
		t.Error("all stacks have grown")
	}
}

//go:noinline
func use8KB(touch bool) (sum int) {
	var frame [8 << 10]byte
	if touch {
		for i := range frame {
			sum += int(frame[(i*i)%len(frame)])
		}
	}
	return sum
}
