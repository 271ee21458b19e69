package ensemble

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

// loopback is the only interface on which servers listen.
const loopback = "127.0.0.1"

// ports are those of a member. A single member does not use peer and election.
type ports struct{ client, peer, election int }

// addressOf is the address of a port here.
func addressOf(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// Ports of servers are at least portsFrom, and below those that systems give to who connects or listens on any port:
// portsTo, unless the system says less. A member's peer port is open only while it leads: anybody's connection that got
// its number would keep it from leading later.
const (
	portsFrom = 10_000
	portsTo   = 32_768
	portsMin  = 1_000 // if there are fewer ports below those of the system, all are used
)

// localPortRange has the first and the last port that Linux gives (ip(7)).
const localPortRange = "/proc/sys/net/ipv4/ip_local_port_range"

// claim is a port that no other ensemble of this machine takes until it is closed, also while no server listens on it: it
// has the UDP port of the same number, which servers do not use.
type claim struct {
	port int
	net.PacketConn
}

// claimPort claims a port on which a server could listen now.
func claimPort(port int) (c claim, err error) {
	address := addressOf(port)
	if c.PacketConn, err = net.ListenPacket("udp4", address); err != nil {
		return c, err
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return c, errors.Join(err, c.Close())
	}
	c.port = port
	return c, listener.Close()
}

// freePorts claims n ports. Programs that are no ensembles may take one before a server does, so a start is retried.
func freePorts(n int) (claims []claim, err error) {
	said, _ := os.ReadFile(localPortRange) // elsewhere there is none
	count := portsBelow(string(said)) - portsFrom
	var last error
	for i, first := 0, rand.IntN(count); i < count && len(claims) < n; i++ {
		if c, err := claimPort(portsFrom + (first+i)%count); err != nil {
			last = err
		} else {
			claims = append(claims, c)
		}
	}
	if len(claims) < n {
		return claims, fmt.Errorf("ensemble: no free port on %s: %w", loopback, last)
	}
	return claims, nil
}

// portsBelow returns the end of the ports for servers, from what Linux says of the ports that it gives.
func portsBelow(said string) int {
	if words := strings.Fields(said); len(words) > 0 {
		if given, err := strconv.Atoi(words[0]); err == nil && given >= portsFrom+portsMin {
			return min(given, portsTo)
		}
	}
	return portsTo
}
