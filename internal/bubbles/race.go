//go:build race

package bubbles

// RaceDetector tells whether this binary was built with it.
const RaceDetector = true
