package afterlife

import "golang.org/x/sys/unix"

// killing kills all processes with a variable in their environment. It looks again for those that were just starting.
const killing = `for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	found=$(grep -lsF "$1" /proc/[0-9]*/environ)
	[ -n "$found" ] || exit 0
	for file in $found; do
		pid=${file#/proc/}
		kill -KILL "${pid%/environ}" 2>/dev/null
	done
	sleep 0.1
done`

// KillKin starts a shell that kills all processes with a variable, as "NAME=value", in their environment when this process
// has ended, or releases it: also those in other process groups, and those whose parents have ended.
func KillKin(variable string) (*Executor, error) { return Start(killing, "zktorture-guard", variable) }

// EndGroup waits for the end of a process that leads a group, without reaping it, so that the group keeps its number,
// and kills what is left of the group.
func EndGroup(pid int) {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	if err == 0 {
		unix.Kill(-pid, unix.SIGKILL)
	}
}
