package draw

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim/world"
)

// Strategies are the names of the strategies, with what they do. A strategy is a file, which adds itself.
var Strategies = map[string]string{}

// sources make the sources of those that draw. near is for one of them.
var sources = map[string]func(near []world.Choices) episodeSource{}

// add adds a strategy; without a source it is none that draws by itself.
func add(name, help string, source func(near []world.Choices) episodeSource) (added struct{}) {
	Strategies[name], sources[name] = help, source
	return added
}

var (
	_ = add("mix", "patterns, conflicts, pos and random in turns, in shares that were measured", nil)
	_ = add(Stages, "mix in stages: 200 episodes without faults, in which instances race at their start, 200 with loss, expiry and "+
		"cancel, 400 without wrap and reap, which are rare, and then with all that may strike", nil)
)

// Stages is the strategy of who names no strategy to sim.Check or torture run: what is simple comes first, and what is rare
// last.
const Stages = "stages"

// Usual is the strategy of who names none, by the faults that may strike: [Stages], or mix if these are fewer than half of
// all, which somebody wants from the first episode on.
func Usual(faults world.Faults) string {
	if 2*bits.OnesCount16(uint16(faults)) < bits.OnesCount16(uint16(world.AllFaults)) {
		return "mix"
	}
	return Stages
}

// stages are the episodes of [Stages] that may not have all faults: those below a number that are in no other one.
var stages = [...]struct {
	below int
	may   world.Faults
}{{200, world.NoFaults}, {400, world.Loss | world.Expiry | world.Cancel}, {800, ^world.Rare}}

// Allowed are those of some faults that may strike in an episode; all in one without a number, which is negative.
func Allowed(strategy string, episode int, faults world.Faults) world.Faults {
	for _, s := range stages {
		if strategy == Stages && episode >= 0 && episode < s.below {
			return faults & s.may
		}
	}
	return faults
}

// Near is the strategy whose episodes begin like those of Near of sim.Config.
const Near = "near"

// CheckStrategy returns an error unless a strategy is one of [Strategies].
func CheckStrategy(name string) error {
	if _, known := Strategies[name]; !known {
		all := strings.Join(slices.Sorted(maps.Keys(Strategies)), ", ")
		return fmt.Errorf("unknown strategy %q: there are %s", name, all)
	}
	return nil
}

// Turns are whose the episodes of a mix are, one after the other. The shares were fitted to half of the known bugs.
var Turns = [...]string{"patterns", "conflicts", "random", "patterns", "pos", "conflicts", "patterns", "random"}

// episodeSource is a source that can be set to an episode of a campaign.
type episodeSource interface {
	world.Source
	Reset(seed, episode uint64)
}

// draws makes the sources of a worker's episodes, which use its memory again. Each source depends on the campaign's seed
// and the episode's number alone, so that a campaign can be cut into parts.
type draws struct {
	seed   uint64
	stages bool
	turns  []string
	byName map[string]episodeSource
}

func New(strategy string, seed uint64, near []world.Choices) *draws {
	d := &draws{seed, strategy == Stages, []string{strategy}, map[string]episodeSource{}}
	if strategy == "mix" || d.stages {
		d.turns = Turns[:]
	}
	for _, name := range d.turns {
		if source := sources[name]; source != nil && d.byName[name] == nil {
			d.byName[name] = source(near)
		}
	}
	return d
}

// Source returns the source of an episode, which is good until the next one is asked for.
func (d *draws) Source(episode uint64) world.Source {
	s := d.byName[d.turns[episode%uint64(len(d.turns))]]
	s.Reset(d.seed, episode)
	if o, looks := s.(*observing); looks && d.stages && episode < uint64(stages[len(stages)-1].below) {
		o.late = false
	}
	return s
}
