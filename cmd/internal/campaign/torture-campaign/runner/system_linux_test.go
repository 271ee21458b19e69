package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// A unit that takes all memory is ended, long before the machine has no more.
func TestOutOfMemory(t *testing.T) {
	r := runnerOf(t, this(t), "ours", "eats")
	_, err := r.Unit(t.Context(), 1)
	wantError(t, err, OutOfMemory, "unit 1: out of memory: its process may have 400 MB", "it had ")
	wantNoChild(t, r)
	wantUnit(t, r, 0)
}

// A process that the kernel ends for its memory is out of memory, and not killed by somebody.
func TestOOMKiller(t *testing.T) {
	const root = "/sys/fs/cgroup/memory"
	group := filepath.Join(root, fmt.Sprintf("zktorture-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("no control group can be made: ", err)
	}
	t.Cleanup(func() { os.Remove(group) })
	if err := os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte("300M"), 0); err != nil {
		t.Skip("no limit can be set: ", err)
	}
	r := runnerOf(t, this(t), "ours", "eats")
	wantUnit(t, r, 0)
	pid := fmt.Sprint(r.pid(t))
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0); err != nil {
		t.Fatal(err)
	}
	_, err := r.Unit(t.Context(), 1)
	wantError(t, err, OutOfMemory, "OOM killer")
}

// A child has a bound for the collector, and is the first that the kernel ends; it leaves no core.
func TestExposed(t *testing.T) {
	r := runnerOf(t, this(t), "ours")
	wantUnit(t, r, 0)
	dir := fmt.Sprintf("/proc/%d/", r.pid(t))
	for file, want := range map[string]string{
		"oom_score_adj": "1000\n",
		"environ":       "GOMEMLIMIT=351562KiB\x00",
		"limits":        "Max core file size        0                    0 ",
	} {
		if got, err := os.ReadFile(dir + file); err != nil || !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: %v; it has not %q:\n%s", file, err, want, got)
		}
	}
}

// Memory that a child keeps is given back by its end.
func TestKeepsMemory(t *testing.T) {
	r := scripted(t, "ready\nanswers")
	wantUnit(t, r, 0)
	c := r.child(t)
	if c.spent() {
		t.Errorf("a child is spent with %d MB", c.process.resident())
	}
	c.memory = keptShare * (c.process.resident() - 1)
	if !c.spent() {
		t.Errorf("a child is not spent with %d MB of %d", c.process.resident(), c.memory)
	}
}

// Nothing of what a recipe has started is left when its child ends, by whomever.
func TestNothingIsLeft(t *testing.T) {
	for name, end := range map[string]func(r *Runner, child int){
		"closed": func(r *Runner, _ int) { r.Close() },
		"killed": func(_ *Runner, child int) { syscall.Kill(child, syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			file, variable := fifo(t)
			r := runnerOf(t, this(t, variable), "litters")
			unit := make(chan error, 1)
			go func() {
				_, err := r.Unit(t.Context(), 0)
				unit <- err
			}()
			litter := littered(t, file)
			end(r, litter[0])
			wantError(t, <-unit, Killed)
			for _, pid := range litter {
				if alive(pid) {
					t.Errorf("process %d is there still", pid)
				}
			}
		})
	}
}

// And when the worker is killed.
func TestNothingIsLeftOfAKilledWorker(t *testing.T) {
	file, variable := fifo(t)
	plan, _ := planOf(t, "litters")
	worker := exec.CommandContext(t.Context(), os.Args[0], "worker", plan)
	worker.Env = append(os.Environ(), variable)
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	litter := littered(t, file)
	worker.Process.Kill()
	worker.Wait()
	testkit.Until(t, "the processes have gone", func() bool { return !slices.ContainsFunc(litter, alive) })
}

// littered returns a child and what it has started, when all are there.
func littered(t *testing.T, file string) (pids []int) {
	t.Helper()
	for _, field := range strings.Fields(event(t, file)) {
		pid, err := strconv.Atoi(field)
		if err != nil || !alive(pid) {
			t.Fatalf("process %q is not there: %v", field, err)
		}
		pids = append(pids, pid)
	}
	if len(pids) != 4 {
		t.Fatalf("processes %v, want the child and three", pids)
	}
	return pids
}

// alive says whether a process is there and has not ended: one that has has no memory, and so no environment.
func alive(pid int) bool {
	environment, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return len(environment) > 0
}
