// Package bubbles knows what tests that run many simulated worlds cost.
package bubbles

import "testing"

// Many says that a test runs thousands of worlds. With the race detector such a test is skipped: the runtime keeps a
// context of the detector's, about 200 kB, for each testing/synctest bubble in which a timer has fired, until the
// process ends (Go 1.26, runtime/time.go: bubble.timers.raceCtx is begun and never ended). A campaign would need tens
// of gigabytes. The same code is watched by the detector in tests with fewer worlds.
func Many(t testing.TB) {
	t.Helper()
	if RaceDetector {
		t.Skip("thousands of worlds: the race detector keeps 200 kB for each")
	}
}

// Share is how many of n worlds, or how much of a time in them, a test runs that needs only some: with the race
// detector an eighth, as it makes them ten times as slow.
func Share[N ~int | ~int64](n N) N {
	if RaceDetector {
		return max(n/8, 1)
	}
	return n
}
