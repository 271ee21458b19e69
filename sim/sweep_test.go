package sim_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/bubbles"
	"github.com/zktorture/zktorture/internal/thorough"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// The sweep strikes every place that a base episode offers: each of its runs has exactly one
// fault, and every way in which a fault can strike is among them.
func TestSweepStrikesEveryPlace(t *testing.T) {
	bubbles.Many(t)
	for _, kind := range []string{"lock", "queue"} {
		w := find(t, kind, "")
		cfg := sim.Config{Seed: 4}
		struck := map[string]int{}
		places := 0
		var story strings.Builder
		for base := range thorough.Of(uint64(3), 6) {
			for _, source := range sim.SweepOf(w, cfg, base) {
				places++
				one := sim.RunOne(w, cfg, source)
				struck[theOnlyFault(t, one)]++
				story.WriteString(strings.Join(sim.Lines(one.Trace), "\n"))
			}
		}
		if len(struck) < len(slices.Collect(sim.AllFaults.Each()))-1 {
			t.Errorf("%s: of %d places none was for some of the faults: %v", kind, places, struck)
		}
		for _, way := range []string{"its reply is lost", "is lost before it is applied", "connection reset",
			"while 8 s pass", "while 2 s pass", "is still carried out"} {
			if !strings.Contains(story.String(), way) {
				t.Errorf("%s: in %d places nothing %q", kind, places, way)
			}
		}
	}
}

// Of what the sweep strikes after all single faults half is pairs, anywhere, and half patterns: two or three faults against
// one client, soon after each other.
func TestSweepStrikesPatterns(t *testing.T) {
	bubbles.Many(t)
	var faults [4]int
	var apart [2]int
	for base := range uint64(10) {
		n, a := sim.SweptPatterns(find(t, "lock", ""), sim.Config{Seed: 4}, base)
		for i := range n {
			faults[i] += n[i]
		}
		apart[0], apart[1] = apart[0]+a[0], apart[1]+a[1]
	}
	if faults[3] < faults[2]/8 || apart[0] < faults[2]/4 || apart[1] > 0 {
		t.Errorf("so many runs have 0, 1, 2 and 3 faults: %v; of pairs and patterns are apart %v", faults, apart)
	}
}

// theOnlyFault returns the name of the fault that strikes in a trace. That a client meets a server
// which lags is drawn when it connects, and no place of its own.
func theOnlyFault(t *testing.T, one sim.One) string {
	t.Helper()
	var names, met []string
	last := -1
	for _, step := range one.Trace {
		strikes := isStrike(step)
		switch {
		case strikes && step.Client < 0 && step.Fault == sim.Lag:
			met = append(met, step.Fault.String())
		case strikes && step.N != last && step.N > 0:
			names, last = append(names, step.Fault.String()), step.N
		}
	}
	if len(names) == 0 {
		names = met[:min(1, len(met))]
	}
	if len(names) != 1 {
		t.Errorf("%d faults struck at one place: %v\n%s", len(names), names, strings.Join(sim.Lines(one.Trace), "\n"))
		return ""
	}
	return names[0]
}

// picky is a correct lock but for one place: if the reply to the deletion of a znode under its
// mark is lost, which happens once in a script, it reports an error that nothing explains.
type picky struct {
	workload.Locker
	conn   recipes.Conn
	rounds int
}

func newPicky(c recipes.Conn, path string) workload.Locker {
	return &picky{Locker: recipes.NewLock(c, path), conn: c}
}

func (p *picky) Unlock(ctx context.Context) error {
	p.rounds++
	if p.rounds != 3 {
		return p.Locker.Unlock(ctx)
	}
	_, err := p.conn.Create("/t/lock/mark", nil, 0, zk.WorldACL(zk.PermAll))
	if err == zk.ErrConnectionClosed {
		if there, _, _ := p.conn.Exists("/t/lock/mark"); there {
			return zk.ErrNodeExists
		}
	}
	p.conn.Delete("/t/lock/mark", -1)
	return p.Locker.Unlock(ctx)
}

// A bug that needs one fault at one place is found by the sweep as soon as a base comes by that
// place; random choice has to hit it by luck.
func TestSweepFindsTheOnePlace(t *testing.T) {
	bubbles.Many(t)
	w := workload.Lock(newPicky)
	sweeps, randoms := 0, 0
	for seed := range uint64(5) {
		cfg := sim.Config{Seed: seed, Faults: sim.Loss, Clients: 1, Workers: 1}
		sweep := firstBreak(t, w, cfg, "sweep")
		if bound := firstSingleFault(w, cfg); sweep > bound {
			t.Errorf("seed %d: the sweep found it in episode %d, though a single fault of episode %d shows it", seed,
				sweep, bound)
		}
		sweeps, randoms = sweeps+sweep, randoms+firstBreak(t, w, cfg, "random")
	}
	if sweeps >= randoms {
		t.Errorf("the sweep needed %d episodes with five seeds, random choice %d", sweeps, randoms)
	}
}

// firstSingleFault returns the number of the sweep's first episode in which one fault breaks
// something.
func firstSingleFault(w sim.Workload, cfg sim.Config) (episode int) {
	for base := range uint64(50) {
		runs := sim.SweepOf(w, cfg, base)
		for i, source := range runs {
			if len(sim.RunOne(w, cfg, source).Violations) > 0 {
				return episode + 1 + i
			}
		}
		episode += 1 + len(runs) + len(runs)/2 // the base, its places, pairs
	}
	return 0
}

// firstBreak returns the first episode in which the picky lock refuses to be unlocked.
func firstBreak(t *testing.T, w sim.Workload, cfg sim.Config, strategy string) int {
	t.Helper()
	cfg.Strategy, cfg.Episodes, cfg.NoShrink, cfg.Until = strategy, 5000, true, "unexpected-error"
	if r := run(t, w, cfg); len(r.Violations) > 0 {
		return r.Violations[0].Episode
	}
	t.Logf("%s choice did not find it in %d episodes", strategy, cfg.Episodes)
	return cfg.Episodes
}
