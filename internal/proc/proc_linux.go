package proc

import (
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

var starting sync.Mutex

// start starts a command that SIGHUP ends, also where this process ignores it (nohup(1)), and so would all that it
// starts. By SIGHUP the kernel ends what is paused in a group whose leader dies with this process (setpgid(2), orphaned
// process groups).
func start(cmd *exec.Cmd) error {
	starting.Lock()
	defer starting.Unlock()
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // what is caught is not inherited
		defer signal.Ignore(syscall.SIGHUP)
	}
	return cmd.Start()
}

// EndGroup waits for the end of a process that leads a group, without reaping it, so that the group keeps its number,
// and kills what is left of the group. Elsewhere than on Linux it does nothing.
func EndGroup(leader int) {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil).(unix.Errno)
	}
	if err == 0 {
		unix.Kill(-leader, unix.SIGKILL)
	}
}
