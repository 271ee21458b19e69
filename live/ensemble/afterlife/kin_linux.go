package afterlife

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// Kin is a shell that kills marked commands, and whatever they have started, when this process has ended, or releases
// it: also what is in other process groups, or has lost its parent.
//
// The mark is a number of its own, twice: in the environment, which a program can drop, as env -i and sudo do, and as
// the limit of the resident set, which the kernel hands down to whatever a process starts, and which has had no effect
// since Linux 2.4.30 (setrlimit(2)).
type Kin struct {
	*Executor
	mark int64 // in bytes
}

// killing kills all processes with a mark. It looks again for those that were just starting.
const killing = `for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	found=$(grep -lsaE "^Max resident set +$1 |` + kin + `=[0-9,]*,$1" /proc/[0-9]*/limits /proc/[0-9]*/environ)
	[ -n "$found" ] || exit 0
	for file in $found; do
		pid=${file#/proc/}
		kill -KILL "${pid%/*}" 2>/dev/null
	done
	sleep 0.1
done`

// kin is the environment variable: it has the marks of all whose kin a process is, each after a comma.
const kin = "ZKTORTURE_KIN"

// marking marks the shell, which becomes a command. The limit is in KB, and cannot be set if there is a lower one.
const marking = `ulimit -m $(($1 / 1024)) 2>/dev/null; shift; exec "$@"`

// KillKin starts the shell.
func KillKin() (*Kin, error) {
	k := &Kin{mark: (1<<50 + rand.Int64N(1<<50)) << 10}
	var err error
	k.Executor, err = Start(killing, "zktorture-guard", fmt.Sprint(k.mark))
	return k, err
}

// Mark marks a command that is to be started.
func (k *Kin) Mark(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), fmt.Sprintf("%s=%s,%d", kin, os.Getenv(kin), k.mark))
	if _, err := exec.LookPath(cmd.Path); err != nil {
		return // it cannot be started, and says so
	}
	if sh, err := exec.LookPath("sh"); err == nil { // the guard is one
		cmd.Args = append([]string{"sh", "-c", marking, "sh", fmt.Sprint(k.mark), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = sh
	}
}

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
