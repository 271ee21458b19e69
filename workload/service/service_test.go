//go:build zktexact

package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload/service"
)

// A correct service is not accused of anything. Each episode runs twice: equal choices give equal runs. (Wrap is left out:
// the elector orders its znodes by their numbers, which end.)
func TestExactCorrectService(t *testing.T) {
	const episodes = 300
	for _, c := range []struct {
		of     service.Service
		faults world.Faults
	}{
		{electing(elect), world.AllFaults &^ world.Wrap},
		{electing(elect), world.Expiry | world.Crash | world.Pause},
		{following(true), world.AllFaults &^ world.Wrap},
	} {
		w, faults := c.of.Workload(), c.faults
		r, err := sim.Run(t.Context(), w, sim.Config{Episodes: episodes, Seed: 1, Faults: faults})
		if err != nil || r.Verdict != sim.VerdictOK || r.Rerun.Episodes != episodes || r.Rerun.Differed > 0 {
			t.Errorf("%v: %s %s %v, rerun %+v", faults, r.Verdict, r.Reason, err, r.Rerun)
		}
		for _, f := range r.Violations {
			t.Log(f.Story(w))
		}
	}
}

// What is wrong with a service is found, and said in one sentence.
func TestExactBrokenServices(t *testing.T) {
	failing := func(run func(ctx context.Context, i *service.Instance) error) service.Service {
		return service.Service{Start: run}
	}
	broken := map[string]struct {
		of             service.Service
		property, says string
	}{
		"never steps down": {
			electing(neverDown), "belief", "still acts as the owner after learning that this session expired",
		},
		"orders by name": {
			electing(byName), "exclusion", " declares leader from step ",
		},
		"nobody leads": {
			electing(func(ctx context.Context, servers []string, _ func(bool)) error {
				return elect(ctx, servers, func(bool) {})
			}), "progress", "1m30s after the last fault no instance declares leader",
		},
		"fails as it is not alone": {service.Service{Start: notAlone(func(err error) error { return err })},
			"startup", `failed with "zk: node already exists" although no fault had struck`},
		"exits as it is not alone": {service.Service{Start: notAlone(func(error) error { os.Exit(1); return nil })},
			"startup", " exited at step "},
		"fails": {failing(func(context.Context, *service.Instance) error { return errors.New("no") }), "startup", `failed with "no"`},
		"is never ready": {
			service.Service{
				Start:   func(ctx context.Context, i *service.Instance) error { <-ctx.Done(); return nil },
				Readies: true,
			}, "startup", "is not up 1m30s after the last fault: it has not said that it is ready",
		},
		"follows no more": {following(false), "deaf", "another than what its children has last read: no watch of its is armed there"},
		"does not stop": {
			failing(func(context.Context, *service.Instance) error { select {} }), "hang", "has not returned 30s after the end of its context",
		},
		"panics": {
			failing(func(context.Context, *service.Instance) error { panic("no") }), "panic", "c1 panicked in start: no",
		},
		"breaks an invariant": {
			service.Service{
				Start: func(ctx context.Context, i *service.Instance) error {
					i.Observe("seen", fmt.Sprint(i.Number))
					<-ctx.Done()
					return nil
				},
				Invariants: []service.Invariant{{Name: "at-most-one", Holds: func(r service.Rest) error {
					if len(r.Observed) > 1 {
						return fmt.Errorf("%d were seen", len(r.Observed))
					}
					return nil
				}}},
			}, "at-most-one", "1m30s after the last fault 2 were seen",
		},
		"loses a write": {
			service.Service{Start: forgetful, Invariants: []service.Invariant{{Name: "lost-write", Holds: wantReads}}},
			"lost-write", `1m30s after the last fault instance 0's read returned "", and before it "1" was written`,
		},
	}
	for name, test := range broken {
		t.Run(name, func(t *testing.T) {
			r, err := sim.Run(t.Context(), test.of.Workload(), sim.Config{Episodes: 2000, Seed: 1, Until: test.property, NoShrink: true, Faults: world.AllFaults})
			i := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == test.property })
			if i >= 0 && strings.Contains(r.Violations[i].Message, test.says) {
				return
			}
			t.Errorf("no %s in %d episodes: %s %s %v", test.property, r.Episodes, r.Verdict, r.Reason, err)
			for _, f := range r.Violations {
				t.Logf("%s: %s", f.Property, f.Message)
			}
		})
	}
}

// neverDown is an elector that does not tell that it leads no more, byName one that orders by what is random.
func neverDown(ctx context.Context, servers []string, tells func(bool)) error {
	return elect(ctx, servers, func(leads bool) {
		if leads {
			tells(true)
		}
	})
}

func byName(ctx context.Context, servers []string, tells func(bool)) error {
	return electBy(ctx, servers, tells, func(name string) string { return name })
}

// notAlone makes a znode that another instance may have made meanwhile, and then does what failed says.
func notAlone(failed func(error) error) func(context.Context, *service.Instance) error {
	return func(ctx context.Context, i *service.Instance) error {
		conn, _, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return err
		}
		defer conn.Close()
		if there, _, err := conn.Exists("/app"); err != nil || !there {
			if _, err := conn.Create("/app", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				return failed(err)
			}
		}
		<-ctx.Done()
		return nil
	}
}

// following has the first instance follow what the others make: as long as it runs, or until it has seen a change.
func following(again bool) service.Service {
	return service.Service{Follows: []string{"/app"}, Start: func(ctx context.Context, i *service.Instance) error {
		conn, _, err := zk.Connect(i.Servers, 4*time.Second, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			return err
		}
		defer conn.Close()
		conn.Create("/app", nil, 0, zk.WorldACL(zk.PermAll))
		for k := 0; ctx.Err() == nil && i.Number == 0 && (again || k == 0); k++ {
			_, _, changed, err := conn.ChildrenW("/app")
			if err != nil {
				return err
			}
			select {
			case <-changed:
			case <-ctx.Done():
			}
		}
		conn.Create("/app/x", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		<-ctx.Done()
		return nil
	}}
}

// forgetful keeps what is written to itself.
func forgetful(ctx context.Context, i *service.Instance) error {
	value := ""
	if i.Number == 1 {
		i.Do("write", "1", func(context.Context) (string, error) { value = "1"; return "", nil })
	}
	time.Sleep(time.Second)
	i.Do("read", "", func(context.Context) (string, error) { return value, nil })
	return nil
}

func wantReads(r service.Rest) error {
	for k, read := range r.Done {
		for _, write := range r.Done[:k] {
			if read.Name == "read" && write.Name == "write" && write.Return < read.Call && read.Result != write.Arg {
				return fmt.Errorf("instance %d's read returned %q, and before it %q was written", read.Client, read.Result, write.Arg)
			}
		}
	}
	return nil
}
