package ensemble

import (
	"net"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/ensemble/afterlife"
	"github.com/zktorture/zktorture/ensemble/netns"
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

// onHost returns sites in the network of this machine, with free ports.
func (o Options) onHost() ([]*site, error) {
	free, err := o.freePorts(3 * o.Nodes)
	if err != nil {
		return nil, err
	}
	sites := make([]*site, o.Nodes)
	for i := range sites {
		sites[i] = &site{loopback, ports{free[3*i], free[3*i+1], free[3*i+2]}, afterlife.OnThread}
	}
	return sites, nil
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
