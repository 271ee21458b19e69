package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// bug is a bug in a published recipe, with the property that shows it.
type bug struct {
	ID, Title      string
	Kind, Recipe   string
	Property       string // the broken property
	Faults         string // the faults needed
	clients, steps int    // bounds of the minimal story; 0: none
}

const (
	writeLock        = "published/WriteLock"
	distributedQueue = "published/DistributedQueue"
)

// bugs are hunted in this order. The ids are those of the comments BUG: in zoo/published.
var bugs = []bug{
	{"W1", "the predecessor vanishes between list and watch: nobody wakes the waiter", "lock", writeLock,
		"lost-wakeup", "none", 2, 12},
	{"W2", "names are compared by session before sequence: a later client is first too", "lock", writeLock,
		"exclusion", "none", 2, 12},
	{"W3", "two locks of one session adopt each other's znode", "lock", writeLock,
		"exclusion-in-session", "none", 0, 0},
	{"W5", "a delete that fails is forgotten: the znode stays", "lock", writeLock, "orphan", "loss", 0, 0},
	{"W7", "an owner is not told that its session has expired", "lock", writeLock, "belief", "expiry", 0, 0},
	{"W8", "the search after a lost create reads a stale server: the client queues behind itself", "lock", writeLock,
		"self-block", "loss,lag", 0, 0},
	{"DQ1", "two clients create the missing root: the loser's offer fails", "queue", distributedQueue,
		"unexpected-error", "none", 0, 0},
	{"DQ2", "a delete whose reply is lost: the item is gone and nobody got it", "queue", distributedQueue,
		"lost", "loss", 0, 0},
	{"DQ5", "the root is made anew and numbers start again: a stale name takes a new item", "queue", distributedQueue,
		"duplicate", "reap", 0, 0},
	{"DQ6", "the sequence number wraps: the newest item comes out first", "queue", distributedQueue,
		"order", "wrap", 0, 0},
	{"DQ7", "a stale server shows an empty queue", "queue", distributedQueue, "false-empty", "lag", 0, 0},
}

const (
	huntSeed     = 1
	huntEpisodes = 20_000 // within which a bug must be found
)

// hunt runs a campaign and returns the smallest story of the bug.
func (b bug) hunt(ctx context.Context, episodes int) (*sim.Found, error) {
	w, err := workload.Find(b.Kind, b.Recipe)
	if err != nil {
		return nil, err
	}
	faults, err := sim.ParseFaults(b.Faults)
	if err != nil {
		return nil, err
	}
	r, err := sim.Run(ctx, w, sim.Config{Episodes: episodes, Seed: huntSeed, Faults: faults, NoFaultsAtAll: true})
	if err != nil {
		return nil, err
	}
	for i := range r.Violations {
		if r.Violations[i].Property == b.Property {
			return b.judge(&r.Violations[i])
		}
	}
	return nil, fmt.Errorf("%w: %s was not found in %d episodes", errUnexpected, b.ID, episodes)
}

// judge checks that the story is as small as it must be.
func (b bug) judge(f *sim.Found) (*sim.Found, error) {
	if b.clients > 0 && f.Clients > b.clients || b.steps > 0 && f.Steps > b.steps {
		return f, fmt.Errorf("%w: %s was minimised to %d clients and %d steps only, wanted are %d and %d",
			errUnexpected, b.ID, f.Clients, f.Steps, b.clients, b.steps)
	}
	return f, nil
}

// huntOne is `make bug-ID`.
func huntOne(ctx context.Context, args []string) error {
	i := slices.IndexFunc(bugs, func(b bug) bool { return len(args) == 1 && strings.EqualFold(b.ID, args[0]) })
	if i < 0 {
		return fmt.Errorf("no bug is called %q: there are %s", strings.Join(args, " "),
			strings.Join(names(bugs, func(b bug) string { return b.ID }), ", "))
	}
	b := bugs[i]
	f, err := b.hunt(ctx, huntEpisodes)
	if err != nil {
		return err
	}
	fmt.Printf("%s found: %s\n\nVIOLATION of %s: %s\n\n%s\n\n", b.ID, b.Title, f.Property, f.Message,
		strings.Join(sim.Lines(f.Trace), "\n"))
	fmt.Printf("first in episode %d of seed %d with --faults %s; minimised to %d clients, %d faults, %d steps\n",
		f.Episode, huntSeed, b.Faults, f.Clients, f.Faults, f.Steps)
	return nil
}

// hunted is a bug with its smallest story, nil if it was not found.
type hunted struct {
	bug
	Found *sim.Found
}

func measureBugs(ctx context.Context) (any, error) {
	var all []hunted
	var problems []error
	for _, b := range bugs {
		found, problem := b.hunt(ctx, huntEpisodes)
		all, problems = append(all, hunted{b, found}), append(problems, problem)
	}
	return facts{"Seed": huntSeed, "Episodes": huntEpisodes, "Bugs": all}, errors.Join(problems...)
}
