package ensemble

import (
	"net"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/ensemble/afterlife"
	"github.com/zktorture/zktorture/ensemble/netns"
)

// loopback is where everything listens that clients may reach, and nowhere else.
const loopback = "127.0.0.1"

// site is where a member lives: the network that it sees, and its place there. Sockets of a site are opened, and its
// processes are started, in that network.
type site struct {
	host  string // its address as the other members see it
	ports ports
	do    func(func() error) error // calls a function on a thread in that network
}

// ports are those of a member. Peer and election are not used when it is alone.
type ports struct{ client, peer, election int }

// usual are ZooKeeper's own, for members who have a network to themselves.
var usual = ports{client: 2181, peer: 2888, election: 3888}

// onHost returns sites in the network of this machine, with ports that were free a moment ago.
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

// listen listens on a port of the site, any that is free if it is 0.
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

// portOf is the port of an address of TCP.
func portOf(a net.Addr) int { return a.(*net.TCPAddr).Port }
