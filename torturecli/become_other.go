//go:build !unix

package torturecli

import (
	"errors"
	"os"
	"os/exec"
)

// become runs another program in the place of this one, and returns its exit status.
func become(c *commandContext, env []string, program string, args ...string) error {
	cmd := exec.CommandContext(c, program, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, c.bare.out, c.bare.err
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && failed.Exited() {
		return verdictError(failed.ExitCode())
	}
	return err
}
