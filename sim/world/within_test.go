//go:build zktexact

package world

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"
)

// Each transcript shows what a loss does to connections between processes.
func TestExactNetworkTranscripts(t *testing.T) { transcripts(t, "testdata/network/*.txt") }

// ends are what a user has opened.
type ends struct {
	listener net.Listener
	conn     net.Conn
}

func init() {
	opened := map[*User]*ends{}
	add := func(name string, do func(e *ends, arg string) (string, error)) {
		scriptOps[name] = func(ctx context.Context, u *User, args []string) (string, error) {
			if opened[u] == nil {
				opened[u] = &ends{}
			}
			defer context.AfterFunc(ctx, func() { opened[u].listener.Close() })()
			return do(opened[u], append(args, "")[0])
		}
	}
	add("listen", func(e *ends, arg string) (text string, err error) {
		if e.listener, err = net.Listen("tcp", arg); err == nil {
			text = e.listener.Addr().String()
		}
		return text, err
	})
	add("accept", func(e *ends, _ string) (text string, err error) {
		if e.conn, err = e.listener.Accept(); err == nil {
			text = e.conn.RemoteAddr().String()
		}
		return text, err
	})
	add("deafen", func(e *ends, _ string) (string, error) { return "", e.listener.Close() })
	add("dial", func(e *ends, arg string) (text string, err error) {
		if e.conn, err = net.DialTimeout("tcp", arg, 3*time.Second); err == nil {
			text = e.conn.LocalAddr().String()
		}
		return text, err
	})
	add("write", func(e *ends, arg string) (string, error) {
		_, err := e.conn.Write([]byte(arg))
		return "", err
	})
	add("read", func(e *ends, arg string) (string, error) {
		e.conn.SetReadDeadline(time.Time{})
		if d, err := time.ParseDuration(arg); err == nil {
			e.conn.SetReadDeadline(time.Now().Add(d))
		}
		b := make([]byte, 100)
		n, err := e.conn.Read(b)
		return string(b[:n]), err
	})
	add("hangup", func(e *ends, _ string) (string, error) { return "", e.conn.Close() })
}

// Ports are given in turn, without those in use, and again when all have been.
func TestExactPorts(t *testing.T) {
	b := &between{port: lastPort - 1, listeners: []*listener{{at: &net.TCPAddr{Port: firstPort + 1}}}}
	b.links = []*link{{port: firstPort}}
	if got, want := []int{b.free(), b.free()}, []int{lastPort, firstPort + 2}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	b.links = nil
	for port := firstPort; port <= lastPort; port++ {
		b.links = append(b.links, &link{port: port})
	}
	if got := b.free(); got != 0 {
		t.Errorf("%d, and all are in use", got)
	}
}
