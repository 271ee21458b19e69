package worker_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/worker"
)

// litter starts a child in the worker's group, one in a group of its own, one whose parent has gone, and one that has
// nothing left of the worker, not even the environment. All write their numbers to a file. Then it does %s.
const litter = `export pids='%[1]s'; read first; sleep 1000 & echo $! >>"$pids"; ` +
	`setsid sh -c 'echo $$ >>"$pids"; exec sleep 1000' & ` +
	`sh -c '(setsid sh -c "echo \$\$ >>\"\$pids\"; exec sleep 1000" &)'; ` +
	`sh -c '(setsid env -i /bin/sh -c "echo \$\$ >>\"\$0\"; exec sleep 1000" "$pids" </dev/null >/dev/null 2>&1 &)'; ` +
	`echo '{"zktorture":1,"session":"0xa"}'; %[2]s`

// littered returns the children, when all are there.
func littered(t *testing.T, file string) (pids []int) {
	t.Helper()
	testkit.Until(t, "the children are there", func() bool {
		text, _ := os.ReadFile(file)
		return strings.Count(string(text), "\n") == 4
	})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(line)
		if err != nil || stateOf(t, pid) == "" {
			t.Fatalf("child %q, %v", line, err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// Nothing that workers have started outlives a runner that was killed, wherever it has gone.
func TestChildrenDieWithTheRunner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), role+"=runner "+fmt.Sprintf(litter, file, "cd / && sleep 1000; true"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	children := littered(t, file)
	cmd.Process.Kill()
	cmd.Wait()
	for _, pid := range children {
		testkit.Until(t, "the child is dead", func() bool { return stateOf(t, pid) == "" })
	}
}

// The guard waits for the end of this process, and not for its next garbage collection.
func TestGuardStays(t *testing.T) {
	c, _ := start(t, worker.Config{Command: isReady + answersAll})
	for range 3 {
		runtime.GC()
		if _, err := do(t.Context(), c, "release"); err != nil {
			t.Fatal(err)
		}
	}
	if pid, there := c.Pid(); !there || stateOf(t, pid) == "" {
		t.Error("the worker was killed")
	}
}

// What a worker has left in its group ends with it, whether it ends by itself or is killed.
func TestGroupDiesWithTheWorker(t *testing.T) {
	for name, end := range map[string]func(*worker.Client){
		"by itself": func(c *worker.Client) { do(t.Context(), c, "acquire") },
		"told to":   func(c *worker.Client) { c.Close() },
	} {
		file := filepath.Join(t.TempDir(), "pids")
		c, _ := start(t, worker.Config{Command: fmt.Sprintf(litter, file, "read op; exit 9")})
		child := littered(t, file)[0]
		end(c)
		testkit.Until(t, name+": the child is dead", func() bool { return stateOf(t, child) == "" })
	}
}

// A process that has to share a processor with others is held back, and one that waits for its input is not.
func TestHeldBack(t *testing.T) {
	if _, err := os.Stat("/proc/self/schedstat"); err != nil {
		t.Skip("this kernel does not count it")
	}
	const spins = `taskset -c 0 sh -c 'while :; do :; done' & taskset -c 0 sh -c 'while :; do :; done' & `
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip("there is no taskset")
	}
	busy, _ := start(t, worker.Config{Command: isReady + spins + answersAll})
	idle, _ := start(t, worker.Config{Command: isReady + answersAll})
	testkit.Until(t, "the busy one is held back, and the idle one is not", func() bool {
		return busy.HeldBack() > 200*time.Millisecond+2*idle.HeldBack()
	})
	busy.Close()
	if held := busy.HeldBack(); held != 0 {
		t.Errorf("one that is no more is held back for %v", held)
	}
}
