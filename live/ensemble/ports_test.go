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

// The ports are free, none is of those that connections get, and nobody else gets them until they are given back.
func TestFreePorts(t *testing.T) {
	claims, err := freePorts(100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.port < portsFrom || c.port >= portsTo {
			t.Errorf("port %d", c.port)
		}
		listener, err := net.Listen("tcp4", net.JoinHostPort(loopback, strconv.Itoa(c.port)))
		if err != nil {
			t.Errorf("it is not free: %v", err)
			continue
		}
		listener.Close()
		if again, err := claimPort(c.port); err == nil {
			t.Errorf("port %d was given to somebody else, too", c.port)
			again.Close()
		}
	}
	for _, c := range claims {
		c.Close()
	}
	again, err := claimPort(claims[0].port)
	if err != nil {
		t.Fatalf("it was not given back: %v", err)
	}
	again.Close()
}
