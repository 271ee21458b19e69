package failures

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// enough is how many sightings would be expected by now of a failure that is looked for and not seen, before it is
// gone. If it were there as before, it would be missed by chance in one case of twenty (e⁻³).
const enough = 3

// place is a failure in one recipe.
type place struct{ id, kind, recipe, animal string }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.id, q.id), cmp.Compare(p.kind, q.kind), cmp.Compare(p.recipe, q.recipe),
		cmp.Compare(p.animal, q.animal))
}

// track is what is known of a failure in one recipe after some nights.
type track struct {
	place
	property string
	shape    []string
	message  string

	state, before State // after the last night, and after the one before it; "": never seen
	reason        string
	first, last   Sighting
	nights        []int           // the numbers of those in which it was seen
	program       string          // that has seen it last
	jobs          map[string]find // by strategy
	lastJob       string          // the strategy of the last job that has found it; "" if none has
	examples      []example       // in the order in which they came

	// Since it was last seen:
	stopped  bool    // one of its last counterexamples was run again, and no longer breaks
	expected float64 // sightings that were to be expected
	episodes int     // that were run by jobs that look for it
	problem  string  // why its counterexample could not be run again in the last night
}

// find is how jobs of one strategy have found a failure.
type find struct {
	job      campaign.Job // the last one
	episodes int          // of that
	rate     float64      // the least share of the episodes
}

// example is a counterexample of a failure.
type example struct {
	sum  string
	seen int // the number of the night in which it was last found, or broke
}

// history is what all nights together say, one after the other.
type history struct {
	night  int // the number of the last one
	tracks map[place]*track
}

func newHistory() *history { return &history{tracks: map[place]*track{}} }

// add takes the next night.
func (h *history) add(n *nightFile) {
	h.night++
	saw := map[place]*sight{}
	for _, t := range h.tracks {
		t.before, t.problem = t.state, ""
	}
	for i := range n.Jobs {
		h.addJob(n, &n.Jobs[i], saw)
	}
	for i := range n.Again {
		h.addAgain(n, &n.Again[i], saw)
	}
	for p, t := range h.tracks {
		if s := saw[p]; s != nil {
			t.seen(s)
		} else {
			t.unseen(n)
		}
	}
}

// sight is how a failure was seen in a night.
type sight struct {
	times, episodes int
	breaks          bool // a counterexample breaks still
	same            bool // … and the run is the same
}

// track returns the track of a place, and notes that it was seen.
func (h *history) track(n *nightFile, p place, saw map[place]*sight) (*track, *sight) {
	at := Sighting{n.Began, n.Commit, n.Go}
	t := h.tracks[p]
	if t == nil {
		t = &track{place: p, first: at, jobs: map[string]find{}}
		h.tracks[p] = t
	}
	s := saw[p]
	if s == nil {
		s = &sight{}
		saw[p] = s
		t.nights = append(t.nights, h.night)
	}
	t.last, t.program = at, n.Program
	return t, s
}

func (h *history) addJob(n *nightFile, j *jobFile, saw map[place]*sight) {
	for _, f := range j.Failures {
		t, s := h.track(n, place{f.ID, j.Job.Kind, j.Job.Recipe, j.Job.Animal}, saw)
		t.property, t.shape, t.message = f.Property, f.Shape, f.Message
		s.times += f.Times
		s.episodes += j.Episodes
		rate := float64(f.Times) / float64(max(j.Episodes, 1))
		if old, known := t.jobs[j.Job.Strategy]; known {
			rate = min(rate, old.rate)
		}
		t.jobs[j.Job.Strategy], t.lastJob = find{j.Job, j.Episodes, rate}, j.Job.Strategy
		t.keep(f.Counterexample, h.night)
	}
}

func (h *history) addAgain(n *nightFile, a *againFile, saw map[place]*sight) {
	p := place{id: a.ID, kind: a.Kind, recipe: a.Recipe}
	switch t := h.tracks[p]; {
	case a.Breaks:
		t, s := h.track(n, p, saw)
		t.property, t.message = a.Property, a.Message
		s.breaks, s.same = true, s.same || a.Same
		t.keep(a.Counterexample, h.night)
	case t == nil:
	case a.Problem != "":
		t.problem = a.Problem
	case slices.ContainsFunc(t.recent(), func(e example) bool { return e.sum == a.Counterexample }):
		t.stopped = true
	}
}

// keep notes a counterexample that was found, or that breaks.
func (t *track) keep(sum string, night int) {
	for i := range t.examples {
		if t.examples[i].sum == sum {
			t.examples[i].seen = night
			return
		}
	}
	t.examples = append(t.examples, example{sum, night})
}

// recent are the counterexamples with which it was last seen.
func (t *track) recent() (recent []example) {
	last := 0
	for _, e := range t.examples {
		last = max(last, e.seen)
	}
	return slices.DeleteFunc(slices.Clone(t.examples), func(e example) bool { return e.seen < last })
}

// seen is called after a night in which it was seen.
func (t *track) seen(s *sight) {
	t.stopped, t.expected, t.episodes = false, 0, 0
	switch t.before {
	case "":
		t.state = New
	case Gone:
		t.state = Back
	default:
		t.state = Ongoing
	}
	switch {
	case s.times > 0:
		t.reason = fmt.Sprintf("found in %d of %d episodes", s.times, s.episodes)
	case s.same:
		t.reason = "its counterexample breaks, by the same run"
	default:
		t.reason = "its counterexample breaks, by another run"
	}
}

// unseen is called after a night in which it was not seen. What is gone stays so, as what it is gone by only grows.
func (t *track) unseen(n *nightFile) {
	for i := range n.Jobs {
		sightings := t.sightings(&n.Jobs[i])
		t.expected += sightings
		if sightings > 0 {
			t.episodes += n.Jobs[i].Episodes
		}
	}
	switch {
	case t.expected >= enough && (t.stopped || t.expectedOfZoo()):
		t.state, t.reason = Gone, t.searched("")
	case t.stopped:
		t.state, t.reason = Changed, "its counterexample no longer breaks; "+t.searched(tooFew)
	case t.problem != "":
		t.state, t.reason = Unseen, "its counterexample cannot be run again: "+t.problem
	case t.expectedOfZoo():
		t.state, t.reason = Unseen, t.searched(tooFew)
	default:
		t.state, t.reason = Unseen, t.searched("; its counterexample was not run again")
	}
}

const tooFew = ", too few to say that it is gone"

// expectedOfZoo reports whether it is of an animal, of which counterexamples are not run again.
func (t *track) expectedOfZoo() bool { return t.animal != "" }

// searched says how much it was looked for since it was last seen.
func (t *track) searched(but string) string {
	if t.episodes == 0 {
		return "no job has looked for it"
	}
	return fmt.Sprintf("not found in %d episodes, where about %.3g sightings were to be expected%s",
		t.episodes, t.expected, but)
}

// sightings is how often a job would be expected to find the failure, if it were there as before: 0 of a job that does
// not look for it. A job that found another failure of the same property says nothing, as it tells only one of each
// property.
func (t *track) sightings(j *jobFile) float64 {
	found, known := t.jobs[j.Job.Strategy]
	switch {
	case !known, t.place != place{t.id, j.Job.Kind, j.Job.Recipe, j.Job.Animal}, j.Verdict == sim.VerdictUnknown,
		slices.Contains(j.NotJudged, t.property), !covers(j.Job, found.job),
		slices.ContainsFunc(j.Failures, func(f failureFile) bool { return f.Property == t.property }):
		return 0
	case j.Job.Strategy != sim.Exhaustive:
		return found.rate * float64(j.Episodes)
	case j.Complete:
		return enough
	}
	return 0
}

// covers reports whether what a job can run another can run, too.
func covers(a, b campaign.Job) bool {
	return a.Exact == b.Exact && a.Wire == b.Wire && a.Clients >= b.Clients && a.Ops >= b.Ops && a.AtMost >= b.AtMost &&
		(b.Plain || !a.Plain) && faultsOf(a)&faultsOf(b) == faultsOf(b)
}

// faultsOf are those that may strike in a job. A list that cannot be read is none: such a job covers little.
func faultsOf(j campaign.Job) world.Faults {
	faults, err := world.ParseFaults(j.Faults)
	if err != nil {
		return world.NoFaults
	}
	return faults
}
