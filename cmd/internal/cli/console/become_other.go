//go:build !unix

package console

import (
	"errors"
	"os"
	"os/exec"
)

// Become runs another program in the place of this one, and returns its exit status.
func Become(c *Context, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(c, program, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, c.Bare.Stdout, c.Bare.Stderr
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
		return VerdictError(failed.ExitCode())
	}
	return err
}

// claim takes standard output away from all else in this process that prints to os.Stdout from now on.
func claim() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
