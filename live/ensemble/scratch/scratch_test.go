//go:build unix

package scratch_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/scratch"
)

// parentVar makes the test binary an owner: it makes a folder there and says which, and who removes it, whenever it
// is asked.
const parentVar = "SCRATCH_TEST_PARENT"

const prefix = "zookeeper-"

func TestMain(m *testing.M) {
	parent := os.Getenv(parentVar)
	if parent == "" {
		os.Exit(m.Run())
	}
	f, err := scratch.New(parent, prefix)
	if err == nil {
		err = os.MkdirAll(filepath.Join(f.Path(), "data", "deep"), 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for asked := bufio.NewScanner(os.Stdin); ; {
		fmt.Println(f.RemoverPid(), f.Path())
		if !asked.Scan() {
			os.Exit(1)
		}
	}
}

// owner is another process that owns a folder.
type owner struct {
	t   *testing.T
	cmd *exec.Cmd
	ask *os.File
	out *bufio.Reader
}

func newOwner(t *testing.T, parent string) *owner {
	t.Helper()
	theirs, ask, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &owner{t: t, cmd: exec.Command(os.Args[0]), ask: ask}
	o.cmd.Env = append(os.Environ(), parentVar+"="+parent)
	o.cmd.Stdin, o.cmd.Stderr = theirs, os.Stderr
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.out = bufio.NewReader(out)
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	t.Cleanup(func() { o.kill(); ask.Close() })
	return o
}

// folder returns the owner's folder, and the process that removes it.
func (o *owner) folder() (path string, remover int) {
	o.t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		o.t.Fatalf("the owner made no folder: %v", err)
	}
	pid, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	if remover, err = strconv.Atoi(pid); err != nil {
		o.t.Fatalf("%q: %v", line, err)
	}
	fmt.Fprintln(o.ask) // for the next time
	return path, remover
}

func (o *owner) kill() {
	o.cmd.Process.Kill()
	o.cmd.Wait()
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names
}

// eventuallyEmpty fails unless nothing is left in a folder after a while.
func eventuallyEmpty(t *testing.T, dir string) {
	t.Helper()
	testkit.Until(t, "the folder is empty", func() bool { return len(entries(t, dir)) == 0 })
}

func TestRemoved(t *testing.T) {
	parent := t.TempDir()
	f, err := scratch.New(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Path(), "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	remover := f.RemoverPid()
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
	if left := entries(t, parent); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if err := syscall.Kill(remover, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the remover is still there: %v", err)
	}
}

// An owner that is killed leaves nothing, also when its remover was killed before it.
func TestKilledOwner(t *testing.T) {
	for _, removers := range []int{0, 3} {
		parent := t.TempDir()
		o := newOwner(t, parent)
		path, remover := o.folder()
		if left := entries(t, parent); len(left) != 2 || filepath.Dir(path) != parent {
			t.Fatalf("%s is not all that there is: %q", path, left)
		}
		for range removers {
			syscall.Kill(remover, syscall.SIGKILL)
			was := remover
			testkit.Until(t, "there is another remover", func() bool { path, remover = o.folder(); return remover != was })
		}
		o.kill()
		eventuallyEmpty(t, parent)
	}
}

// What ends a process group or a session does not end the remover.
func TestRemoverIgnoresSignals(t *testing.T) {
	parent := t.TempDir()
	o := newOwner(t, parent)
	_, remover := o.folder()
	if session, err := syscall.Getpgid(remover); err != nil || session != remover {
		t.Errorf("the remover %d is in the process group %d: %v", remover, session, err)
	}
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM} {
		if err := syscall.Kill(remover, s); err != nil {
			t.Error(err)
		}
	}
	o.kill()
	eventuallyEmpty(t, parent)
}

// If both are killed, the next folder that is made there takes the dead one's with it, and no other.
func TestNextRemovesWhatTheDeadHaveLeft(t *testing.T) {
	parent := t.TempDir()
	dead, living := newOwner(t, parent), newOwner(t, parent)
	path, remover := dead.folder()
	others, _ := living.folder()
	syscall.Kill(remover, syscall.SIGSTOP) // it is as if it were dead
	defer syscall.Kill(remover, syscall.SIGCONT)
	dead.kill()
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	precious := preciousIn(t, parent)
	f, err := scratch.New(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	want := append(precious, filepath.Base(others), filepath.Base(others)+".lock", filepath.Base(f.Path()),
		filepath.Base(f.Path())+".lock")
	slices.Sort(want)
	if left := entries(t, parent); !slices.Equal(left, want) {
		t.Errorf("left: %q, want %q", left, want)
	}
	if _, err := os.Stat(filepath.Join(parent, "kept", "file")); err != nil {
		t.Error(err)
	}
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
}

// preciousIn makes what looks like a folder of a dead owner, but is not one, and returns the names.
func preciousIn(t *testing.T, parent string) []string {
	t.Helper()
	in := func(name string) string { return filepath.Join(parent, name) }
	const marked = "zktorture scratch 1\nprocess 1\n"
	err := errors.Join(
		os.MkdirAll(in("kept"), 0o755), os.WriteFile(in("kept/file"), nil, 0o644),
		os.WriteFile(in("kept.mark"), []byte(marked), 0o644),
		os.Mkdir(in("zookeeper-unmarked"), 0o755),
		os.Mkdir(in("zookeeper-empty"), 0o755), os.WriteFile(in("zookeeper-empty.lock"), nil, 0o644),
		os.Mkdir(in("zookeeper-foreign"), 0o755),
		os.WriteFile(in("zookeeper-foreign.lock"), []byte("process 1\n"), 0o644),
		os.Mkdir(in("other-prefix"), 0o755), os.WriteFile(in("other-prefix.lock"), []byte(marked), 0o644),
		os.Mkdir(in("zookeeper-link"), 0o755), os.Symlink(in("kept.mark"), in("zookeeper-link.lock")),
		os.Mkdir(in("zookeeper-pipe"), 0o755), syscall.Mkfifo(in("zookeeper-pipe.lock"), 0o644),
	)
	// This one is a dead owner's, but its folder has been replaced by a link.
	err = errors.Join(err, os.WriteFile(in("zookeeper-dead.lock"), []byte(marked), 0o644),
		os.Symlink(in("kept"), in("zookeeper-dead")))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(entries(t, parent), func(name string) bool {
		return len(name) > len("zookeeper-")+20 || name == "zookeeper-dead" || name == "zookeeper-dead.lock"
	})
}

func TestWhatCannotBeMade(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := scratch.New(missing, prefix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := scratch.New(t.TempDir(), prefix); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without a shell: %v", err)
	}
}

// Folders can be made and removed at the same time in one place.
func TestMany(t *testing.T) {
	parent := t.TempDir()
	errs := make(chan error)
	const many = 20
	for range many {
		go func() {
			f, err := scratch.New(parent, prefix)
			if err == nil {
				err = errors.Join(os.WriteFile(filepath.Join(f.Path(), "file"), nil, 0o644), f.Remove())
			}
			errs <- err
		}()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if left := entries(t, parent); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
