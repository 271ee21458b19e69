// Package resource is about what a process uses: processor time.
package resource

import "time"

// begun is when this process began.
var begun = time.Now()

// Limit bounds work in a way that other programs on the machine do not change: it is reached when so
// much time has passed, and this process has had so much processor time. The zero limit never is.
type Limit struct {
	wall time.Time
	cpu  time.Duration
}

// Within returns the limit that begins now.
func Within(d time.Duration) Limit { return Limit{time.Now().Add(d), CPUTime() + d} }

// Reached reports whether it is reached.
func (l Limit) Reached() bool {
	return !l.wall.IsZero() && time.Now().After(l.wall) && CPUTime() >= l.cpu
}
