package ensemble

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
)

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

// freePorts returns n ports that are free now. Another process may take one before a server does, so a start is
// retried.
func freePorts(n int) ([]int, error) {
	said, _ := os.ReadFile(localPortRange) // elsewhere there is none
	count := portsBelow(string(said)) - portsFrom
	ports, first := make([]int, 0, n), rand.IntN(count)
	var last error
	for i := range count { // all are held until all are found, so that they differ
		port := portsFrom + (first+i)%count
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			last = err
			continue
		}
		defer listener.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("ensemble: no free port on %s: %w", loopback, last)
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
