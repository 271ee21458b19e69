package testkit

import "testing"

// ManyWorlds marks a test that runs thousands of worlds. With the race detector it is skipped: the runtime keeps a context
// of the detector, about 200 kB, for each testing/synctest bubble with a fired timer until the process ends (Go 1.26,
// runtime/time.go: bubble.timers.raceCtx is never freed). A campaign would need tens of gigabytes. Tests with fewer
// worlds run the same code under the detector.
func ManyWorlds(t testing.TB) {
	t.Helper()
	if RaceDetector {
		t.Skip("thousands of worlds: the race detector keeps 200 kB for each")
	}
}

// Share returns how many of n worlds, or how much of a duration, a test runs that needs only some: an eighth with the
// race detector, which makes them ten times as slow.
func Share[N ~int | ~int64](n N) N {
	if RaceDetector {
		return max(n/8, 1)
	}
	return n
}
