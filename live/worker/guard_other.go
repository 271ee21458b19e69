//go:build !linux

package worker

import (
	"os/exec"
	"time"
)

// guard does nothing: these systems cannot find what a worker has started.
func guard(*exec.Cmd) error { return nil }

// endGroup leaves the group alone: these systems cannot tell whether its number has been reused.
func endGroup(int) {}

// heldBack is not known here.
func heldBack(int) (time.Duration, bool) { return 0, false }
