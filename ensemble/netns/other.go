//go:build !linux

package netns

import (
	"errors"
	"net/netip"
)

var errNotLinux = errors.New("netns: a network for the servers needs Linux, whose network namespaces it is made of: " +
	"run this on Linux, or leave out what needs it (partitions between servers)")

// HostsMax is how many hosts a network may have.
const HostsMax = 64

// Network is a number of hosts and the switch between them. This system has none.
type Network struct{ fabric *fabric }

// New returns an error: this needs Linux.
func New(hosts int) (*Network, error) { return nil, errNotLinux }

// Allowed returns an error: this needs Linux.
func Allowed() error { return errNotLinux }

// Gain returns an error: this needs Linux.
func Gain() error { return errNotLinux }

// Address returns the address of a host in the network.
func (n *Network) Address(host int) netip.Addr { return addressOf(host) }

// Lose loses a share of the packets on the links until heal is called.
func (n *Network) Lose(share float64, links ...Link) (heal func()) {
	return n.fabric.lose(share, links)
}

// Heal makes all links whole.
func (n *Network) Heal() { n.fabric.heal() }

// Close ends the network.
func (n *Network) Close() error { n.fabric.close(); return nil }

// Do calls f in the namespace of a host.
func (n *Network) Do(host int, f func() error) error { return errNotLinux }
