package foreign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/docker/leadership"
	"github.com/docker/libkv/store/zookeeper"
	gokit "github.com/go-kit/kit/sd/zk"
	"github.com/go-kit/log"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload/service"
)

// discovers registers a service of go-kit and follows the others; the first instance takes itself off, and runs on.
func discovers(ctx context.Context, i *service.Instance) error {
	client, err := gokit.NewClient(i.Servers, log.NewNopLogger())
	if err != nil {
		return err
	}
	defer client.Stop()
	own := gokit.Service{Path: "/services", Name: "add", Data: fmt.Append(nil, i.Number)}
	instancer, err := gokit.NewInstancer(client, goKitPath, log.NewNopLogger())
	if err != nil {
		return err
	}
	defer instancer.Stop()
	for err = client.Register(&own); err == nil && i.Number == 0 && ctx.Err() == nil; time.Sleep(time.Second) {
		client.Deregister(&own)
	}
	<-ctx.Done()
	return err
}

// leads is a candidate of docker/leadership, as its README has it.
func leads(ctx context.Context, i *service.Instance) error {
	store := made(zookeeper.New(i.Servers, nil))
	defer store.Close()
	candidate := leadership.NewCandidate(store, "leader", "node", 0)
	elected, failed := candidate.RunForElection()
	for {
		select {
		case leads := <-elected:
			i.Declare("leader", leads)
		case err := <-failed:
			return err
		case <-ctx.Done():
			candidate.Stop()
			return nil
		}
	}
}

// The first instance has taken itself off, and is not there any more.
func isOff(r service.Rest) error {
	if slices.Contains(slices.Collect(maps.Values(r.Tree)), "0") {
		return errors.New("the first instance has taken itself off, and is there")
	}
	return nil
}

// Defects are found in whole services that connect by themselves, without a word of what their recipes promise. Real servers
// show them, too, each time.
func TestKnownDefectsOfServices(t *testing.T) {
	if !sim.Exact() {
		t.Skip("it takes exact mode: make exact")
	}
	for name, c := range map[string]struct {
		of       service.Service
		faults   world.Faults
		property string
	}{
		"deregister": {service.Service{Start: discovers, Invariants: []service.Invariant{{Name: "ghost", Holds: isOff}}}, 0, "ghost"},
		"deaf":       {service.Service{Start: discovers, Follows: []string{goKitPath}}, world.Loss, "deaf"},
		"belief":     {service.Service{Start: leads}, world.Expiry, "belief"},
	} {
		w := c.of.Workload()
		cfg := sim.Config{
			Episodes: 2000, Seed: 1, Faults: c.faults, NoFaultsAtAll: true, Until: c.property, NoShrink: true, Workers: 1,
		}
		r, err := sim.Run(t.Context(), w, cfg)
		if err != nil || r.Verdict != sim.VerdictViolation || r.Barred != nil || r.Left > 0 {
			t.Errorf("%s is not broken in %d episodes: %v %s %v, barred %q, %d left goroutines", c.property, r.Episodes, r.Verdict,
				r.Reason, err, r.Barred, r.Left)
		}
		t.Logf("%s: %d episodes", name, r.Episodes)
		t.Run(name+" on real servers", func(t *testing.T) {
			ensembletest.Need(t)
			e := made(cli.StartStage(t.Context()))
			defer e.Stop()
			for _, found := range r.Violations {
				example := made(cfg.Counterexample(r, found))
				for range testkit.Sized(1, 5) {
					confirmed := made(cli.ConfirmOn(t.Context(), e, w, example, made(sim.Replay(w, example))))
					if confirmed.Violation == nil {
						t.Errorf("%s: %+v", found.Property, confirmed)
					}
				}
			}
		})
	}
}
