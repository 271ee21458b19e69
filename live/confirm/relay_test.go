package confirm

import (
	"context"
	"io"
	"log"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live"
	tcp "github.com/zktorture/zktorture/live/ensemble/relay"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// greedy is no lock: everybody has it who has made a znode. It opens two connections, and watches by one what it makes by
// the other.
type greedy struct {
	servers     workload.Servers
	path        string
	makes, sees *zk.Conn
}

func (l *greedy) Lock(context.Context) error {
	for _, conn := range []**zk.Conn{&l.makes, &l.sees} {
		if *conn == nil {
			*conn, _, _ = zk.Connect(l.servers.Addresses, 4*time.Second, l.servers.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
		}
	}
	l.makes.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
	if _, _, _, err := l.sees.ChildrenW(l.path); err != nil {
		return err
	}
	_, err := l.makes.Create(l.path+"/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (l *greedy) Unlock(context.Context) error {
	_, _, err := l.sees.Get(l.path)
	return err
}

// What code with several connections has said to the simulated servers, real ones are told; its counterexample is confirmed
// if they answer the same, and not if anything is another.
func TestRelayed(t *testing.T) {
	w := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker { return &greedy{servers: s, path: path} })
	cfg := sim.Config{Episodes: 20, Seed: 1, Faults: world.Expiry | world.Crash | world.Loss, NoShrink: true, Strategy: "random"}
	told := func(s world.Step) bool { return s.Dialled == world.DialledExpired }
	watched := func(s world.Step) bool { return s.Kind == world.KindWatch }
	var example *sim.Counterexample
	for ; example == nil && cfg.Seed < 50; cfg.Seed++ {
		r, err := sim.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range r.Violations {
			if slices.ContainsFunc(found.Trace, told) && slices.ContainsFunc(found.Trace, watched) {
				if example, err = cfg.Counterexample(r, found); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if example == nil {
		t.Fatal("nothing was found by which a session ends and a watch is told")
	}
	replayed, err := sim.Replay(w, example)
	if err != nil || replayed.Violation == nil {
		t.Fatalf("%v, %v", replayed, err)
	}
	servers := strings.Split(fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}}).ConnectString(), ",")
	config := Config{Servers: servers, Patience: 300 * time.Millisecond,
		Open: func(_ context.Context, how Opening) (*live.Session, Stepper, error) {
			conn, _, err := zk.Connect(servers[how.Server:][:1], 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
			return &live.Session{Conn: conn, Close: func() { conn.Close() }}, nil, err
		}}
	said := replayed.Record.Talk
	for i := range said {
		said[i].Server = 1 // and not the leader
	}
	delay := delayed(t, servers, 1)
	for _, slow := range []time.Duration{2 * config.Patience, 0} {
		delay(slow)
		confirmed, err := Run(t.Context(), w, example, replayed, config)
		if err != nil || confirmed.Violation == nil || confirmed.Difference != "" || confirmed.Untried != "" {
			t.Fatalf("one server answers after %v: %+v, %v", slow, confirmed, err)
		}
	}
	for kind, change := range map[world.TalkKind]func(*world.Talk){
		world.TalkHello: func(s *world.Talk) { s.Refused = true },
		world.TalkReply: func(s *world.Talk) {
			header, _ := replied(s.Frame[lengthBytes:])
			header.Err = wire.CodeNoAuth
			s.Frame = wire.AppendFrame(nil, &header)
		},
		world.TalkEvent: func(s *world.Talk) { s.Frame = append(slices.Clone(s.Frame[:len(s.Frame)-1]), '?') },
	} {
		replayed.Record.Talk = slices.Clone(said)
		i := slices.IndexFunc(said, func(s world.Talk) bool { return s.Kind == kind })
		change(&replayed.Record.Talk[i])
		confirmed, err := Run(t.Context(), w, example, replayed, config)
		if err != nil || confirmed.Violation != nil || confirmed.Step != said[i].Step || confirmed.Difference == "" {
			t.Errorf("kind %d, step %d: %+v, %v", kind, said[i].Step, confirmed, err)
		}
	}
}

// delayed puts a relay before one of the servers, and returns what delays its answers.
func delayed(t *testing.T, servers []string, server int) func(by time.Duration) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := servers[server]
	r := tcp.New(listener, func() (net.Conn, error) { return net.Dial("tcp", address) })
	t.Cleanup(r.Close)
	servers[server] = r.Addr().String()
	return r.Delay
}
