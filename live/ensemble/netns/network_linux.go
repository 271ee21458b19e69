package netns

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// New makes a network of 1 to 64 hosts, with all links whole. If this process may not, the error says what to
// do.
func New(hosts int) (*Network, error) {
	if hosts < 1 || hosts > hostsMax {
		return nil, fmt.Errorf("netns: a network of %d hosts: it must be 1 to %d", hosts, hostsMax)
	}
	n := &Network{}
	var devices []io.ReadWriteCloser
	for i := range hosts {
		host, device, err := newHost(addressOf(i))
		if err != nil {
			n.fabric = newFabric(devices)
			n.Close()
			return nil, explain(err)
		}
		n.hosts, devices = append(n.hosts, host), append(devices, device)
	}
	n.fabric = newFabric(devices)
	return n, nil
}

// Do calls f on a thread in the namespace of a host: sockets that f opens and processes that it starts belong there.
// The thread ends with f, so f must not hand work to other goroutines.
func (n *Network) Do(host int, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.hosts[host].Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("netns: cannot enter the namespace of host %d: %w", host, err)
		}
		return f()
	})
}

// onThread calls f on a thread that is never used again, so that f may change what belongs to it. It is not the first
// thread of the process, which would stay, and from which others read the namespaces of the process.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			result <- onThread(f) // this goroutine holds the first thread meanwhile
			runtime.UnlockOSThread()
			return
		}
		result <- f()
	}()
	return <-result
}

// newHost makes a namespace with a TUN device in it.
func newHost(address netip.Addr) (namespace, device *os.File, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return &os.SyscallError{Syscall: "unshare(CLONE_NEWNET)", Err: err}
		}
		if device, err = newDevice(address); err != nil {
			return err
		}
		boundBackOff()
		if namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			device.Close()
		}
		return err
	})
	return namespace, device, err
}

// boundBackOff has TCP retransmit at least once a second, so that connections come back soon after a cut. The kernel
// knows the setting from 6.15 on; before, recovery may take as long again as the cut.
func boundBackOff() { os.WriteFile("/proc/sys/net/ipv4/tcp_rto_max_ms", []byte("1000\n"), 0) }

const deviceName = "tun0"

// newDevice makes a TUN device in the namespace of this thread (the kernel's Documentation/networking/tuntap.rst): a
// read returns a packet that was sent, a write delivers one. It lives as long as it is open.
func newDevice(address netip.Addr) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err}
	}
	if err := configure(fd, address); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), deviceName), nil
}

// configure makes fd the device, and sets it and the loopback interface up (netdevice(7)).
func configure(fd int, address netip.Addr) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return &os.SyscallError{Syscall: "socket", Err: err}
	}
	defer unix.Close(socket)
	const mtu, up = 65000, unix.IFF_UP | unix.IFF_RUNNING
	steps := []struct {
		what    string
		fd      int
		request uint
		name    string
		set     func(*unix.Ifreq) error
	}{
		{"TUNSETIFF", fd, unix.TUNSETIFF, deviceName, flags(unix.IFF_TUN | unix.IFF_NO_PI)},
		{"SIOCSIFADDR", socket, unix.SIOCSIFADDR, deviceName, inet(address)},
		{"SIOCSIFNETMASK", socket, unix.SIOCSIFNETMASK, deviceName, inet(netip.AddrFrom4([4]byte{255, 255, 255, 0}))},
		{"SIOCSIFMTU", socket, unix.SIOCSIFMTU, deviceName, number(mtu)},
		{"SIOCSIFFLAGS", socket, unix.SIOCSIFFLAGS, deviceName, flags(up)},
		{"SIOCSIFFLAGS", socket, unix.SIOCSIFFLAGS, "lo", flags(up)},
	}
	for _, step := range steps {
		request, err := unix.NewIfreq(step.name)
		if err == nil {
			err = errors.Join(step.set(request), unix.IoctlIfreq(step.fd, step.request, request))
		}
		if err != nil {
			return fmt.Errorf("%s of %s: %w", step.what, step.name, err)
		}
	}
	return nil
}

func flags(value uint16) func(*unix.Ifreq) error {
	return func(r *unix.Ifreq) error { r.SetUint16(value); return nil }
}

func number(value uint32) func(*unix.Ifreq) error {
	return func(r *unix.Ifreq) error { r.SetUint32(value); return nil }
}

func inet(value netip.Addr) func(*unix.Ifreq) error {
	return func(r *unix.Ifreq) error { return r.SetInet4Addr(value.AsSlice()) }
}
