package worker

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zktorture/zktorture/ensemble/afterlife"
)

// kin is the environment variable by which this run's worker processes are known, and what they have started, even in
// another process group and after the death of its parent.
const kin = "ZKTORTURE_WORKERS_OF"

// killing is the guard's script: it kills all processes with the variable. It looks again for those that were just
// starting.
const killing = `for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	found=$(grep -lsF "$1" /proc/[0-9]*/environ)
	[ -n "$found" ] || exit 0
	for file in $found; do
		pid=${file#/proc/}
		kill -KILL "${pid%/environ}" 2>/dev/null
	done
	sleep 0.1
done`

// guard kills what workers leave behind when this process has ended.
type guard struct {
	*afterlife.Executor
	variable string // in the environment of workers
}

// guarded starts the guard once, and keeps it from garbage collection.
var guarded = sync.OnceValues(func() (g guard, err error) {
	g.variable = kin + "=" + rand.Text()
	if g.Executor, err = afterlife.Start(killing, "zktorture-guard", g.variable); err != nil {
		err = fmt.Errorf("worker: nothing would end what workers leave behind: %w", err)
	}
	return g, err
})

// kinship is the environment of a worker. It starts the guard before the first worker.
func kinship() ([]string, error) {
	g, err := guarded()
	return append(os.Environ(), g.variable), err
}

// endGroup waits for the end of a process that leads a group, without reaping it, so that the group keeps its number,
// and kills what is left of the group.
func endGroup(pid int) {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	if err == 0 {
		unix.Kill(-pid, unix.SIGKILL)
	}
}

// heldBack returns how long the processes of a group have waited for a processor, altogether, as the kernel counts it
// (schedstat, in its Documentation/scheduler/sched-stats.rst).
func heldBack(group int) (sum time.Duration) {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range all {
		if stat, err := os.ReadFile(name); err != nil || groupOf(stat) != group {
			continue
		}
		threads, _ := filepath.Glob(filepath.Join(filepath.Dir(name), "task", "[0-9]*", "schedstat"))
		for _, thread := range threads {
			if text, err := os.ReadFile(thread); err == nil {
				sum += waitOf(string(text))
			}
		}
	}
	return sum
}

// groupOf reads the group in a process's stat, 0 if there is none: the third field after the name in brackets, which
// may have any character (proc_pid_stat(5)).
func groupOf(stat []byte) (group int) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) > 2 {
		group, _ = strconv.Atoi(string(fields[2]))
	}
	return group
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
