package sim

import (
	"context"
	"slices"
	"sync/atomic"
)

// Part is what came of some episodes of a campaign, in a form that goes from one process to another. Parts of a campaign
// add up to what one process would have found.
type Part struct {
	Episodes    int            `json:"episodes"`
	Steps       int64          `json:"steps"`
	Operations  int64          `json:"operations"`
	Refused     int64          `json:"refused,omitempty"`
	NotJudged   []string       `json:"not_judged,omitempty"`
	Hash        uint64         `json:"hash"`
	Struck      []int          `json:"struck"`
	Sensitivity Sensitivity    `json:"strength"`
	Failures    int            `json:"failures,omitempty"`
	Undecided   int            `json:"undecided,omitempty"`
	Reason      string         `json:"reason,omitempty"`
	ReasonOf    int            `json:"reason_of,omitempty"` // episode
	Disputed    map[string]any `json:"disputed,omitempty"`
	Rerun       Rerun          `json:"rerun"`
	Wire        bool           `json:"wire,omitempty"`
	Partly      int            `json:"partly,omitempty"`
	Left        int            `json:"left,omitempty"`
	LeftAt      string         `json:"left_at,omitempty"`
	Differed    *PartEpisode   `json:"differed,omitempty"`
	Found       []PartEpisode  `json:"found,omitempty"`
	Frozen      string         `json:"frozen,omitempty"`
	Seen        *sights        `json:"seen,omitempty"` // what [Coverage] is made of
}

// PartEpisode is an episode of a [Part]: the simplest that broke a property, or the first that differed when it was run
// again.
type PartEpisode struct {
	Property string  `json:"property,omitempty"`
	Message  string  `json:"message,omitempty"`
	First    int     `json:"first"` // of those that broke the property
	Times    int     `json:"times"`
	Episode  int     `json:"episode"`
	Choices  Choices `json:"choices"`
	Price    []int   `json:"price,omitempty"`
}

// RunPart runs some episodes of a random campaign, for the process that [Config.Elsewhere] is called in. Nothing is
// minimised.
func RunPart(ctx context.Context, workload Workload, config Config, from, episodes int) (Part, error) {
	config.Episodes, config.Duration, config.Elsewhere = from+episodes, 0, nil
	c, err := newCampaign(workload, config)
	if err != nil {
		return Part{}, err
	}
	c.from = from
	c.run(ctx)
	return c.part(), nil
}

func (c *campaign) part() Part {
	r := &c.result
	p := Part{
		Episodes: r.Episodes, Steps: r.Steps, Operations: r.Operations, Refused: r.Refused, NotJudged: r.NotJudged,
		Hash: r.Hash, Struck: c.struck[:], Sensitivity: r.Sensitivity, Failures: c.failures, Undecided: r.Undecided,
		Reason: r.Reason, ReasonOf: c.firstUnknown, Disputed: r.Disputed, Rerun: r.Rerun, Frozen: c.frozen, Seen: c.seen,
		Wire: r.Wire, Partly: r.Partly, Left: r.Left, LeftAt: r.LeftAt,
	}
	if d := c.differed; d != nil {
		p.Differed = &PartEpisode{Episode: d.episode, Choices: d.choices}
	}
	for _, f := range c.found {
		p.Found = append(p.Found, PartEpisode{f.violation.Property, f.violation.Message, f.first, f.times, f.episode, f.choices, f.price})
	}
	return p
}

// elsewhereChunk is how many episodes another process runs at a time: a tenth of a second's.
const elsewhereChunk = 64

// workElsewhere lets another process run episodes, as one of several workers that share next.
func (c *campaign) workElsewhere(ctx, stop context.Context, next *atomic.Int64) {
	for ctx.Err() == nil && stop.Err() == nil {
		from := int(next.Add(elsewhereChunk) - elsewhereChunk)
		if from >= c.cfg.Episodes || int64(from) > c.last.Load() {
			return
		}
		p, err := c.cfg.Elsewhere(ctx, from, min(elsewhereChunk, c.cfg.Episodes-from))
		if err != nil {
			if ctx.Err() == nil {
				c.freeze(err.Error())
				c.last.Store(-1)
			}
			return
		}
		if p.Frozen != "" {
			c.freeze(p.Frozen)
			c.last.Store(-1)
		}
		c.add(p)
	}
}

// add adds a part to the result, which does not depend on the order of the calls.
func (c *campaign) add(p Part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.result
	r.Episodes += p.Episodes
	r.Steps += p.Steps
	r.Operations += p.Operations
	r.Refused += p.Refused
	r.AddNotJudged(p.NotJudged...)
	r.Partly += p.Partly
	c.addLeft(p.Wire, p.Left, p.LeftAt)
	r.Hash += p.Hash
	for i, n := range p.Struck {
		c.struck[i] += n
	}
	r.Sensitivity.add(p.Sensitivity)
	c.failures += p.Failures
	if p.Undecided > 0 && (r.Reason == "" || p.ReasonOf < c.firstUnknown) {
		c.firstUnknown, r.Reason, r.Disputed = p.ReasonOf, p.Reason, p.Disputed
	}
	r.Undecided += p.Undecided
	r.Rerun.Episodes += p.Rerun.Episodes
	r.Rerun.Differed += p.Rerun.Differed
	if d := p.Differed; d != nil && (c.differed == nil || d.Episode < c.differed.episode) {
		c.differed = &candidate{episode: d.Episode, choices: d.Choices}
	}
	for _, f := range p.Found {
		c.addFound(f)
	}
	if c.seen != nil && p.Seen != nil {
		c.seen.add(p.Seen)
	}
}

// addFound keeps the simpler one of two episodes that break a property, or, where that ends the campaign, the first.
func (c *campaign) addFound(f PartEpisode) {
	old := c.found[f.Property]
	found := &candidate{f.First, f.Times, f.Episode, Violation{Property: f.Property, Message: f.Message}, f.Choices, f.Price}
	switch {
	case old == nil:
	case c.cfg.Until != "" && old.episode <= f.Episode:
		return
	case c.cfg.Until == "":
		if slices.Compare(old.price, f.Price) <= 0 {
			found.episode, found.violation, found.choices, found.price = old.episode, old.violation, old.choices, old.price
		}
		found.first, found.times = min(old.first, f.First), old.times+f.Times
	}
	if c.cfg.Until != "" {
		c.last.Store(int64(f.Episode))
	}
	c.found[f.Property] = found
}
