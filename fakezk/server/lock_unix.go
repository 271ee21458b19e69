//go:build unix

package server

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// lockFolder holds a file locked, so that no two servers write into one folder. The lock ends with the process.
func lockFolder(name string) (io.Closer, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another server uses this folder: stop it, or choose another folder")
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// openFiles is how many files the process has open, and may have.
func openFiles() (open int, most uint64, ok bool) {
	var limit unix.Rlimit
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, 0, false
	}
	return len(files), uint64(limit.Cur), true
}
