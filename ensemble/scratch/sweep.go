package scratch

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// sweep removes the folders below parent whose owners have died. Failures are left to the next time.
func sweep(parent, prefix string) {
	entries, _ := os.ReadDir(parent)
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), lockName(""))
		if is && strings.HasPrefix(name, prefix) {
			sweepOne(filepath.Join(parent, name))
		}
	}
}

// sweepOne removes a folder of this package if it belongs to this user and its owner has died. The lock file is locked
// meanwhile, and goes last.
func sweepOne(path string) {
	lock, err := os.OpenFile(lockName(path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer lock.Close()
	if !mine(lock) || !marked(lock) || syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	if os.RemoveAll(path) == nil {
		os.Remove(lock.Name())
	}
}

// mine tells whether an open file is a regular one of this user.
func mine(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func marked(file *os.File) bool {
	line := make([]byte, len(mark))
	_, err := io.ReadFull(file, line)
	return err == nil && string(line) == mark
}
