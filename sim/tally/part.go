// Package tally adds up what came of the episodes of a campaign.
package tally

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/cover"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// Counts are what episodes add up to. A [Part] has those of some, a result those of all, and reports those of a result.
type Counts struct {
	Episodes   int      `json:"episodes"`
	Steps      int64    `json:"steps"`
	Operations int64    `json:"operations"`
	Undecided  int      `json:"undecided,omitempty"`  // episodes that could not be judged
	Partly     int      `json:"partly,omitempty"`     // episodes of which some properties could not be judged
	NotJudged  []string `json:"not_judged,omitempty"` // properties that could not be judged, see [Judgement]
	Refused    int64    `json:"refused,omitempty"`    // stale writes that the guarded resources refused
	Wire       bool     `json:"wire,omitempty"`       // clients were go-zookeeper's own, see [world.WireNote]
	Left       int      `json:"left,omitempty"`       // episodes that left goroutines behind which is not judged, see [Door]
	LeftAt     string   `json:"left_at,omitempty"`    // where these stood, in one of them
	Barred     []string `json:"barred,omitempty"`     // some calls that would have left the simulated world, with their places
	Rerun      Rerun    `json:"rerun,omitzero"`
	Hash       uint64   `json:"hash"` // covers every step of every episode
}

// Rerun says how many passing episodes were run again, and in how many of them equal choices gave another run.
type Rerun struct {
	Episodes int                `json:"episodes"`
	Differed int                `json:"differed"`
	First    *replay.Divergence `json:"first,omitempty"` // of the first that differed; nil if none did
}

// Part is what came of some episodes of a campaign, as JSON: parts of one campaign add up, in any order and any grouping,
// to what one process would have found, and Config.Conclude of package sim makes the Result of their sum. The zero value is the part
// without episodes.
//
// A copy of a Part shares memory with it: a sum begins with the zero value.
type Part struct {
	Of string `json:"of,omitempty"` // which campaign: parts of another do not add up with it
	Counts
	Struck   []int          `json:"struck,omitempty"`   // in the order of the faults
	Failures int            `json:"failures,omitempty"` // episodes in which a property broke
	Doubt    *Episode       `json:"doubt,omitempty"`    // the first of the undecided
	Differed *Episode       `json:"differed,omitempty"` // the first that differed when it was run again
	Found    []Episode      `json:"found,omitempty"`    // by property, the simplest that broke it; until [AnyProperty] each
	Frozen   string         `json:"frozen,omitempty"`   // why a world stands still
	Ended    string         `json:"ended,omitempty"`    // why not all episodes were run, though none does
	Seen     cover.Coverage `json:"seen,omitzero"`      // nil if it was not measured
}

// Episode is one episode of a [Part]. Executions that are explored have no numbers: theirs is -1.
type Episode struct {
	Property string        `json:"property,omitempty"`
	Message  string        `json:"message,omitempty"`
	First    int           `json:"first,omitempty"` // of those that broke the property
	Times    int           `json:"times,omitempty"` // that it was broken; 0 where the first ends the campaign, 1 if all are kept
	Episode  int           `json:"episode"`
	Choices  world.Choices `json:"choices,omitempty"`
	Price    []int         `json:"price,omitempty"` // the lowest is kept: how many faults there may be comes first
}

// Unnumbered is the number of an execution that is explored.
const Unnumbered = -1

// AnyProperty stands for every property where one is named until whose violation a campaign runs.
const AnyProperty = "any property"

// ErrPart is the error of a part that is not of the campaign, or is none.
var ErrPart = errors.New("sim: it is no part of the campaign")

// Add adds what came of other episodes. The error is [ErrPart], and the part is as it was then.
func (p *Part) Add(q Part) error {
	if p.Of != "" && q.Of != "" && p.Of != q.Of {
		return fmt.Errorf("%w: one is of %s, and one of %s", ErrPart, p.Of, q.Of)
	}
	for _, part := range []*Part{p, &q} {
		if err := part.check(); err != nil {
			return err
		}
	}
	p.Of = cmp.Or(p.Of, q.Of)
	p.Episodes += q.Episodes
	p.Steps += q.Steps
	p.Operations += q.Operations
	p.Refused += q.Refused
	p.NotJudged = WithNames(p.NotJudged, q.NotJudged...)
	p.Hash += q.Hash
	if p.Struck == nil && q.Struck != nil {
		p.Struck = make([]int, world.FaultCount)
	}
	for i, n := range q.Struck {
		p.Struck[i] += n
	}
	p.Failures += q.Failures
	p.doubt(q.Undecided, q.Doubt)
	p.Rerun.Episodes += q.Rerun.Episodes
	p.Differ(q.Rerun.Differed, q.Differed)
	p.leave(q.Wire, q.Left, q.LeftAt)
	p.bar(q.Barred)
	p.Partly += q.Partly
	for _, f := range q.Found {
		p.find(f)
	}
	p.Frozen, p.Ended = Least(p.Frozen, q.Frozen), Least(p.Ended, q.Ended)
	if p.Seen == nil && q.Seen != nil {
		p.Seen = cover.Coverage{}
	}
	p.Seen.Add(q.Seen)
	return nil
}

// check reports whether a part that comes from elsewhere can be added.
func (p *Part) check() error {
	if p.Struck != nil && len(p.Struck) != world.FaultCount {
		return fmt.Errorf("%w: it counts %d faults, and there are %d", ErrPart, len(p.Struck), world.FaultCount)
	}
	return nil
}

// Record adds an episode. Until, if it is not "", is the only property that counts.
func (p *Part) Record(index int, o *world.Run, until string) {
	p.Episodes++
	p.Steps += int64(o.Steps)
	p.Operations += int64(len(o.Ops))
	p.Refused += int64(o.Refused)
	p.NotJudged = WithNames(p.NotJudged, o.NotJudged...)
	if o.Partly {
		p.Partly++
	}
	p.leave(o.Wire, min(len(o.Left), 1), o.Left)
	p.bar(o.Barred)
	p.Hash += digest.Mix(o.Hash ^ digest.Mix(uint64(index)))
	for i, n := range o.Struck {
		p.Struck[i] += n
	}
	if len(o.Violations) > 0 {
		p.Failures++
	} else if o.Unknown != "" {
		first := Episode{Message: o.Unknown, Episode: index, Choices: o.Choices, Price: []int{index}}
		p.doubt(1, &first)
	}
	for i, v := range o.Violations {
		if slices.ContainsFunc(o.Violations[:i], func(u world.Violation) bool { return u.Property == v.Property }) {
			continue
		}
		f := Episode{
			Property: v.Property, Message: v.Message, First: index, Times: 1, Episode: index, Choices: o.Choices,
			Price: slices.Concat([]int{bits.OnesCount16(uint16(o.Allowed))}, world.Cost(o), []int{index}),
		}
		switch until {
		case "":
			p.find(f)
		case v.Property:
			f.Times, f.Price = 0, []int{index}
			p.find(f)
		case AnyProperty:
			p.Found = append(p.Found, f)
		}
	}
}

// find notes an episode that broke a property: the simplest is kept, in whatever order they come.
func (p *Part) find(f Episode) {
	i, known := slices.BinarySearchFunc(p.Found, f.Property, func(g Episode, property string) int {
		return cmp.Compare(g.Property, property)
	})
	if !known {
		p.Found = slices.Insert(p.Found, i, f)
		return
	}
	old := p.Found[i]
	if !f.before(&old) {
		p.Found[i] = old
	} else {
		p.Found[i] = f
	}
	p.Found[i].First, p.Found[i].Times = min(old.First, f.First), old.Times+f.Times
}

// Properties are those that broke.
func (p *Part) Properties() []string {
	var names []string
	for _, f := range p.Found {
		names = append(names, f.Property)
	}
	return names
}

// First is the first of the episodes that were found.
func (p *Part) First() int {
	first := math.MaxInt
	for _, f := range p.Found {
		first = min(first, f.Episode)
	}
	return first
}

// Within is what broke in the first episode that broke anything, and in so many after it: each property by its first episode,
// and in how many.
func (p *Part) Within(episodes int) (all []Episode) {
	byEpisode := slices.SortedStableFunc(slices.Values(p.Found), func(f, g Episode) int { return cmp.Compare(f.Episode, g.Episode) })
	for _, f := range byEpisode {
		if f.Episode-byEpisode[0].Episode > episodes {
			break
		}
		if i := slices.IndexFunc(all, func(g Episode) bool { return g.Property == f.Property }); i >= 0 {
			all[i].Times++
		} else {
			all = append(all, f)
		}
	}
	return all
}

// FoundBeside is what broke beside known properties.
func (p *Part) FoundBeside(known []string) []Episode {
	if len(p.Found) == len(known) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Found), func(f Episode) bool { return slices.Contains(known, f.Property) })
}

// before reports whether an episode is to be kept rather than another. Those of equal price are executions without numbers.
func (f *Episode) before(g *Episode) bool {
	return cmp.Or(slices.Compare(f.Price, g.Price), slices.Compare(f.Choices, g.Choices)) < 0
}

// firstOf returns the one to be kept of two episodes, each nil if there is none.
func firstOf(f, g *Episode) *Episode {
	if f == nil || g != nil && g.before(f) {
		return g
	}
	return f
}

// doubt notes that so many episodes could not be judged, the first of which is given.
func (p *Part) doubt(undecided int, first *Episode) {
	p.Undecided += undecided
	p.Doubt = firstOf(p.Doubt, first)
}

// Reason says why an episode could not be judged, "" if all could.
func (p *Part) Reason() string {
	switch d := p.Doubt; {
	case d == nil:
		return ""
	case d.Episode == Unnumbered:
		return "an execution could not be judged: " + d.Message
	default:
		return fmt.Sprintf("episode %d could not be judged: %s", d.Episode, d.Message)
	}
}

// Differ notes that so many episodes differed when they were run again, the first of which is given.
func (p *Part) Differ(differed int, first *Episode) {
	p.Rerun.Differed += differed
	p.Differed = firstOf(p.Differed, first)
}

// leave notes episodes over the wire, and how many of them have left goroutines behind.
func (p *Part) leave(wire bool, left int, at string) {
	p.Wire = p.Wire || wire
	p.Left, p.LeftAt = p.Left+left, Least(p.LeftAt, at)
}

// barredMax is how many calls that were barred are told.
const barredMax = 10

// bar notes calls that were barred: those that come first.
func (p *Part) bar(calls []string) {
	p.Barred = WithNames(p.Barred, calls...)
	p.Barred = p.Barred[:min(len(p.Barred), barredMax)]
}

// Least returns the one of two texts that comes first, "" being none.
func Least(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// WithNames adds names to a list in alphabetical order that has each once.
func WithNames(list []string, names ...string) []string {
	for _, name := range names {
		if i, noted := slices.BinarySearch(list, name); !noted {
			list = slices.Insert(list, i, name)
		}
	}
	return list
}
