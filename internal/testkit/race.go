//go:build race

package testkit

// RaceDetector reports whether this binary was built with it.
const RaceDetector = true
