package bubble

import "runtime"

// WithRoom calls f with much of its stack in use. As long as it waits, new goroutines of the process have larger stacks:
// the runtime gives them the average of what the collector last found in use (GODEBUG adaptivestackstart). In a world that
// is 2 KB, and most would grow twice or thrice, which takes a tenth of the time of an episode of a lock.
//
//go:noinline
func WithRoom(f func()) {
	var room [128 << 10]byte
	runtime.GC()
	f()
	runtime.KeepAlive(&room)
}
