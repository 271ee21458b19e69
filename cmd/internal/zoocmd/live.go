package zoocmd

import (
	"context"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// liveHunter starts real servers and returns the function that hunts an animal there until it is seen, and then its
// twin for as many rounds. end stops the servers.
func (z *ZooCmd) liveHunter(c *console.Context) (hunt huntFunc, end func(), err error) {
	e, err := ensemble.Start(c, ensemble.Options{Nodes: 3})
	if err != nil {
		return nil, nil, err
	}
	hunt = func(ctx context.Context, a zoo.Animal) (zoo.Catch, error) {
		began := time.Now()
		catch, err := z.huntLive(ctx, e.ConnectString(), a)
		catch.Elapsed = time.Since(began)
		return catch, err
	}
	return hunt, func() { e.Stop() }, nil
}

// twinRounds is the least number of rounds of a twin.
const twinRounds = 40

func (z *ZooCmd) huntLive(ctx context.Context, servers string, a zoo.Animal) (zoo.Catch, error) {
	catch := zoo.Catch{Animal: a, TwinClean: true}
	cfg := live.Config{
		Open: func(ctx context.Context) (*live.Session, error) {
			return cli.OpenSession(ctx, reach.Access{}, servers, true)
		},
		Root: "/zktorture", Seed: z.Seed, Duration: z.Duration, Clients: a.Clients, Ops: huntOps,
		Faults: live.ClientFaults, Timeout: cli.LiveSession, Until: a.Property,
	}
	found, err := live.Run(ctx, a.Broken(), cfg)
	if err != nil {
		return catch, err
	}
	catch.Episodes = found.Episodes
	if catch.Found = violationOf(found, a.Property); catch.Found == nil {
		catch.Problem = fmt.Sprintf("not seen in %d rounds", found.Episodes)
		return catch, nil
	}
	cfg.Rounds, cfg.Duration, cfg.Until = max(found.Episodes, twinRounds), 0, ""
	twin, err := live.Run(ctx, a.Twin(), cfg)
	if err != nil {
		return catch, err
	}
	catch.TwinEpisodes, catch.TwinClean = twin.Episodes, twin.Verdict == sim.VerdictOK
	if len(twin.Violations) > 0 {
		catch.Problem = fmt.Sprintf("the fixed version is accused of %s: %s", twin.Violations[0].Property,
			twin.Violations[0].Message)
	} else if !catch.TwinClean {
		catch.Problem = "the fixed version could not be judged: " + twin.Reason
	}
	return catch, nil
}

// huntOps is the largest number of operations of a user.
const huntOps = 4

func violationOf(r sim.Result, property string) *sim.Found {
	for i := range r.Violations {
		if r.Violations[i].Property == property {
			return &r.Violations[i]
		}
	}
	return nil
}

// confirmer starts real servers and returns the function that hunts an animal in simulation, and then confirms its
// counterexample there.
func (z *ZooCmd) confirmer(c *console.Context) (hunt huntFunc, end func(), err error) {
	e, err := confirm.StartServers(c)
	if err != nil {
		return nil, nil, err
	}
	hunter := zoo.NewHunter(zoo.HuntConfig{Seed: z.Seed, Episodes: z.Episodes, SkipTwin: true})
	hunt = func(ctx context.Context, a zoo.Animal) (zoo.Catch, error) {
		catch, err := hunter.Hunt(ctx, a)
		catch.TwinClean = true // the twin is not run
		if err != nil || catch.Found == nil {
			return catch, err
		}
		catch.Confirmed, err = confirmCatch(ctx, e, a, *catch.Found)
		return catch, err
	}
	return hunt, func() { e.Stop() }, nil
}

func confirmCatch(ctx context.Context, e *ensemble.Ensemble, a zoo.Animal,
	found sim.Found) (*confirm.Confirmation, error) {
	w := a.Broken()
	example, replayed, err := replayCatch(w, a, found)
	if err != nil {
		return nil, err
	}
	return confirm.On(ctx, e, w, example, replayed)
}

// replayCatch makes a counterexample of an animal's violation, and replays it.
func replayCatch(w *workload.Workload, a zoo.Animal, found sim.Found) (*sim.Counterexample, *sim.Replayed, error) {
	example, err := exampleOf(a, found)
	if err != nil {
		return nil, nil, err
	}
	replayed, err := sim.Replay(w, example)
	return example, replayed, err
}

// confirmation describes the outcome on real servers in a sentence.
func confirmation(of zoo.Animal, f *confirm.Confirmation) string {
	switch {
	case f.Violation != nil:
		return "confirmed" + cli.Tries(f)
	case f.Untried != "":
		return "not tried: " + f.Untried
	case f.Difference != "":
		return fmt.Sprintf("not confirmed: step %d differed: %s", f.Step, f.Difference)
	}
	return "not confirmed: the replay did not break " + of.Property
}
