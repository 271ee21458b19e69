package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// bug is a mistake in a recipe that was published, and how it shows.
type bug struct {
	id, title      string
	kind, recipe   string
	property       string // that it breaks
	faults         string // that it needs
	clients, steps int    // the minimal story may have at most so many; 0: any number
}

const (
	writeLock        = "published/WriteLock"
	distributedQueue = "published/DistributedQueue"
)

// bugs are hunted in this order. The ids are those of the comments BUG: in zoo/published.
var bugs = []bug{
	{"W1", "the predecessor vanishes between list and watch: nobody wakes the waiter", "lock", writeLock, "lost-wakeup", "none", 2, 12},
	{"W2", "names are compared by session before sequence: a later client is first too", "lock", writeLock, "exclusion", "none", 2, 12},
	{"W3", "two locks of one session adopt each other's znode", "lock", writeLock, "exclusion-in-session", "none", 0, 0},
	{"W5", "a delete that fails is forgotten: the znode stays", "lock", writeLock, "orphan", "loss", 0, 0},
	{"W7", "an owner is not told that its session has expired", "lock", writeLock, "belief", "expiry", 0, 0},
	{"W8", "the search after a lost create reads a stale server: the client queues behind itself", "lock", writeLock, "self-block", "loss,lag", 0, 0},
	{"DQ1", "two clients create the missing root: the loser's offer fails", "queue", distributedQueue, "unexpected-error", "none", 0, 0},
	{"DQ2", "a delete whose reply is lost: the item is gone and nobody got it", "queue", distributedQueue, "lost", "loss", 0, 0},
	{"DQ5", "the root is made anew and numbers start again: a stale name takes a new item", "queue", distributedQueue, "duplicate", "reap", 0, 0},
	{"DQ6", "the sequence number wraps: the newest item comes out first", "queue", distributedQueue, "order", "wrap", 0, 0},
	{"DQ7", "a stale server shows an empty queue", "queue", distributedQueue, "false-empty", "lag", 0, 0},
}

const (
	huntSeed     = 1
	huntEpisodes = 20_000 // in which a bug must be found
)

// hunt runs a campaign and returns the smallest story of the bug.
func (b bug) hunt(ctx context.Context, episodes int) (*sim.Found, error) {
	w, err := workload.Find(b.kind, b.recipe)
	if err != nil {
		return nil, err
	}
	faults, err := sim.ParseFaults(b.faults)
	if err != nil {
		return nil, err
	}
	r, err := sim.Run(ctx, w, sim.Config{Episodes: episodes, Seed: huntSeed, Faults: faults, NoFaultsAtAll: true})
	if err != nil {
		return nil, err
	}
	for i := range r.Violations {
		if r.Violations[i].Property == b.property {
			return b.judge(&r.Violations[i])
		}
	}
	return nil, fmt.Errorf("%w: %s was not found in %d episodes", errUnexpected, b.id, episodes)
}

// judge tells whether the story is as small as it has to be.
func (b bug) judge(f *sim.Found) (*sim.Found, error) {
	if b.clients > 0 && f.Clients > b.clients || b.steps > 0 && f.Steps > b.steps {
		return f, fmt.Errorf("%w: %s was minimised to %d clients and %d steps only, wanted are %d and %d", errUnexpected, b.id, f.Clients, f.Steps, b.clients, b.steps)
	}
	return f, nil
}

// huntOne is `make bug-ID`.
func huntOne(ctx context.Context, id string) error {
	for _, b := range bugs {
		if !strings.EqualFold(b.id, id) {
			continue
		}
		f, err := b.hunt(ctx, huntEpisodes)
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "%s found: %s\n\nVIOLATION of %s: %s\n\n%s\n\nfirst in episode %d of seed %d with --faults %s; minimised to %d clients, %d faults, %d steps\n",
			b.id, b.title, f.Property, f.Message, strings.Join(sim.Lines(f.Trace), "\n"), f.Episode, huntSeed, b.faults, f.Clients, f.Faults, f.Steps)
		return nil
	}
	return fmt.Errorf("no bug is called %q: there are %s", id, strings.Join(bugIDs(), ", "))
}

func bugIDs() (ids []string) {
	for _, b := range bugs {
		ids = append(ids, b.id)
	}
	return ids
}

func measureBugs(ctx context.Context, p *page) error {
	p.line("# Published bugs, and how soon they are found")
	p.line("")
	p.line("Each bug is hunted with only the faults that it needs, seed %d, in %s episodes. *Episodes* is how", huntSeed, number(huntEpisodes))
	p.line("many were run until the property first broke; the rest is the size of the smallest story.")
	p.line("The same by hand: `make bug-W1`.")
	p.line("")
	p.table("bug", "what is wrong", "recipe", "faults", "property broken", "episodes", "clients", "faults struck", "steps")
	var problem error
	for _, b := range bugs {
		f, err := b.hunt(ctx, huntEpisodes)
		switch {
		case f != nil:
			p.row(b.id, b.title, b.recipe, b.faults, b.property, number(f.Episode+1), f.Clients, f.Faults, f.Steps)
		case err != nil:
			p.row(b.id, b.title, b.recipe, b.faults, b.property, "not found", "", "", "")
		}
		if err != nil {
			problem = err
		}
	}
	return problem
}
