//go:build unix

package coordinator

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the folder for this process, until it ends.
func (f Folder) Lock() (unlock func(), err error) {
	file, err := os.OpenFile(f.path("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return func() { file.Close() }, nil
}
