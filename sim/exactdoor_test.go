//go:build zktexact

package sim_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

func newPlainLock(servers ...string) func(s workload.Servers, path string) workload.Locker {
	return func(s workload.Servers, path string) workload.Locker {
		if servers == nil {
			servers = s.Addresses
		}
		conn, _, err := zk.Connect(servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return newZKLock(conn, path)
	}
}

// plainLock connects as production code does, to addresses of its own.
func plainLock() sim.Workload {
	return workload.Of(workload.Lock, newPlainLock("zk1:2181", "zk2:2181"), workload.At("zk1:2181", "zk2:2181"))
}

// Code that connects by itself, without an option or a dialer, is tortured as it is: go-zookeeper's lock has the defects
// that it has by other doors, and its connections leave nothing behind.
func TestExactPlainConnect(t *testing.T) {
	for name, w := range map[string]sim.Workload{
		"declared": plainLock(), "given": workload.Of(workload.Lock, newPlainLock()),
	} {
		r := run(t, w, sim.Config{Episodes: 200, Seed: 1, NoShrink: true, Faults: world.AllFaults})
		for _, property := range []string{"exclusion", "unexpected-error", "orphan", "order"} {
			if !slices.ContainsFunc(r.Violations, func(f sim.Found) bool { return f.Property == property }) {
				t.Errorf("%s: no %s in %d episodes: %s %s", name, property, r.Episodes, r.Verdict, r.Reason)
			}
		}
		if r.Episodes != 200 || r.Left > 0 || r.Barred != nil || r.Rerun.Differed > 0 {
			t.Errorf("%s: %s %s, %d episodes, %d left goroutines behind at %s, barred %q, rerun %+v", name, r.Verdict, r.Reason,
				r.Episodes, r.Left, r.LeftAt, r.Barred, r.Rerun)
		}
	}
}

// asking calls what a test gives before it locks.
type asking struct {
	workload.Locker
	ask func() error
}

func (a asking) Lock(ctx context.Context) error {
	if err := a.ask(); err != nil {
		return err
	}
	return a.Locker.Lock(ctx)
}

// askingLock connects as it should, and each user asks for something else before.
func askingLock(ask func() error) sim.Workload {
	new := newPlainLock()
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker { return asking{new(s, path), ask} })
}

const noOther = "zktorture: the simulated world has its ZooKeeper servers and no other network"

// All that package net offers and that would leave the world fails, with an error that names the call.
func TestExactNothingLeavesTheWorld(t *testing.T) {
	const instead = noOther + ": connect to the Addresses of workload.Servers, or declare others by workload.At"
	ip := net.IPv4(10, 0, 0, 1)
	outside := []struct {
		want string
		call func() (any, error)
	}{
		{"dial tcp example.com:80: " + instead, func() (any, error) { return net.Dial("tcp", "example.com:80") }},
		{"dial tcp zk1:2181: " + instead, func() (any, error) { return net.DialTimeout("tcp", "zk1:2181", time.Second) }},
		{"dial udp example.com:53: " + instead, func() (any, error) { return net.Dial("udp", "example.com:53") }},
		{"dial unix x.sock: " + instead, func() (any, error) { return net.Dial("unix", "x.sock") }},
		{"dial tcp 10.0.0.1:2181: " + noOther, func() (any, error) { return net.DialTCP("tcp", nil, &net.TCPAddr{IP: ip, Port: 2181}) }},
		{"dial udp 10.0.0.1:53: " + noOther, func() (any, error) { return net.DialUDP("udp", nil, &net.UDPAddr{IP: ip, Port: 53}) }},
		{"dial unix x.sock: " + noOther, func() (any, error) { return net.DialUnix("unix", nil, &net.UnixAddr{Name: "x.sock", Net: "unix"}) }},
		{"listen tcp 10.0.0.1:80: " + noOther, func() (any, error) { return net.Listen("tcp", "10.0.0.1:80") }},
		{"listen udp 127.0.0.1:0: " + noOther, func() (any, error) { return net.ListenPacket("udp", "127.0.0.1:0") }},
		{"listen unix x.sock: " + noOther, func() (any, error) { return net.Listen("unix", "x.sock") }},
		{"lookup example.com: LookupHost: " + instead, func() (any, error) { return net.LookupHost("example.com") }},
		{"lookup example.com: LookupHost: " + instead, func() (any, error) { return net.ResolveTCPAddr("tcp", "example.com:80") }},
		{"lookup example.com: LookupCNAME: " + noOther, func() (any, error) { return net.LookupCNAME("example.com") }},
		{"lookup example.com: LookupMX: " + noOther, func() (any, error) { return net.LookupMX("example.com") }},
		{"lookup example.com: LookupNS: " + noOther, func() (any, error) { return net.LookupNS("example.com") }},
		{"lookup example.com: LookupTXT: " + noOther, func() (any, error) { return net.LookupTXT("example.com") }},
		{"lookup 10.0.0.1: LookupAddr: " + noOther, func() (any, error) { return net.LookupAddr("10.0.0.1") }},
		{"lookup example.com: LookupSRV: " + noOther, func() (any, error) {
			_, all, err := net.LookupSRV("zk", "tcp", "example.com")
			return all, err
		}},
		{"dial tcp example.com:443: " + instead, func() (any, error) { return tls.Dial("tcp", "example.com:443", nil) }},
		{`Get "http://example.com/": dial tcp example.com:80: ` + instead, func() (any, error) { // on a goroutine of its own
			return (&http.Client{Transport: &http.Transport{}}).Get("http://example.com/")
		}},
	}
	for _, test := range outside {
		var got error
		w := askingLock(func() error { _, got = test.call(); return nil })
		r := run(t, w, sim.Config{Episodes: 1, Seed: 1, Clients: 1, NoFaultsAtAll: true})
		if got == nil || got.Error() != test.want {
			t.Errorf("got  %v\nwant %s", got, test.want)
		}
		if r.Verdict != sim.VerdictOK || len(r.Barred) != 1 || !strings.Contains(r.Barred[0], "exactdoor_test.go:") {
			t.Errorf("%s: %s %s, barred %q", test.want, r.Verdict, r.Reason, r.Barred)
		}
	}
}

// What fails because of that is no violation: the run ends, and says where the code asks for what.
func TestExactBarredIsNoViolation(t *testing.T) {
	listen := func() error {
		_, err := net.Listen("tcp", "10.0.0.1:8080")
		return err
	}
	for name, w := range map[string]sim.Workload{
		"an operation": askingLock(listen),
		"panic":        askingLock(func() error { panic(listen()) }),
		"a recipe in process": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return asking{recipes.NewLock(c, path), listen}
		}),
	} {
		r := run(t, w, sim.Config{Episodes: 100, Seed: 1, NoFaultsAtAll: true})
		if r.Verdict != sim.VerdictUnknown || r.Episodes > 50 || !strings.Contains(r.Reason, "listen tcp 10.0.0.1:8080 is barred, at ") ||
			!strings.Contains(r.Reason, "exactdoor_test.go:") {
			t.Errorf("%s: %s after %d episodes: %s", name, r.Verdict, r.Episodes, r.Reason)
		}
	}
	for name, w := range map[string]sim.Workload{
		"is given its connection": workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
			return newPlainLock("zk1:2181")(workload.Servers{}, path)
		}),
		"declare others by workload.At":                 workload.Of(workload.Lock, newPlainLock("zk1:2181")),
		"for code that connects by itself: let it take": workload.Of(workload.Lock, newZKLock, workload.At("zk1:2181")),
	} {
		r := run(t, w, sim.Config{Episodes: 100, Seed: 1, NoFaultsAtAll: true})
		if r.Verdict != sim.VerdictUnknown || r.Episodes > 50 || !strings.Contains(r.Reason, name) {
			t.Errorf("%s: %s after %d episodes: %s", name, r.Verdict, r.Episodes, r.Reason)
		}
	}
}

// Code of a timer is that of who has set it: it dials, too.
func TestExactDialsByTimers(t *testing.T) {
	w := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		made := make(chan workload.Locker)
		time.AfterFunc(time.Second, func() { made <- newPlainLock()(s, path) })
		return <-made
	})
	r := run(t, w, sim.Config{Episodes: 20, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK || r.Operations == 0 {
		t.Errorf("%s %s %+v", r.Verdict, r.Reason, r.Violations)
	}
}

// A connection of the world's is as plain code expects one to be.
func TestExactConnIsANetConn(t *testing.T) {
	var problems []string
	w := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		lock := newPlainLock()(s, path)
		return asking{lock, func() error { problems = append(problems, misbehaves(s.Addresses[0])...); return nil }}
	})
	r := run(t, w, sim.Config{Episodes: 1, Seed: 1, Clients: 1, NoFaultsAtAll: true})
	if len(problems) > 0 || r.Verdict != sim.VerdictOK {
		t.Errorf("%s %s: %q", r.Verdict, r.Reason, problems)
	}
}

// misbehaves says what is wrong with a connection to a server.
func misbehaves(server string) (problems []string) {
	insist := func(is bool, format string, args ...any) {
		if !is {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	conn, err := net.Dial("tcp", server)
	if err != nil {
		return []string{err.Error()}
	}
	_, remote := conn.RemoteAddr().(*net.TCPAddr)
	_, local := conn.LocalAddr().(*net.TCPAddr)
	insist(remote && local, "%T and %T", conn.RemoteAddr(), conn.LocalAddr())

	begin := time.Now()
	time.AfterFunc(time.Second, func() { conn.SetReadDeadline(time.Unix(1, 0)) })
	_, err = conn.Read(make([]byte, 1))
	timeout := net.Error(nil)
	insist(errors.As(err, &timeout) && timeout.Timeout(), "a read that is interrupted: %v", err)
	insist(time.Since(begin) == time.Second, "it took %v", time.Since(begin))

	conn.SetWriteDeadline(time.Now())
	_, err = conn.Write([]byte{0})
	insist(errors.Is(err, os.ErrDeadlineExceeded), "a write after its deadline: %v", err)

	conn.Close()
	op := (*net.OpError)(nil)
	_, err = conn.Write([]byte{0})
	insist(errors.As(err, &op) && errors.Is(err, net.ErrClosed), "a write after Close: %v", err)
	_, err = conn.Read(make([]byte, 1))
	insist(errors.As(err, &op) && errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed), "a read after Close: %v", err)

	_, err = tls.Dial("tcp", server, &tls.Config{ServerName: "zk1"})
	insist(err != nil && strings.Contains(err.Error(), "have no TLS"), "TLS: %v", err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = (&net.Dialer{}).DialContext(ctx, "tcp", server)
	insist(errors.Is(err, context.Canceled), "a dial that is given up: %v", err)
	return problems
}

// What an episode of go-zookeeper's zk.Lock costs by each door, in turns.
func BenchmarkExactDoors(b *testing.B) {
	doors := []struct {
		name string
		w    sim.Workload
		hash sim.Hasher
		cpu  time.Duration
	}{
		{name: "option", w: workload.Of(workload.Lock, newOwnLock)},
		{name: "dialer", w: workload.Of(workload.Lock, newDialerLock)},
		{name: "plain", w: plainLock()},
	}
	const block = 20
	seed := uint64(0)
	for b.Loop() {
		for i := range doors {
			d := &doors[i]
			if d.hash == nil {
				d.hash = sim.NewHasher()
			}
			begin := sim.ProcessorTime()
			for n := range uint64(block) {
				d.hash(d.w, sim.Config{}, sim.NewRandomSource(seed+n, 0))
			}
			d.cpu += sim.ProcessorTime() - begin
		}
		seed += block
	}
	for _, d := range doors {
		b.ReportMetric(float64(d.cpu.Microseconds())/float64(seed), d.name+"-µs/episode")
	}
	b.ReportMetric(float64(doors[2].cpu)/float64(doors[0].cpu), "plain/option")
}

func newDialerLock(s workload.Servers, path string) workload.Locker {
	conn, _, err := zk.Connect(s.Literals, 4*time.Second, zk.WithDialer(s.Dial), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		panic(err)
	}
	return newZKLock(conn, path)
}
