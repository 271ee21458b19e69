// Package proc starts processes that do not outlive this one, and makes folders of which nothing stays.
//
// This process may be killed at any moment, and then it cleans up nothing. On Linux the kernel kills what [Start] has
// started; elsewhere such a process sees the end of its standard input, if it has a pipe from here. A [Folder] is
// removed by the next process that makes one of the same prefix.
package proc

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Start starts a command in a process group of its own, so that Ctrl-C in a terminal does not reach it, and calls
// wait, which has to wait for its end. It needs a Unix.
//
// The kernel kills a process when the thread ends that has started it (prctl(2), PR_SET_PDEATHSIG), and Go ends
// threads as it likes. So both are done on a thread that does nothing else meanwhile.
func Start(cmd *exec.Cmd, wait func()) error {
	if err := Allowed(); err != nil {
		return err
	}
	cmd.SysProcAttr = bound()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := start(cmd)
		started <- err
		if err == nil {
			wait()
		}
	}()
	return <-started
}

// Folder is a folder for temporary files.
type Folder struct {
	Path string
	lock *os.File // the folder, locked while this process lives
}

// NewFolder makes a folder below parent, or in the system's folder for temporary files if that is "". It removes those
// of the same prefix of which no process holds the lock (flock(2)): whoever has made them is dead, however it has died.
// An id of a process would not say so: ids are used again, and differ between containers that share a place.
func NewFolder(parent, prefix string) (*Folder, error) {
	parent, err := filepath.Abs(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(parent, prefix+"*"))
	for _, path := range left {
		if lock := locked(path); lock != nil {
			os.RemoveAll(path)
			lock.Close()
		}
	}
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		if lock := locked(path); lock != nil {
			return &Folder{path, lock}, nil
		} else if _, err := os.Stat(path); err == nil { // else another process has taken it for a dead one's
			os.Remove(path)
			return nil, fmt.Errorf("%s cannot be locked: choose a folder of a local disk", path)
		}
	}
}

// locked locks a folder and opens it; nil if another process has it, or if it is no folder of that name any more.
func locked(path string) *os.File {
	lock, err := os.Open(path)
	if err != nil {
		return nil
	}
	is, err := lock.Stat()
	if err == nil {
		err = tryLock(lock)
	}
	if now, gone := os.Lstat(path); err != nil || gone != nil || !now.IsDir() || !os.SameFile(is, now) {
		lock.Close()
		return nil
	}
	return lock
}

// Remove removes the folder with its content.
func (f *Folder) Remove() error {
	defer f.lock.Close()
	return os.RemoveAll(f.Path)
}
