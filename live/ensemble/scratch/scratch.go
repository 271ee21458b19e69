package scratch

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/zktorture/zktorture/live/ensemble/afterlife"
	"github.com/zktorture/zktorture/live/ensemble/posix"
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

// New makes a folder below parent, which must exist, with a name that begins with prefix, and removes there those of
// the same prefix whose owners have died. The default of parent is the system's folder for temporary files. An error
// leaves nothing.
func New(parent, prefix string) (*Folder, error) {
	parent, err := filepath.Abs(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return nil, fmt.Errorf("scratch: %w", err)
	}
	sweep(parent, prefix)
	f := &Folder{path: filepath.Join(parent, prefix+rand.Text()), gone: make(chan struct{})}
	if f.remover, err = newRemover(f.path); err != nil {
		return nil, fmt.Errorf("scratch: nothing would remove %s: %w", f.path, err)
	}
	go f.watch(f.remover)
	if f.lock, err = newLock(f.path); err == nil {
		err = os.Mkdir(f.path, 0o700)
	}
	if err != nil {
		f.Remove()
		return nil, fmt.Errorf("scratch: cannot make a folder: %w", err)
	}
	return f, nil
}

// Path returns where the folder is.
func (f *Folder) Path() string { return f.path }

// Remove removes the folder with its content. It must not be called twice. After an error something is left, which
// the remover goes on to remove for some seconds.
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

// release has the remover remove what is left, and end.
func (f *Folder) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.remover.Release()
	if f.lock != nil {
		f.lock.Close()
	}
}

// removing is the remover's script. Processes that die with the owner may write for another moment, so it looks again
// a second after it has removed everything. It gives up after some seconds.
const removing = `for attempt in 1 2 3 4 5 6 7 8 9 10; do
	[ -f "$1.lock" ] || exit 0
	rm -rf -- "$1"
	sleep 1
	[ -e "$1" ] || rm -f -- "$1.lock"
done`

func newRemover(path string) (*afterlife.Executor, error) {
	return afterlife.Start(removing, "zktorture-remover", path)
}

// removersMax bounds how many removers a folder may have, one after the other.
const removersMax = 20

// watch replaces a remover that ends too early. It refers to the folder, so that the garbage collector does not end it.
func (f *Folder) watch(r *afterlife.Executor) {
	defer close(f.gone)
	for n := 1; r != nil; n++ {
		r.Wait()
		r = f.replace(n)
	}
}

// replace returns the remover after the n-th, nil if there is none.
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

// lockName is the lock file of a folder.
func lockName(path string) string { return path + ".lock" }

// newLock makes the lock file of a folder. It is marked only after it is locked.
func newLock(path string) (*os.File, error) {
	file, err := os.OpenFile(lockName(path), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	err = posix.TryLock(file)
	if err == nil {
		_, err = fmt.Fprintf(file, "%sprocess %d\n", mark, os.Getpid())
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s cannot be locked: %w: choose another place", file.Name(), err)
	}
	return file, nil
}
