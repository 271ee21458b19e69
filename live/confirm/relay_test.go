package confirm

import (
	"context"
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// greedy is no lock: everybody has it who has made a znode. It watches the others.
type greedy struct {
	makes, sees recipes.Conn
	path, made  string
}

func (l *greedy) Lock(context.Context) (err error) {
	l.makes.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
	if _, _, _, err := l.sees.ChildrenW(l.path); err != nil {
		return err
	}
	l.made, err = l.makes.Create(l.path+"/x-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (l *greedy) Unlock(context.Context) error {
	l.sees.Get(l.path)
	return l.makes.Delete(l.made, -1)
}

// dialling is the same, over two connections of its own.
type dialling struct {
	greedy
	servers workload.Servers
}

func (l *dialling) Lock(ctx context.Context) error {
	for _, conn := range []*recipes.Conn{&l.makes, &l.sees} {
		if *conn == nil {
			*conn, _, _ = zk.Connect(l.servers.Addresses, 4*time.Second, l.servers.Option, quiet)
		}
	}
	return l.greedy.Lock(ctx)
}

var quiet = zk.WithLogger(log.New(io.Discard, "", 0))

// What clients have said to the simulated servers, real ones are told; a counterexample is confirmed if they answer the
// same, and refused if anything is another: a request, a reply, an event or a handshake.
func TestRelayed(t *testing.T) {
	for name, w := range map[string]*workload.Workload{
		"in process": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &greedy{makes: c, sees: c, path: path}
		}),
		"by its own connections": workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
			return &dialling{greedy: greedy{path: path}, servers: s}
		}),
	} {
		t.Run(name, func(t *testing.T) { relays(t, w) })
	}
}

func relays(t *testing.T, w *workload.Workload) {
	example, replayed := exampleOf(t, w)
	servers := strings.Split(fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{Replicas: 3}}).ConnectString(), ",")
	config := Config{Servers: servers, Patience: 50 * time.Millisecond}
	said := replayed.Record.Talk
	for i := range said {
		said[i].Server = 1 // and not the leader
	}
	confirmed, err := Run(t.Context(), w, example, replayed, config)
	if err != nil || confirmed.Violation == nil || confirmed.Difference != "" || confirmed.Untried != "" {
		t.Fatalf("%+v, %v", confirmed, err)
	}
	for name, change := range changes {
		replayed.Record.Talk = slices.Clone(said)
		for i := range said {
			if other := said[i]; change(&other) {
				replayed.Record.Talk[i] = other
			}
		}
		confirmed, err := Run(t.Context(), w, example, replayed, config)
		if err != nil || confirmed.Violation != nil || confirmed.Difference == "" {
			t.Errorf("%s is another: %+v, %v", name, confirmed, err)
		}
	}
}

// changes each make something else of what was said; false for what they do not concern.
var changes = map[string]func(*world.Talk) bool{
	"a handshake": func(s *world.Talk) bool {
		s.Refused = true
		return s.Kind == world.TalkHello
	},
	"the version of a delete": func(s *world.Talk) bool {
		var header wire.RequestHeader
		body, _ := wire.Parse(s.Frame, &header)
		if s.Kind != world.TalkRequest || header.Op != wire.OpDelete {
			return false
		}
		var asked wire.PathVersionRequest
		wire.Parse(body, &asked)
		asked.Version = 7
		s.Frame = wire.Append(wire.Append(nil, &header), &asked)
		return true
	},
	"a reply": func(s *world.Talk) bool {
		if s.Kind != world.TalkReply {
			return false
		}
		header, _ := replied(s.Frame[lengthBytes:])
		header.Err = wire.CodeNoAuth
		s.Frame = wire.AppendFrame(nil, &header)
		return true
	},
	"an event": func(s *world.Talk) bool {
		if s.Kind != world.TalkEvent {
			return false
		}
		s.Frame = append(slices.Clone(s.Frame[:len(s.Frame)-1]), '?')
		return true
	},
}

// exampleOf finds a counterexample by which a session ends, a watch is told and a znode is deleted.
func exampleOf(t *testing.T, w *workload.Workload) (*sim.Counterexample, *sim.Replayed) {
	t.Helper()
	cfg := sim.Config{Episodes: 20, Seed: 1, Faults: world.Expiry | world.Crash | world.Loss, NoShrink: true, Strategy: "random"}
	for ; cfg.Seed < 50; cfg.Seed++ {
		r, err := sim.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range r.Violations {
			example, err := cfg.Counterexample(r, found)
			if err != nil {
				t.Fatal(err)
			}
			replayed, err := sim.Replay(w, example)
			if err != nil {
				t.Fatal(err)
			}
			if replayed.Violation == nil { // go-zookeeper's own goroutines have run in another order
				continue
			}
			ends := slices.ContainsFunc(replayed.Record.Talk, func(s world.Talk) bool { return s.Kind == world.TalkEnds })
			tells := slices.ContainsFunc(replayed.Record.Talk, func(s world.Talk) bool { return s.Kind == world.TalkEvent })
			deletes := slices.ContainsFunc(replayed.Record.Talk, func(s world.Talk) bool {
				return s.Kind == world.TalkReply && s.Asked == wire.OpDelete
			})
			if ends && tells && deletes {
				return example, replayed
			}
		}
	}
	t.Fatal("nothing was found by which a session ends, a watch is told and a znode is deleted")
	return nil, nil
}
