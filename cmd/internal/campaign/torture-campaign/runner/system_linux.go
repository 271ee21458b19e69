package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/zktorture/zktorture/live/ensemble/afterlife"
)

// guard ends what a child has started, and has not ended with its process group, when the child or this process has
// ended.
type guard struct{ *afterlife.Kin }

// newGuard starts a guard for a command that is to be started. Without a shell there is none.
func newGuard(cmd *exec.Cmd) guard {
	kin, err := afterlife.KillKin()
	if err != nil {
		return guard{}
	}
	kin.Mark(cmd)
	return guard{kin}
}

// release has the guard do its work, and waits for that.
func (g guard) release() {
	if g.Kin != nil {
		g.Release()
		g.Wait()
	}
}

// endGroup waits for the end of a process, and ends its group.
func endGroup(pid int) { afterlife.EndGroup(pid) }

// expose makes the process the first that the kernel ends if it has no more memory (proc_pid_oom_score_adj(5)), and
// has it leave no core when it says what it was doing: GOTRACEBACK=crash would. Neither can fail for a child of ours;
// if it has ended, it does not matter.
func expose(pid int) {
	os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
	unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}

// resident is how many MB of memory a process has: the second field of its statm, in pages (proc_pid_statm(5)).
func resident(pid int) int {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	fields := bytes.Fields(statm)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(string(fields[1]))
	return pages * os.Getpagesize() / 1_000_000
}

// oomKills is how many processes of this machine the kernel has ended for their memory since it started, as far as it
// is known: the kernel's counter (proc_vmstat(5)).
func oomKills() (n int64) {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("\noom_kill "))
	value, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ = strconv.ParseInt(string(value), 10, 64)
	return n
}
