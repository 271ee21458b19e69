//go:build !unix

package sim

import "time"

// processorTime is the wall clock where nothing better is known.
func processorTime() time.Duration { return time.Since(begun) }

var begun = time.Now()
