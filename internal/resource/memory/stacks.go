package memory

import "runtime"

// What growStacks leaves: goroutines that wait for ever, with so much of their stacks in use.
const (
	parked = 32
	frames = 12 // of 1 KB
)

// Simulate prepares the process of a command that simulates much: the collector runs less often, and goroutines start with
// large stacks.
func Simulate() {
	RelaxGC()
	growStacks()
}

// growStacks lets goroutines start with 16 KB of stack. The runtime gives them the average of what the collector has met
// (GODEBUG adaptivestackstart), which is 2 KB in a world, and the stacks of most of its goroutines grow thrice. It leaves
// 32 goroutines, so it is for commands.
func growStacks() {
	ready := make(chan bool)
	for range parked {
		go park(frames, ready)
		<-ready
	}
	runtime.GC()
}

//go:noinline
func park(deep int, ready chan bool) byte {
	var frame [1 << 10]byte
	frame[deep] = 1
	if deep > 0 {
		return park(deep-1, ready) + frame[deep/2]
	}
	ready <- true
	select {}
}
