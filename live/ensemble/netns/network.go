package netns

import (
	"errors"
	"net/netip"
	"os"
)

// hostsMax is how many hosts a network may have.
const hostsMax = 64

// Network is a number of hosts and the switch between them. All methods may be called at any time, by any goroutine.
type Network struct {
	hosts  []*os.File // namespaces
	fabric *fabric
}

// Address returns the address of a host in the network.
func (n *Network) Address(host int) netip.Addr { return addressOf(host) }

// Lose loses a share of the packets on the links, from 0 to 1, on top of what other calls lose, until heal is called.
// With 1 the links are cut.
func (n *Network) Lose(share float64, links ...Link) (heal func()) {
	return n.fabric.lose(share, links)
}

// Heal makes all links whole.
func (n *Network) Heal() { n.fabric.heal() }

// Close ends the network: nothing is forwarded any more. Its namespaces vanish with the last process in them.
func (n *Network) Close() error {
	n.fabric.close()
	var failures []error
	for _, host := range n.hosts {
		failures = append(failures, host.Close())
	}
	return errors.Join(failures...)
}
