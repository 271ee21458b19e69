package server_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// go-zookeeper's parser of srvr reads the answer.
func TestWordsAreParsed(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	c.send(&wire.RequestHeader{Xid: 7, Op: wire.OpExists}, &wire.WatchRequest{Path: "/"})
	c.wantHeader(7, 0)
	if stats, ok := zk.FLWSrvr([]string{s.Addr(0)}, testkit.Hang); !ok || stats[0].Connections != 2 {
		t.Errorf("srvr: %+v", stats[0])
	}
}

// conf has the port, whatever the form of the address.
func TestConfOfAnyAddress(t *testing.T) {
	s, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Listen(0, "[::1]:0"); err != nil {
		t.Skip(err)
	}
	_, port, _ := net.SplitHostPort(s.Addr(0))
	if got := ask(t, s.Addr(0), "conf"); !strings.HasPrefix(got, "clientPort="+port+"\n") {
		t.Errorf("%q, want port %s", got, port)
	}
}

// A member that hangs answers no four-letter word until it goes on.
func TestWordToHangingMember(t *testing.T) {
	s := fakezktest.Start(t, server.Config{})
	s.Stop(0)
	c, err := net.Dial("tcp", s.Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "ruok")
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	answer := make([]byte, 4)
	if _, err := c.Read(answer); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%q, %v while it hangs", answer, err)
	}
	s.Resume(0)
	c.SetReadDeadline(testkit.Deadline())
	if _, err := c.Read(answer); err != nil || string(answer) != "imok" {
		t.Errorf("%q, %v", answer, err)
	}
}
