package sim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// Equal choices are equal runs, whatever source they came from first: what the source saw of the world is no choice.
func TestStrategiesReplay(t *testing.T) {
	testkit.ManyWorlds(t)
	for strategy := range sim.Strategies {
		w, cfg := find(t, "queue", ""), sim.Config{Faults: world.EveryFault}
		for episode := range uint64(testkit.Share(40)) {
			one := sim.RunOne(w, cfg, sim.SourceOf(strategy, 3, episode))
			if again := sim.RunOne(w, cfg, one.Choices.Replay()); again.Hash != one.Hash {
				t.Errorf("%s: episode %d has the hash %x, and %x when its choices are made again", strategy, episode, one.Hash,
					again.Hash)
			}
		}
	}
}

// A mix's episodes are those that its members have at the same places.
func TestMixTakesTurns(t *testing.T) {
	w, cfg := find(t, "lock", ""), sim.Config{}
	for i, member := range append(sim.Turns(), sim.Turns()...) {
		one, other := sim.RunOne(w, cfg, sim.SourceOf("mix", 5, uint64(i))), sim.RunOne(w, cfg, sim.SourceOf(member, 5, uint64(i)))
		if one.Hash != other.Hash {
			t.Errorf("episode %d of the mix is not that of %s", i, member)
		}
	}
}

// The faults of a pattern strike one client, and there are up to three. From the 21st episode on it strikes again, perhaps
// another client, up to six times.
func TestPatternsStrikeOneClient(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "")
	strike := func(from, until uint64, atMost, faults int) {
		most := 0
		for episode := from; episode < until; episode++ {
			one := sim.RunOne(w, sim.Config{}, sim.SourceOf("patterns", 8, episode))
			victims, strikes := victims(one.Trace)
			if len(victims) > atMost || strikes > faults {
				t.Errorf("episode %d: %d faults strike the clients %v\n%s", episode, strikes, victims,
					strings.Join(replay.Lines(one.Trace), "\n"))
			}
			most = max(most, strikes)
		}
		if most < faults {
			t.Errorf("at most %d faults struck in an episode of %d to %d", most, from, until)
		}
	}
	strike(0, 20, 1, 3)
	strike(20, 120, 3, 6)
}

// A fault behind a stall strikes when something lies in the channels of the goroutines that stand still: before, the stall
// is nothing to it.
func TestPatternsStrikeBehindWhatIsLate(t *testing.T) {
	testkit.ManyWorlds(t)
	w, behind, late := find(t, "lock", "ours"), 0, 0
	for episode := range uint64(400) {
		one := sim.RunOne(w, sim.Config{Faults: world.Stall | world.Expiry}, sim.SourceOf("patterns", 8, episode))
		stalled, lies := false, false
		for _, step := range one.Trace {
			switch {
			case isStrike(step) && step.Fault == world.Stall:
				stalled = true
			case step.Fault == world.Stall:
				lies = true
			case isStrike(step) && stalled:
				behind++
				if lies {
					late++
				}
				stalled = false
			}
		}
	}
	if behind < 40 || 4*late < 3*behind {
		t.Errorf("of %d faults behind a stall %d struck when something was late", behind, late)
	}
}

// isStrike reports whether a step is a fault that strikes: not that a counter has come to its end, nor what comes while
// goroutines stand still.
func isStrike(step world.Step) bool {
	later := step.Fault == world.Stall && !strings.Contains(step.Result, "are paused")
	return step.Kind == world.KindFault && step.Fault != world.Wrap && !later
}

// victims returns the clients that faults have struck in a trace, and how often.
func victims(trace []world.Step) (clients []int, strikes int) {
	last := 0
	for _, step := range trace {
		if !isStrike(step) || step.Client < 0 || step.N == last || strings.Contains(step.Result, "begins without") {
			continue
		}
		last = step.N
		strikes++
		if !slices.Contains(clients, step.Client) {
			clients = append(clients, step.Client)
		}
	}
	return clients, strikes
}

// What is known to break a property is found again soon by episodes that begin like it, with other seeds.
func TestNearFindsAgain(t *testing.T) {
	testkit.ManyWorlds(t)
	w := find(t, "lock", "broken")
	cfg := sim.Config{Strategy: "mix", Episodes: 3000, Seed: 5, Until: "watch-leak", NoShrink: true, Workers: 1}
	known := run(t, w, cfg).Violations[0].Choices
	first := func(strategy string, near ...world.Choices) (sum int) {
		for seed := range uint64(3) {
			cfg.Strategy, cfg.Seed, cfg.Near = strategy, seed, near
			r := run(t, w, cfg)
			if sum += 3000; len(r.Violations) > 0 {
				sum += r.Violations[0].Episode - 3000
			}
		}
		return sum
	}
	if near, random := first(sim.Near, known), first("random"); 4*near > random {
		t.Errorf("three hunts took %d episodes near a known one, and %d at random", near, random)
	}
}

// In half of the patterns a fault behind an expiry waits for what the client asks next, in a session that lives. Where none
// did, that happened in 7 of these episodes.
func TestPatternsStrikeTheNextRequest(t *testing.T) {
	testkit.ManyWorlds(t)
	w, lost := find(t, "lock", "ours"), 0
	for episode := range uint64(400) {
		one := sim.RunOne(w, sim.Config{Faults: world.Loss | world.Expiry}, sim.SourceOf("patterns", 8, episode))
		for i, step := range one.Trace {
			if isStrike(step) && step.Fault == world.Expiry && losesNext(one.Trace[i+1:], step.Client) {
				lost++
			}
		}
	}
	if lost < 14 {
		t.Errorf("in %d of 400 episodes the first request after an expiry was lost", lost)
	}
}

// losesNext reports whether the first request of a client in its next session is lost.
func losesNext(trace []world.Step, client int) bool {
	lives := false
	for _, step := range trace {
		switch {
		case step.Client != client:
		case step.Dialled == world.DialledNew:
			lives = true
		case step.Lost != "" && lives:
			return true
		case step.Kind == world.KindExchange, step.Kind == world.KindRequest, isStrike(step):
			return false
		}
	}
	return false
}
