//go:build unix

package units

import (
	"os"

	"golang.org/x/sys/unix"
)

// claimOutput takes standard output away from all else in this process: what recipes print goes to standard error.
func claimOutput() (*os.File, error) {
	fd, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	if err := unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd())); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), os.Stdout.Name()), nil
}
