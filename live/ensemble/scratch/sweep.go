package scratch

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/live/ensemble/posix"
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
	lock, err := posix.OpenOwn(lockName(path))
	if err != nil {
		return
	}
	defer lock.Close()
	if !marked(lock) || posix.TryLock(lock) != nil {
		return
	}
	if os.RemoveAll(path) == nil {
		os.Remove(lock.Name())
	}
}

func marked(file *os.File) bool {
	line := make([]byte, len(mark))
	_, err := io.ReadFull(file, line)
	return err == nil && string(line) == mark
}
