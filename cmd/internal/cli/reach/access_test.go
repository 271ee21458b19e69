package reach

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// Who waits for servers is told for which, for how long, and why.
func TestWaitsAreTold(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	way, err := new(AccessFlags).Read()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := ""
	way.Tell = func(text string) {
		told = text
		cancel()
	}
	if _, err := way.Open(ctx, address, time.Second, nil); err == nil {
		t.Error("there is a session")
	}
	if want := "waiting for " + address + ", 28s at most: nothing listens at "; !strings.HasPrefix(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
