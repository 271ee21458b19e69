package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zktorture/zktorture/internal/digest"
)

// Part is what came of some episodes of a campaign, as JSON: parts of one campaign add up, in any order and any grouping,
// to what one process would have found, and [Conclude] makes the [Result] of their sum. The zero value is the part
// without episodes.
//
// A copy of a Part shares memory with it: a sum begins with the zero value.
type Part struct {
	Of          string                     `json:"of,omitempty"` // which campaign: parts of another do not add up with it
	Episodes    int                        `json:"episodes"`
	Steps       int64                      `json:"steps"`
	Operations  int64                      `json:"operations"`
	Refused     int64                      `json:"refused,omitempty"`
	NotJudged   []string                   `json:"not_judged,omitempty"`
	Hash        uint64                     `json:"hash"`
	Struck      []int                      `json:"struck,omitempty"` // in the order of the faults
	Sensitivity Sensitivity                `json:"strength"`
	Failures    int                        `json:"failures,omitempty"` // episodes in which a property broke
	Undecided   int                        `json:"undecided,omitempty"`
	Doubt       *PartEpisode               `json:"doubt,omitempty"` // the first of the undecided
	Disputed    map[string]json.RawMessage `json:"disputed,omitempty"`
	Rerun       Rerun                      `json:"rerun"`
	Differed    *PartEpisode               `json:"differed,omitempty"` // the first that differed when it was run again
	Wire        bool                       `json:"wire,omitempty"`
	Partly      int                        `json:"partly,omitempty"`
	Left        int                        `json:"left,omitempty"`
	LeftAt      string                     `json:"left_at,omitempty"`
	Found       []PartEpisode              `json:"found,omitempty"`  // by property, the simplest that broke it
	Frozen      string                     `json:"frozen,omitempty"` // why a world stands still
	Ended       string                     `json:"ended,omitempty"`  // why not all episodes were run, though none does
	Search      *PartSearch                `json:"search,omitempty"` // of strategy exhaustive
	Seen        *sights                    `json:"seen,omitempty"`   // what [Coverage] is made of
}

// PartEpisode is one episode of a [Part]. Executions of a search have no numbers: theirs is -1.
type PartEpisode struct {
	Property string  `json:"property,omitempty"`
	Message  string  `json:"message,omitempty"`
	First    int     `json:"first,omitempty"` // of those that broke the property
	Times    int     `json:"times,omitempty"` // that it was broken; 0 where the first ends the campaign
	Episode  int     `json:"episode"`
	Choices  Choices `json:"choices,omitempty"`
	Price    []int   `json:"price,omitempty"` // the lowest is kept
}

// unnumbered is the number of an execution of a search: which one comes first depends on how the search is cut.
const unnumbered = -1

// ErrPart is the error of a part that is not of the campaign, or is none.
var ErrPart = errors.New("sim: it is no part of the campaign")

// RunPart runs some episodes of a campaign, whose number config need not say: those from a number on, so many. Nothing is
// minimised. Of strategy exhaustive the parts are the shares that config says, and from and episodes are 0.
//
// If ctx ends before all of them have been run the error is its error, and the part has those that were.
func RunPart(ctx context.Context, workload Workload, config Config, from, episodes int) (Part, error) {
	if from < 0 || episodes < 0 || config.Strategy == Exhaustive && from+episodes > 0 {
		return Part{}, fmt.Errorf("%w: %d episodes from number %d on, strategy %s", ErrConfig, episodes, from,
			config.Strategy)
	}
	if config.Strategy != Exhaustive {
		config.Episodes = cmp.Or(from+episodes, 1)
	}
	config.Duration, config.Elsewhere = 0, nil
	c, err := newCampaign(workload, config)
	if err != nil {
		return Part{}, err
	}
	c.ctx = ctx
	if c.from = from; episodes > 0 || c.cfg.Strategy == Exhaustive {
		c.run(ctx)
	}
	if err := ctx.Err(); err != nil && !c.whole(episodes) {
		return c.part, err
	}
	return c.part, nil
}

// whole tells whether so many episodes were run, or a search has come to its end.
func (c *campaign) whole(episodes int) bool {
	if c.search != nil {
		return c.search.complete
	}
	return c.part.Episodes >= episodes
}

// Conclude makes the result of a campaign whose parts add up to a part, as [Run] does: it minimises what was found, and
// looks for what differed. The result's Elapsed is the time that this takes. The error is for a campaign that cannot be
// run as asked for, and for a part of another ([ErrPart]).
func Conclude(ctx context.Context, workload Workload, config Config, part Part) (Result, error) {
	c, err := newCampaign(workload, config)
	if err != nil {
		return Result{}, err
	}
	if err := c.part.Add(part); err != nil {
		return Result{}, err
	}
	if config.Episodes == 0 {
		c.cfg.Episodes = part.Episodes
	}
	return c.conclude(ctx), nil
}

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
	p.NotJudged = withNames(p.NotJudged, q.NotJudged...)
	p.Hash += q.Hash
	if p.Struck == nil && q.Struck != nil {
		p.Struck = make([]int, faultCount)
	}
	for i, n := range q.Struck {
		p.Struck[i] += n
	}
	p.Sensitivity.add(q.Sensitivity)
	p.Failures += q.Failures
	p.doubt(q.Undecided, q.Doubt, q.Disputed)
	p.Rerun.Episodes += q.Rerun.Episodes
	p.differ(q.Rerun.Differed, q.Differed)
	p.leave(q.Wire, q.Left, q.LeftAt)
	p.Partly += q.Partly
	for _, f := range q.Found {
		p.find(f)
	}
	p.Frozen, p.Ended = least(p.Frozen, q.Frozen), least(p.Ended, q.Ended)
	p.Search = p.Search.plus(q.Search)
	if p.Seen == nil && q.Seen != nil {
		p.Seen = newSights(q.Seen.States.Most)
	}
	if q.Seen != nil {
		p.Seen.add(q.Seen)
	}
	return nil
}

// check tells whether a part that comes from elsewhere can be added.
func (p *Part) check() error {
	switch {
	case p.Struck != nil && len(p.Struck) != faultCount:
		return fmt.Errorf("%w: it counts %d faults, and there are %d", ErrPart, len(p.Struck), faultCount)
	case p.Seen != nil && !p.Seen.sound():
		return fmt.Errorf("%w: what it has seen is incomplete", ErrPart)
	}
	return nil
}

// record adds an episode. Until, if it is not "", is the only property that counts.
func (p *Part) record(index int, o *outcome, until string) {
	p.Episodes++
	p.Steps += int64(o.steps)
	p.Operations += int64(len(o.ops))
	p.Refused += int64(o.Refused)
	p.NotJudged = withNames(p.NotJudged, o.NotJudged...)
	if o.Partly {
		p.Partly++
	}
	p.leave(o.wire, min(len(o.left), 1), o.left)
	p.Hash += digest.Mix(o.hash ^ digest.Mix(uint64(index)))
	for i, n := range o.struck {
		p.Struck[i] += n
	}
	p.Sensitivity.add(o.sensitivity)
	if len(o.Violations) > 0 {
		p.Failures++
	} else if o.Unknown != "" {
		first := PartEpisode{Message: o.Unknown, Episode: index, Choices: o.choices, Price: []int{index}}
		p.doubt(1, &first, o.RawDisputed())
	}
	for i, v := range o.Violations {
		if slices.ContainsFunc(o.Violations[:i], func(u Violation) bool { return u.Property == v.Property }) {
			continue
		}
		f := PartEpisode{Property: v.Property, Message: v.Message, First: index, Episode: index, Choices: o.choices}
		switch until {
		case "":
			f.Times, f.Price = 1, append(cost(o), index)
			p.find(f)
		case v.Property:
			f.Price = []int{index}
			p.find(f)
		}
	}
}

// find notes an episode that broke a property: the simplest is kept, in whatever order they come.
func (p *Part) find(f PartEpisode) {
	i, known := slices.BinarySearchFunc(p.Found, f.Property, func(g PartEpisode, property string) int {
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

// properties are those that broke.
func (p *Part) properties() []string {
	var names []string
	for _, f := range p.Found {
		names = append(names, f.Property)
	}
	return names
}

// foundBeside is what broke beside known properties.
func (p *Part) foundBeside(known []string) []PartEpisode {
	if len(p.Found) == len(known) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(p.Found), func(f PartEpisode) bool { return slices.Contains(known, f.Property) })
}

// before tells whether an episode is to be kept rather than another. Those of equal price are executions of a search.
func (f *PartEpisode) before(g *PartEpisode) bool {
	return cmp.Or(slices.Compare(f.Price, g.Price), slices.Compare(f.Choices, g.Choices)) < 0
}

// firstOf returns the one to be kept of two episodes, each nil if there is none.
func firstOf(f, g *PartEpisode) *PartEpisode {
	if f == nil || g != nil && g.before(f) {
		return g
	}
	return f
}

// doubt notes that so many episodes could not be judged, the first of which is given.
func (p *Part) doubt(undecided int, first *PartEpisode, disputed map[string]json.RawMessage) {
	p.Undecided += undecided
	if old := p.Doubt; firstOf(old, first) != old {
		p.Doubt, p.Disputed = first, disputed
	}
}

// reason says why an episode could not be judged, "" if all could.
func (p *Part) reason() string {
	switch d := p.Doubt; {
	case d == nil:
		return ""
	case d.Episode == unnumbered:
		return "an execution could not be judged: " + d.Message
	default:
		return fmt.Sprintf("episode %d could not be judged: %s", d.Episode, d.Message)
	}
}

// differ notes that so many episodes differed when they were run again, the first of which is given.
func (p *Part) differ(differed int, first *PartEpisode) {
	p.Rerun.Differed += differed
	p.Differed = firstOf(p.Differed, first)
}

// leave notes episodes over the wire, and how many of them have left goroutines behind.
func (p *Part) leave(wire bool, left int, at string) {
	p.Wire = p.Wire || wire
	p.Left, p.LeftAt = p.Left+left, least(p.LeftAt, at)
}

// least returns the one of two texts that comes first, "" being none.
func least(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// withNames adds names to a list in alphabetical order that has each once.
func withNames(list []string, names ...string) []string {
	for _, name := range names {
		if i, noted := slices.BinarySearch(list, name); !noted {
			list = slices.Insert(list, i, name)
		}
	}
	return list
}

// RawDisputed is Disputed as JSON.
func (j *Judgement) RawDisputed() map[string]json.RawMessage {
	if j.Disputed == nil {
		return nil
	}
	raw := map[string]json.RawMessage{}
	for name, input := range j.Disputed {
		text, err := json.Marshal(input)
		if err != nil {
			text, _ = json.Marshal(err.Error())
		}
		raw[name] = text
	}
	return raw
}

// of says which campaign it is: what the sums of its parts depend on.
func (c *campaign) of() string {
	cfg := c.cfg
	text := fmt.Sprintf("%s (%s), strategy %s: faults %v, %d clients, %d operations, exact %v, once %v, "+
		"over the wire %v, until %q", c.workload.Name(), c.workload.Recipe(), cfg.Strategy, cfg.Faults, cfg.Clients,
		cfg.Ops, exactBuild, cfg.Once, overWire(c.workload), cfg.Until)
	if cfg.Strategy == Exhaustive {
		return text + fmt.Sprintf(", %d users, at most %d faults, plain %v, without %v, backwards %v, whole %v, %d shares",
			cfg.Users, cfg.AtMost, cfg.Plain, cfg.Without, cfg.Backwards, cfg.Whole, cfg.Shares)
	}
	text += fmt.Sprintf(", seed %d, %d audited", cfg.Seed, cfg.Audit)
	if cfg.Strategy == Near {
		text += fmt.Sprintf(", near %d known ones (%016x)", len(cfg.Near), digestOf(cfg.Near))
	}
	if cfg.Coverage {
		text += fmt.Sprintf(", %d states", cfg.CoverageStates)
	}
	return text
}

// Another process runs so many episodes at a time: a tenth of a second's. Of a sweep it runs the bases before them, too.
const (
	elsewhereChunk = 64
	elsewhereSweep = 512
)

// workElsewhere lets another process run episodes, as one of several workers that share next.
func (c *campaign) workElsewhere(ctx, stop context.Context, next *atomic.Int64) {
	chunk := elsewhereChunk
	if c.cfg.Strategy == Sweep {
		chunk = elsewhereSweep
	}
	for ctx.Err() == nil && stop.Err() == nil {
		from := int(next.Add(int64(chunk))) - chunk
		if from >= c.cfg.Episodes || int64(from) > c.last.Load() {
			return
		}
		p, err := c.cfg.Elsewhere(ctx, from, min(chunk, c.cfg.Episodes-from))
		if err == nil {
			err = c.add(p)
		}
		if err != nil {
			if ctx.Err() == nil {
				c.freeze(err.Error())
			}
			return
		}
	}
}

// add adds a part that another process has run.
func (c *campaign) add(p Part) error {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Lock()
	known := c.part.properties()
	err := c.part.Add(p)
	c.bound()
	found := c.part.foundBeside(known)
	c.mu.Unlock()
	c.tell(found)
	return err
}

// Strikes counts how often each fault struck, if it did.
func (p *Part) Strikes() map[string]int {
	strikes := map[string]int{}
	for f := range EveryFault.Each() {
		if i := f.index(); i < len(p.Struck) && p.Struck[i] > 0 {
			strikes[f.String()] = p.Struck[i]
		}
	}
	return strikes
}

// Covered is what the episodes have covered; nil unless [Config.Coverage] asked for it.
func (p *Part) Covered() *Coverage {
	if p.Seen == nil {
		return nil
	}
	return p.Seen.coverage(p.Episodes)
}
