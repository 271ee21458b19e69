package workload_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// poller is a lock whose waiters look again and again, with a pause between or without.
type poller struct {
	conn  recipes.Conn
	path  string
	pause time.Duration
}

func (p *poller) Lock(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := p.conn.Create(p.path, nil, zk.FlagEphemeral, openACL)
		if err != zk.ErrNodeExists {
			return err
		}
		for there := true; there && ctx.Err() == nil; {
			if there, _, err = p.conn.Exists(p.path); err != nil {
				return err
			}
			if p.pause > 0 {
				time.Sleep(p.pause)
			}
		}
	}
	return ctx.Err()
}

func (p *poller) Unlock(context.Context) error { return p.conn.Delete(p.path, -1) }

func polling(pause time.Duration) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return &poller{c, path, pause}
	}, workload.Unfair())
}

// The verdict on a waiter that asks without a pause, so that no time passes in which the holder could finish, is that
// loop, and nothing that would be derived from its end.
func TestPollWithoutAPause(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, faults := range []world.Faults{world.NoFaults, world.Cancel} {
		r := campaign(t, polling(0), sim.Config{Episodes: 20, Seed: 1, Faults: faults, NoFaultsAtAll: true})
		if len(r.Violations) != 1 || r.Violations[0].Property != "progress" {
			t.Fatalf("under %v: %s, broken are %v", faults, r.Verdict, r.Violations)
		}
		f := r.Violations[0]
		for _, part := range []string{"livelock: c", " requests while no time passed", "exists /t/lock"} {
			if !strings.Contains(f.Message, part) {
				t.Errorf("%q is not in the message: %s", part, f.Message)
			}
		}
		if text := f.Story(polling(0)); strings.Count(text, "\n") > 60 {
			t.Errorf("the story has %d lines:\n%s", strings.Count(text, "\n"), text[:3000])
		}
	}
}

// With the shortest pause that a server can bear, it is no loop, however long the others hold the lock.
func TestPollWithAPause(t *testing.T) {
	r := campaign(t, polling(time.Millisecond), sim.Config{Episodes: 15, Seed: 1, Faults: world.Cancel, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s (%s): %v", r.Verdict, r.Reason, r.Violations)
	}
}
