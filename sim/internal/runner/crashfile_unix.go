//go:build unix

package runner

import (
	"os"
	"syscall"
)

// shareMemory returns memory whose content is that of a file, even after the process has died. The file is written
// first: a full disk could not be reported later.
func shareMemory(file *os.File, size int) ([]byte, error) {
	if _, err := file.Write(make([]byte, size)); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

func unshareMemory(page []byte) {
	if page != nil {
		syscall.Munmap(page)
	}
}
