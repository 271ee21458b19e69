package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// marker is in the environment of a program that Gain has run again.
const marker = "ZKTORTURE_IN_USER_NAMESPACE"

// Allowed returns nil if this process may make networks, else an error that says what to do.
func Allowed() error {
	n, err := New(1)
	if err != nil {
		return err
	}
	return n.Close()
}

// Gain returns nil if this process may make networks. If it may not, but may have a user namespace
// (user_namespaces(7)), Gain runs the program again in one, with the same arguments, environment and standard files,
// passes signals on to it, and exits with its exit status without returning. Else the error says what to do.
//
// So call it first thing in main. The program in the user namespace has the same user, network and files, may make
// network namespaces, and dies with this process.
func Gain() error {
	err := Allowed()
	if err == nil || !errors.Is(err, fs.ErrPermission) || os.Getenv(marker) != "" {
		return err
	}
	runtime.LockOSThread() // the kernel kills the program when the thread that has started it ends
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, passedOn...)
	cmd := again()
	if cannot := cmd.Start(); cannot != nil {
		signal.Stop(signals)
		runtime.UnlockOSThread()
		return fmt.Errorf("%w (user namespace: %w)", err, cannot)
	}
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	cmd.Wait() // how it ended is in its state
	os.Exit(exitStatus(cmd.ProcessState))
	return nil
}

// Possible returns nil if [Gain] would, or would run the program again; else the error says what to do. It runs
// unshare(1).
func Possible() error {
	err := Allowed()
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	path, missing := exec.LookPath("unshare")
	if missing != nil {
		return err
	}
	cmd := again()
	cmd.Path, cmd.Args = path, []string{"unshare", "--net", "true"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	if cannot := cmd.Run(); cannot != nil {
		return fmt.Errorf("%w (user namespace: %w)", err, cannot)
	}
	return nil
}

// passedOn are the signals by which a program is asked to end or to report.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
}

// again is this program in a user namespace, with its user and group and two capabilities. It is in a process group
// of its own, so that Ctrl-C in a terminal reaches it once, from here.
func again() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), marker+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	user, group := os.Getuid(), os.Getgid()
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: group, HostID: group, Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN},
		Setpgid:     true,
		Pdeathsig:   syscall.SIGKILL,
	}
	return cmd
}

// exitStatus is the program's, or what a shell makes of the signal that ended it.
func exitStatus(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// explain adds to an error what can be done about it.
func explain(err error) error {
	var path *os.PathError
	advice := "this needs network namespaces and TUN devices; does the kernel have them?"
	switch {
	case errors.As(err, &path) && path.Path == "/dev/net/tun":
		advice = "TUN devices are missing: load the kernel's module (modprobe tun), or give the container the device " +
			"(docker run --device /dev/net/tun)"
	case errors.Is(err, fs.ErrPermission):
		advice = "this process may make no network namespaces: run it as root, in a container with " +
			"--cap-add SYS_ADMIN --cap-add NET_ADMIN --device /dev/net/tun, or as a user who may have user " +
			"namespaces (sysctl user.max_user_namespaces above 0; on Debian kernel.unprivileged_userns_clone=1; " +
			"on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0)"
	}
	return fmt.Errorf("netns: no network for the servers: %w: %s", err, advice)
}
