package sim_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/workload"
)

// signedLock is held by whoever finds its own signature in the znode.
type signedLock struct {
	conn      recipes.Conn
	path      string
	signature func() string
}

func (l *signedLock) Lock(ctx context.Context) error {
	me := l.signature()
	for {
		l.conn.Create(l.path, []byte(me), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if data, _, err := l.conn.Get(l.path); err == nil && string(data) == me {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *signedLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }

// signed connects by itself, so that a process has one user.
func signed(signature func() string) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return &signedLock{conn, path, signature}
	}, workload.Unfair())
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		panic(err)
	}
	return name
}

func hostAndPid() string { return fmt.Sprintf("%s-%d", hostname(), os.Getpid()) }

// found are the messages of what was found.
func found(r sim.Result) (all []string) {
	for _, v := range r.Violations {
		all = append(all, v.Property+": "+v.Message)
	}
	return all
}

// In an ordinary build all processes have the machine's host name and process id. A lock that knows itself by these is not
// accused of what comes of it: the run says so.
func TestSharedIdentityIsSaid(t *testing.T) {
	if bubble.Exact {
		t.Skip("each process has its own")
	}
	for name, signature := range map[string]func() string{
		"host and pid": hostAndPid,
		"host":         hostname,
		"in a record":  func() string { return fmt.Sprintf(`{"host": %q, "pid": %d}`, hostname(), os.Getpid()) },
	} {
		r := run(t, signed(signature), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true})
		if r.Verdict != sim.VerdictUnknown || len(r.Violations) > 0 || !strings.Contains(r.Reason, "share this machine's host name") ||
			!strings.Contains(r.Reason, "torture test") {
			t.Errorf("%s: %s %s after %d episodes: %q", name, r.Verdict, r.Reason, r.Episodes, found(r))
		}
	}
}

// One that writes them, and knows itself by something else, is not accused either; and what does not write them is judged as
// ever, by the same name.
func TestSharedIdentityHidesNothingElse(t *testing.T) {
	guid := 0
	r := run(t, signed(func() string { guid++; return fmt.Sprint("holder ", guid) }), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s %s: %q", r.Verdict, r.Reason, found(r))
	}
	r = run(t, signed(func() string { return "the holder" }), sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true, Until: "exclusion"})
	if r.Verdict != sim.VerdictViolation || r.Violations[0].Property != "exclusion" {
		t.Errorf("%s %s: %q", r.Verdict, r.Reason, found(r))
	}
}
