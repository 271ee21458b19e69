//go:build unix

package sim

import (
	"os"
	"syscall"
)

// shareMemory returns memory whose content is that of a file, also after the process has died. The file is
// written first: nobody could be told later that the disk is full.
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
