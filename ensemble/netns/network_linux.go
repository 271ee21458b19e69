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

// HostsMax is how many hosts a network may have.
const HostsMax = 64

// Network is a number of hosts and the switch between them. All methods may be called at any time, by any
// goroutine.
type Network struct {
	hosts  []*os.File // namespaces
	fabric *fabric
}

// New makes a network of so many hosts, from 1 to [HostsMax], with all links whole. It is an error if this process may
// not; the error then says what to do. Close it.
func New(hosts int) (*Network, error) {
	if hosts < 1 || hosts > HostsMax {
		return nil, fmt.Errorf("netns: a network of %d hosts: it must be 1 to %d", hosts, HostsMax)
	}
	n := &Network{}
	var devices []io.ReadWriteCloser
	for i := range hosts {
		host, device, err := newHost(addressOf(i))
		if err != nil {
			newFabric(devices).close()
			n.closeHosts()
			return nil, explain(err)
		}
		n.hosts, devices = append(n.hosts, host), append(devices, device)
	}
	n.fabric = newFabric(devices)
	return n, nil
}

// Address returns the address of a host in the network.
func (n *Network) Address(host int) netip.Addr { return addressOf(host) }

// Lose loses this share of the packets on the links, from 0 to 1, on top of what other calls lose, until heal is
// called. With 1 the links are cut.
func (n *Network) Lose(share float64, links ...Link) (heal func()) {
	return n.fabric.lose(share, links)
}

// Heal makes all links whole.
func (n *Network) Heal() { n.fabric.heal() }

// Close ends the network: nothing is forwarded any more. Its namespaces vanish with the last process in them.
func (n *Network) Close() error {
	n.fabric.close()
	return n.closeHosts()
}

func (n *Network) closeHosts() error {
	var failures []error
	for _, host := range n.hosts {
		failures = append(failures, host.Close())
	}
	return errors.Join(failures...)
}

// Do calls f on a thread that is in the namespace of a host, as its only goroutine: sockets that f opens and processes that it
// starts belong there. The thread ends with f, so f must not give work to other goroutines.
func (n *Network) Do(host int, f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.hosts[host].Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("netns: cannot enter the namespace of host %d: %w", host, err)
		}
		return f()
	})
}

// onThread calls f on a thread of its own that is never used again, so f may change what belongs to a thread. It is
// not the first thread of the process, which would stay, and by which others tell the namespaces of the process.
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

// boundBackOff has TCP try again once a second at least, where the kernel can be told so (from 6.15 on), so that
// connections come back soon after a cut. Else it may take as long again as the cut, which is no error.
func boundBackOff() { os.WriteFile("/proc/sys/net/ipv4/tcp_rto_max_ms", []byte("1000\n"), 0) }

const deviceName = "tun0"

// newDevice makes a TUN device in the namespace of this thread (Documentation/networking/tuntap.rst of the kernel): each read of
// it is a packet that was sent, each write one that is received. It lives as long as it is open.
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

// configure makes fd the device, and gives it and the loopback interface what they need (netdevice(7)).
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
