package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/results/internal/exhaustive"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/audit"
)

const (
	corruptedEpisodes = 2000            // of each recipe
	corruptionsEach   = 10              // of the history of each episode
	noticedMin        = 95              // least percentage of illegal corruptions noticed
	judgeTime         = 4 * time.Second // for one history, as in simulations
)

// subject is one of our recipes whose histories package linearizability judges.
type subject struct {
	entry workload.Entry
	model string
	with  linearizability.Parameters
	// bare omits the tokens of grants, so that only the times identify the holder.
	bare bool
}

func (s subject) name() string {
	if s.bare {
		return s.entry.Recipe + " without tokens"
	}
	return s.entry.Recipe
}

// subjects are our recipes that have a model.
func subjects() (all []subject) {
	for _, e := range workload.Entries() {
		m, has := e.New().Model()
		variant, ours := strings.CutPrefix(e.Recipe, workload.Ours)
		if !ours || !has {
			continue
		}
		s := subject{entry: e, model: m.Name, with: m.Parameters}
		all = append(all, s)
		s.bare = slices.Contains([]string{"lock", "rwlock", "semaphore", "election"}, s.model)
		if s.bare && variant == "" {
			all = append(all, s)
		}
	}
	return all
}

// untokened returns a history without the tokens of grants.
func untokened(h linearizability.History) linearizability.History {
	bare := slices.Clone(h)
	for i := range bare {
		switch op := &bare[i]; {
		case op.Result.IsNull():
		case operations.Of(op.Op).Tries:
			op.Result = linearizability.Bool(true)
		default:
			op.Result = linearizability.Null
		}
	}
	return bare
}

// trial is the result of the corruptions of one recipe's histories, or of one kind of them.
type trial struct {
	Workload, Recipe string

	Histories int
	Disputed  int // histories legal by the judge and illegal by the reference
	Drawn     int
	Doubtful  int // of these, legal by the reference with an operation of unknown outcome
	Changed   int // illegal by the reference
	Noticed   int // of these, violations by the judge
	Puzzled   int // of these, undecided by the judge
	Undecided int // undecided by the reference
	Accused   int // legal by the reference, violations by the judge
	Kinds     map[corruptionKind]*trial
}

// corruptionKind is a kind of corruption and the class of its operations.
type corruptionKind struct{ Kind, Class string }

// Legal counts the corruptions that are legal by the reference.
func (t *trial) Legal() int { return t.Drawn - t.Changed - t.Undecided }

func (t *trial) add(u *trial) {
	t.Histories, t.Disputed, t.Drawn = t.Histories+u.Histories, t.Disputed+u.Disputed, t.Drawn+u.Drawn
	t.Changed, t.Noticed, t.Puzzled = t.Changed+u.Changed, t.Noticed+u.Noticed, t.Puzzled+u.Puzzled
	t.Undecided, t.Accused, t.Doubtful = t.Undecided+u.Undecided, t.Accused+u.Accused, t.Doubtful+u.Doubtful
	for k, part := range u.Kinds {
		t.of(k).add(part)
	}
}

// of returns the trial's part of one kind.
func (t *trial) of(k corruptionKind) *trial {
	if t.Kinds == nil {
		t.Kinds = map[corruptionKind]*trial{}
	}
	if t.Kinds[k] == nil {
		t.Kinds[k] = &trial{}
	}
	return t.Kinds[k]
}

// problem returns an error for a forbidden result of a trial, or nil.
func (t *trial) problem() error {
	switch {
	case t.Disputed > 0:
		return fmt.Errorf("%w: %d histories that passed are illegal by the reference", errUnexpected, t.Disputed)
	case t.Accused > 0:
		return fmt.Errorf("%w: %d corruptions that are legal by the reference were accused", errUnexpected, t.Accused)
	case 100*t.Noticed < noticedMin*t.Changed || t.Changed == 0:
		return fmt.Errorf("%w: of %d corruptions that change the outcome %d were noticed", errUnexpected,
			t.Changed, t.Noticed)
	}
	return nil
}

// run tortures a recipe with all faults, corrupts the histories of the clean episodes, and compares the judge's
// verdicts with the reference's.
func (s subject) run(ctx context.Context, episodes, tries int) (*trial, error) {
	m, err := linearizability.ByName(s.model, s.with)
	if err != nil {
		return nil, err
	}
	passed, err := s.passing(ctx, episodes)
	if err != nil {
		return nil, err
	}
	t := &trial{Workload: s.entry.Kind, Recipe: s.name(), Histories: len(passed)}
	for _, one := range passed {
		t.Disputed += count(s.truth(one.history) == exhaustive.Illegal)
		for c := range audit.Corruptions(m, one.history, one.seed, tries) {
			s.weigh(m, c, t)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return t, nil
}

// pass is the history of a clean episode, with a seed to draw corruptions from.
type pass struct {
	seed    uint64
	history linearizability.History
}

// passing tortures a recipe with all faults and returns its clean episodes.
func (s subject) passing(ctx context.Context, episodes int) (passed []pass, err error) {
	see := func(_, history any, seed uint64, _ int) world.Sensitivity {
		h := history.(linearizability.History)
		if s.bare {
			h = untokened(h)
		}
		passed = append(passed, pass{seed, h})
		return world.Sensitivity{}
	}
	r, err := sim.Run(ctx, s.entry.New(),
		sim.Config{Episodes: episodes, Seed: 1, Faults: world.AllFaults, Workers: 1, Audit: episodes, Auditor: see})
	if err == nil && r.Verdict != sim.VerdictOK {
		err = fmt.Errorf("%w: %s (%s): %s %s", errUnexpected, s.entry.Kind, s.entry.Recipe, r.Verdict, r.Reason)
	}
	return passed, err
}

// truth is the reference's verdict. There is a reference for every model.
func (s subject) truth(h linearizability.History) exhaustive.Answer {
	answer, err := exhaustive.Judge(s.model, s.with, h)
	if err != nil {
		return exhaustive.Undecided
	}
	return answer
}

// weigh adds one corruption to a trial.
func (s subject) weigh(m linearizability.Model, c audit.Corruption, t *trial) {
	truth := s.truth(c.History)
	verdict := linearizability.Worst(linearizability.Check(m, c.History, linearizability.Options{Timeout: judgeTime}))
	illegal, found := truth == exhaustive.Illegal, verdict == linearizability.Violation
	one := &trial{
		Drawn: 1, Changed: count(illegal), Noticed: count(illegal && found),
		Puzzled:   count(illegal && verdict == linearizability.Undetermined),
		Undecided: count(truth == exhaustive.Undecided), Accused: count(truth == exhaustive.Legal && found),
		Doubtful: count(truth == exhaustive.Legal && slices.ContainsFunc(c.History, outcomeUnknown)),
	}
	t.add(one)
	t.of(corruptionKind{c.Kind, classOf(c.Op)}).add(one)
	if illegal && !found || one.Accused > 0 {
		fmt.Fprintf(os.Stderr, "%s (%s), %s of %s: %v by the reference, %v by the judge: %v\n", s.entry.Kind, s.name(),
			c.Kind, c.Op, truth, verdict, c.History)
	}
}

func outcomeUnknown(op linearizability.Operation) bool { return op.Outcome == linearizability.Unknown }

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func measureCorruptions(ctx context.Context) (any, error) {
	total := &trial{Workload: "all"}
	var trials []*trial
	for _, s := range subjects() {
		t, err := s.run(ctx, corruptedEpisodes, corruptionsEach)
		if err != nil {
			return nil, err
		}
		trials = append(trials, t)
		total.add(t)
		fmt.Fprintf(os.Stderr, "%s (%s): %d of %d noticed\n", t.Workload, t.Recipe, t.Noticed, t.Changed)
	}
	legal, problem := survivors(total)
	return facts{
		"Episodes": corruptedEpisodes, "Each": corruptionsEach, "Min": noticedMin, "Trials": append(trials, total),
		"Percent":   100 * float64(total.Noticed) / float64(max(total.Changed, 1)),
		"Unnoticed": total.Changed - total.Noticed,
		"Survivors": legal,
	}, errors.Join(problem, total.problem())
}
