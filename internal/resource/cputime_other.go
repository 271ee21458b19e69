//go:build !unix

package resource

import "time"

// CPUTime is the time since this process began: its processor time is not known here.
func CPUTime() time.Duration { return time.Since(begun) }
