package worker

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/afterlife"
)

// guarded starts, once, what kills whatever workers leave behind when this process has ended, and keeps it from garbage
// collection.
var guarded = sync.OnceValues(afterlife.KillKin)

// guard has a worker that is to be started, and what it starts, killed when this process has ended.
func guard(cmd *exec.Cmd) error {
	kin, err := guarded()
	if err != nil {
		return fmt.Errorf("worker: nothing would end what workers leave behind: %w", err)
	}
	kin.Mark(cmd)
	return nil
}

// endGroup waits for the end of a process that leads a group, and kills what is left of the group.
func endGroup(pid int) { afterlife.EndGroup(pid) }

// heldBack returns how long the processes of a group have waited for a processor, altogether, as the kernel counts it
// (schedstat, in its Documentation/scheduler/sched-stats.rst), and whether the one that leads it is stopped.
func heldBack(group int) (sum time.Duration, stopped bool) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		stat, err := os.ReadFile(name)
		state, of := stateOf(stat)
		if err != nil || of != group {
			continue
		}
		stopped = stopped || state == "T" && name == fmt.Sprintf("/proc/%d/stat", group)
		threads, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "task", "[0-9]*", "schedstat"))
		for _, thread := range threads {
			if text, err := os.ReadFile(thread); err == nil {
				sum += waitOf(string(text))
			}
		}
	}
	return sum, stopped
}

// stateOf reads the state and the group in a process's stat, 0 if there is none: the first and the third field after
// the name in brackets, which may have any character (proc_pid_stat(5)).
func stateOf(stat []byte) (state string, group int) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) > 2 {
		group, _ = strconv.Atoi(string(fields[2]))
		state = string(fields[0])
	}
	return state, group
}

// waitOf reads the nanoseconds for which a thread was ready and did not run: the second field of its schedstat.
func waitOf(schedstat string) time.Duration {
	fields := strings.Fields(schedstat)
	if len(fields) < 2 {
		return 0
	}
	ns, _ := strconv.ParseInt(fields[1], 10, 64)
	return time.Duration(ns)
}
