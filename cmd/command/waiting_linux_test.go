package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// hangs is how long a command may take to end after a signal before it is taken to hang. It takes two seconds at most
// on a machine at rest.
const hangs = time.Minute

// terminated sends SIGTERM to a command and returns its exit status.
func terminated(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	over := time.AfterFunc(hangs, func() { cmd.Process.Kill() })
	defer over.Stop()
	cmd.Wait()
	t.Logf("it ended after %v", time.Since(begin))
	return cmd.ProcessState.ExitCode()
}

// A command whose output nobody reads ends when it is told to.
func TestTerminatedWhilePrinting(t *testing.T) {
	dir := t.TempDir()
	run := exec.Command(os.Args[0], "run", "lock", "--recipe", "published/WriteLock", "--episodes", "20", "--seed", "1",
		"--shrink-time", "1ms", "--out", filepath.Join(dir, "found"))
	run.Env = append(os.Environ(), asMain+"=1")
	run.Run()
	files, _ := filepath.Glob(filepath.Join(dir, "found", "lock-*.json"))
	if len(files) == 0 {
		t.Fatal("nothing was found")
	}
	for name, args := range map[string][]string{
		"run": {"run", "lock", "--recipe", "published/WriteLock", "--episodes", "20", "--seed", "1", "--shrink-time", "1ms",
			"--out", filepath.Join(dir, "again")},
		"replay":  {"replay", files[0]},
		"explain": {"explain", files[0]},
	} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			fd := int(write.Fd())
			if err := syscall.SetNonblock(fd, true); err != nil {
				t.Fatal(err)
			}
			for err = error(nil); err == nil; { // it is full then
				_, err = syscall.Write(fd, make([]byte, 1<<10))
			}
			syscall.SetNonblock(fd, false)
			cmd := exec.Command(os.Args[0], args...)
			cmd.Env = append(os.Environ(), asMain+"=1")
			cmd.Stdout = write
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			write.Close()
			for !writes(cmd.Process.Pid) {
				time.Sleep(time.Millisecond)
			}
			if status := terminated(t, cmd); status != console.ExitViolation && status != console.ExitUnknown {
				t.Errorf("status %d", status)
			}
		})
	}
}

// writes reports whether a thread of a process waits until a pipe takes what it writes.
func writes(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", pid))
	return slices.ContainsFunc(tasks, func(name string) bool {
		where, _ := os.ReadFile(name)
		return strings.Contains(string(where), "pipe_write")
	})
}
