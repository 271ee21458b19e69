//go:build unix

package torturecli

import (
	"os/exec"
	"syscall"
)

// become replaces this process by another program, so that signals and the exit status are that one's.
func become(_ *commandContext, env []string, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	return syscall.Exec(path, append([]string{program}, args...), env)
}
