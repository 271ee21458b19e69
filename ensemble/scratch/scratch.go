package scratch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/zktorture/zktorture/ensemble/afterlife"
)

// Folder is a folder that is removed when its owner ends.
type Folder struct {
	path string
	lock *os.File
	gone chan struct{} // closed when there is no remover any more

	mu      sync.Mutex
	remover *afterlife.Executor
	over    bool // the owner needs no remover any more
}

// New makes a folder below parent, which must exist, whose name begins with prefix, and removes there those of
// the same prefix whose owners have died. Default of parent: the system's folder for temporary files. The
// error says what could not be made; nothing is left then.
func New(parent, prefix string) (*Folder, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	sweep(parent, prefix)
	f := &Folder{path: filepath.Join(parent, prefix+rand.Text()), gone: make(chan struct{})}
	if f.remover, err = newRemover(f.path); err != nil {
		return nil, fmt.Errorf("scratch: nothing would remove %s: %w", f.path, err)
	}
	go f.watch(f.remover)
	if err := f.make(); err != nil {
		f.Remove()
		return nil, fmt.Errorf("scratch: cannot make a folder: %w", err)
	}
	return f, nil
}

func (f *Folder) make() (err error) {
	if f.lock, err = newLock(f.path); err != nil {
		return err
	}
	return os.Mkdir(f.path, 0o700)
}

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// Remove removes the folder and all that is in it. It must not be called twice. With an error something is
// left, and the remover goes on trying for some seconds.
func (f *Folder) Remove() error {
	err := os.RemoveAll(f.path)
	if err == nil {
		err = os.Remove(lockName(f.path))
	}
	f.release()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("scratch: %w", err)
	}
	<-f.gone
	return nil
}

// release lets the remover do its work, and go.
func (f *Folder) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.remover.Release()
	if f.lock != nil {
		f.lock.Close()
	}
}

// removersMax bounds how many removers a folder may have, one after the other.
const removersMax = 20

// watch puts another remover into the place of one that ends too early. It holds the folder, so that a
// user's forgetting it does not end it.
func (f *Folder) watch(r *afterlife.Executor) {
	defer close(f.gone)
	for n := 1; r != nil; n++ {
		r.Wait()
		r = f.replace(n)
	}
}

// replace returns the remover that follows the n-th, nil if none does.
func (f *Folder) replace(n int) *afterlife.Executor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over || n == removersMax {
		return nil
	}
	next, err := newRemover(f.path)
	if err != nil {
		return nil // the next New in this place removes it
	}
	f.remover = next
	return next
}

// mark is the first line of a lock file.
const mark = "zktorture scratch 1\n"

// lockName is the file by which a folder is known to be one.
func lockName(path string) string { return path + ".lock" }

// newLock makes the lock file of a folder. It is marked when it is locked, and not before.
func newLock(path string) (*os.File, error) {
	file, err := os.OpenFile(lockName(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = fmt.Fprintf(file, "%sprocess %d\n", mark, os.Getpid())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s cannot be locked: %w: choose another place", file.Name(), err)
	}
	return file, nil
}
