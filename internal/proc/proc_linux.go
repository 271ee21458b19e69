package proc

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func bound() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
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
