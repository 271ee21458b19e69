//go:build unix

package console

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Become replaces this process by another program, so that signals and the exit status are that one's.
func Become(c *Context, env []string, program string, args ...string) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	if out, claimed := c.Bare.Stdout.(*os.File); claimed {
		if err := unix.Dup2(int(out.Fd()), unix.Stdout); err != nil {
			return os.NewSyscallError("dup2", err)
		}
	}
	return syscall.Exec(path, append([]string{program}, args...), env)
}

// claim takes standard output away from all else in this process, for which it is standard error from now on: what
// recipes print, and the libraries that they use.
func claim() (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(unix.Stdout), unix.F_DUPFD_CLOEXEC, 0)
	if err = errors.Join(err, unix.Dup2(unix.Stderr, unix.Stdout)); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), "/dev/stdout"), nil
}
