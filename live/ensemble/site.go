package ensemble

import (
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/afterlife"
	"github.com/zktorture/zktorture/live/ensemble/netns"
)

// loopback is the only interface on which clients are served.
const loopback = "127.0.0.1"

// site is a member's network, and its place there. Its sockets are opened and its processes started in that network.
type site struct {
	host  string // the address that other members see
	ports ports
	do    func(func() error) error // calls a function on a thread in that network
}

// ports are those of a member. A single member does not use peer and election.
type ports struct{ client, peer, election int }

// usual are ZooKeeper's own, for members with a network to themselves.
var usual = ports{client: 2181, peer: 2888, election: 3888}

// onHost returns sites in the network of this machine, with ports that were claimed.
func onHost(claimed []claim) (sites []*site) {
	for c := range slices.Chunk(claimed, 3) {
		sites = append(sites, &site{loopback, ports{c[0].port, c[1].port, c[2].port}, afterlife.OnThread})
	}
	return sites
}

// inNetwork returns sites that are the hosts of a network.
func inNetwork(n *netns.Network, nodes int) []*site {
	sites := make([]*site, nodes)
	for i := range sites {
		do := func(f func() error) error { return n.Do(i, f) }
		sites[i] = &site{n.Address(i).String(), usual, do}
	}
	return sites
}

// dialMax bounds how long a server may take to accept a connection from its own site.
const dialMax = time.Second

// listen listens on a port of the site, on a free one if it is 0.
func (s *site) listen(port int) (listener net.Listener, err error) {
	err = s.do(func() error {
		listener, err = net.Listen("tcp4", s.address(port))
		return err
	})
	return listener, err
}

// dial connects to a port of the site from the site.
func (s *site) dial(port int) (conn net.Conn, err error) {
	err = s.do(func() error {
		conn, err = net.DialTimeout("tcp4", s.address(port), dialMax)
		return err
	})
	return conn, err
}

func (s *site) address(port int) string { return net.JoinHostPort(s.host, strconv.Itoa(port)) }

// portOf is the port of a TCP address.
func portOf(a net.Addr) int { return a.(*net.TCPAddr).Port }
