package sim

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// RunPart runs some episodes of a campaign, whose number config need not say: those from a number on, so many. Nothing is
// minimised.
//
// If ctx ends before all of them have been run the error is its error, and the part has those that were.
func (config Config) RunPart(ctx context.Context, workload world.Workload, from, episodes int) (tally.Part, error) {
	if from < 0 || episodes < 0 {
		return tally.Part{}, fmt.Errorf("%w: %d episodes from number %d on", ErrConfig, episodes, from)
	}
	config.Episodes, config.Duration, config.Elsewhere = cmp.Or(from+episodes, 1), 0, nil
	c, err := newCampaign(workload, config)
	if err != nil {
		return tally.Part{}, err
	}
	c.ctx = ctx
	if c.from = from; episodes > 0 {
		c.run(ctx)
	}
	if err := ctx.Err(); err != nil && c.part.Episodes < episodes {
		return c.part, err
	}
	return c.part, nil
}

// Conclude makes the result of a campaign whose parts add up to a part, as [Run] does: it minimises what was found, and
// looks for what differed. The result's Elapsed is the time that this takes. The error is for a campaign that cannot be
// run as asked for, and for a part of another ([tally.ErrPart]).
func (config Config) Conclude(ctx context.Context, workload world.Workload, part tally.Part) (Result, error) {
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

// of says which campaign it is: what the sums of its parts depend on.
func (c *campaign) of() string {
	cfg := c.cfg
	text := fmt.Sprintf("%s (%s), strategy %s: faults %v, %d clients, %d operations, exact %v, once %v, "+
		"over the wire %v, until %q", c.workload.Name(), c.workload.Recipe(), cfg.Strategy, cfg.Faults, cfg.Clients,
		cfg.Ops, bubble.Exact, cfg.Once, c.workload.Terms().Door.Wired(), cfg.Until)
	text += fmt.Sprintf(", seed %d", cfg.Seed)
	if cfg.Strategy == draw.Near {
		text += fmt.Sprintf(", near %d known ones (%016x)", len(cfg.Near), draw.DigestOf(cfg.Near))
	}
	if cfg.Coverage {
		text += ", coverage"
	}
	return text
}

// elsewhereChunk is how many episodes another process runs at a time: a tenth of a second's.
const elsewhereChunk = 64

// workElsewhere lets another process run episodes, as one of several workers that share next.
func (c *campaign) workElsewhere(ctx, stop context.Context, next *atomic.Int64) {
	for ctx.Err() == nil && stop.Err() == nil {
		from := int(next.Add(elsewhereChunk)) - elsewhereChunk
		if from >= c.cfg.Episodes || int64(from) > c.last.Load() {
			return
		}
		p, err := c.cfg.Elsewhere(ctx, from, min(elsewhereChunk, c.cfg.Episodes-from))
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
func (c *campaign) add(p tally.Part) error {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Lock()
	known := c.part.Properties()
	err := c.part.Add(p)
	c.bound()
	found := c.part.FoundBeside(known)
	c.mu.Unlock()
	c.tell(found)
	return err
}
