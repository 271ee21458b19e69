package ensemble_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
)

// No server outlives its parent, even if that has no time to clean up, and its files go with the next start.
func TestKilledParentLeavesNothing(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	parent := inRole("start")
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer parent.Process.Kill()
	var servers [3]int
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent started no servers: %v", err)
	}
	if _, err := fmt.Sscanf(line, "[%d %d %d]", &servers[0], &servers[1], &servers[2]); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	for _, pid := range servers {
		if gone(pid) {
			t.Fatalf("pid %d did not run to begin with", pid)
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range servers {
		testkit.Until(t, fmt.Sprintf("pid %d is gone", pid), func() bool { return gone(pid) })
	}
	parent.Wait()
	e, err := ensemble.Start(t.Context(), ensemble.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantEntries(t, dir, filepath.Base(e.Dir()))
	if err := e.Stop(); err != nil {
		t.Error(err)
	}
	wantEntries(t, dir)
}

// The kernel kills children with the thread that started them, so that must not be a thread of
// the caller's, which may end at any time.
func TestServersOutliveTheThreadOfTheirCaller(t *testing.T) {
	needsServers(t)
	var e *ensemble.Ensemble
	var err error
	onThreadThatEnds(func() { e, err = ensemble.Start(t.Context(), ensemble.Options{}) })
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	serves(t, e)
}

// onThreadThatEnds runs f and returns when the thread that it ran on is gone. The first thread of
// a process will not do: it stays until the process ends.
func onThreadThatEnds(f func()) {
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == syscall.Getpid() {
			onThreadThatEnds(f) // this goroutine holds the first thread meanwhile
			thread <- 0
			return
		}
		f()
		thread <- syscall.Gettid()
	}()
	for tid := <-thread; tid != 0 && exists(tid); {
		runtime.Gosched()
	}
}

func exists(tid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", tid))
	return err == nil
}
