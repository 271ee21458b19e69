package ensemble

import (
	"net"
	"strconv"
	"testing"
)

func TestPortsBelow(t *testing.T) {
	for said, want := range map[string]int{
		"": portsTo, "32768\t60999\n": portsTo, "49152 65535": portsTo, "20000 60999": 20_000, "11000 60999": 11_000,
		"10999 60999": portsTo, "1024 65535": portsTo, "none": portsTo,
	} {
		if got := portsBelow(said); got != want {
			t.Errorf("%q: ports end at %d, want %d", said, got, want)
		}
	}
}

// The ports differ, are free, and none is of those that connections get.
func TestFreePorts(t *testing.T) {
	ports, err := freePorts(100)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < portsFrom || port >= portsTo {
			t.Errorf("port %d, of %v", port, ports)
		}
		seen[port] = true
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			t.Errorf("it is not free: %v", err)
			continue
		}
		defer listener.Close()
	}
}
