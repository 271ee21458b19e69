//go:build unix

package server

import (
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
		return nil, fmt.Errorf("%s: another server uses this folder: %w", name, err)
	}
	return file, nil
}
