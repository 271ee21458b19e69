// Package bubble is what the simulator knows of the Go runtime and of synctest's bubbles: stacks of goroutines, by the
// bubble in which they are; randomness that belongs to a bubble; contexts that end for one goroutine after the other; and
// the tape by which an exact build tells what the runtime decides.
package bubble
