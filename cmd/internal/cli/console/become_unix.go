//go:build unix

package console

import (
	"os/exec"
	"syscall"
)

// Become replaces this process by another program, so that signals and the exit status are that one's.
func Become(_ *Context, env []string, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{program}, args...), env)
}
