package line

import (
	"net"
	"os"
	"syscall"
)

// Addresses are the servers' for who dials. Which server answers is the world's choice, whatever the address: the code
// shuffles them anyway. A label of more than 63 bytes fits into no query, so whoever looks a name up by himself is
// refused by his own resolver, at once.
var Addresses = []string{"zk1" + beyond, "zk2" + beyond, "zk3" + beyond}

const beyond = ".only-the-option-or-the-dialer-of-the-simulated-world-leads-to-this-server.invalid:2181"

// Literals are addresses for code that takes a dialer only, and looks names up before. No system makes a connection to
// everybody.
var Literals = []string{"255.255.255.255:2181", "255.255.255.255:2182", "255.255.255.255:2183"}

// IP is what a name of the i-th server is looked up as.
func IP(i int) net.IP { return net.IPv4(10, 0, 2, byte(1+i)) }

// Hosts is a [zk.HostProvider] as go-zookeeper's own, but for looking names up.
type Hosts struct {
	all      []string
	at, last int
}

// Init implements [zk.HostProvider].
func (h *Hosts) Init(servers []string) error {
	h.all, h.at, h.last = servers, -1, -1
	return nil
}

// Len implements [zk.HostProvider].
func (h *Hosts) Len() int { return len(h.all) }

// Next implements [zk.HostProvider].
func (h *Hosts) Next() (server string, retryStart bool) {
	h.at = (h.at + 1) % len(h.all)
	retryStart = h.at == h.last
	h.last = max(h.last, 0)
	return h.all[h.at], retryStart
}

// Connected implements [zk.HostProvider].
func (h *Hosts) Connected() { h.last = h.at }

type Silence struct{}

func (Silence) Printf(string, ...any) {}

// ErrRefused is what a dial fails with where nothing listens.
var ErrRefused error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
