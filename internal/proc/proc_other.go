//go:build !linux

package proc

import (
	"os/exec"
	"syscall"
)

// bound cannot bind the life of a process to its parent's on these systems.
func bound() *syscall.SysProcAttr { return OwnGroup() }

func start(cmd *exec.Cmd) error { return cmd.Start() }

// EndGroup leaves the group alone: these systems cannot tell whether its number is used again.
func EndGroup(int) {}
