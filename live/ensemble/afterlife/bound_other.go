//go:build !linux

package afterlife

import (
	"syscall"

	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// bound cannot bind the life of a process to its parent's on these systems.
func bound() *syscall.SysProcAttr { return posix.OwnGroup() }
