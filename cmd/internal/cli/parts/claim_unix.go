//go:build unix

package parts

import (
	"os"

	"golang.org/x/sys/unix"
)

// ClaimOutput takes standard output away from all else in this process: what recipes print goes to standard error.
func ClaimOutput() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	if err := unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd())); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), os.Stdout.Name()), nil
}
