// Package certify checks what an exhaustive search says that it saw, by a file of all states and steps. It has no code in
// common with the search, but for the world in which both run: a mistake in how the search remembers, merges states or
// leaves steps out shows as a difference.
//
// By the file alone it checks that the set of states is closed: each has steps, and these lead to states of the set or to
// the end. Of the steps it draws some, and runs each from the beginning along the file's path. The state before it must be
// the file's, what can happen there must be what the file has, but for what the rules of the search leave out, which it
// states anew (rules.go), and the state after it must be the file's; of an end nothing must break. Where a newcomer
// leaves a step to an equal one the file must have that one's step in its place.
package certify

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/prove/internal/steps"
	"github.com/zktorture/zktorture/sim/world"
)

// Claim is what a search says, of COMPLETE and no violation: its bound, and what it saw.
type Claim struct {
	Clients, Users, Ops, AtMost int
	Faults                      world.Faults
	Plain                       bool

	States, Ends, Runs int
	Digest             string
}

// Executions are how many a check draws by default: it takes at most a fifth of the search's time, of which looking up
// what is remembered of 32 states counts as a run.
func (c *Claim) Executions() int { return max(1, (c.Runs+c.States/32)/5) }

// Report is what was checked of a claim that holds.
type Report struct {
	States     int
	Steps      int // of the file
	Executions int
	Executed   int  // steps of these
	All        bool // each step of the file was
}

// Wrong is the number of steps, of 10,000 of the file, of which fewer are wrong with 99 % confidence: as many are drawn
// independently, all of which agree, with a probability of 1 % if so many are wrong.
func (r Report) Wrong() float64 {
	if r.All {
		return 0
	}
	return 10_000 * (1 - math.Pow(0.01, 1/float64(r.Executions)))
}

func (r Report) String() string {
	text := fmt.Sprintf("closed: %d of %[1]d states have all successors in the set (by the file); %d executions of %d steps agreed with it",
		r.States, r.Executions, r.Executed)
	if r.All {
		return fmt.Sprintf("%s: all of its %d steps", text, r.Steps)
	}
	return fmt.Sprintf("%s: so with 99 %% confidence fewer than %.3g of 10,000 of its %d steps are wrong", text, r.Wrong(), r.Steps)
}

// ErrRefuted is the error of a file that is not what a search can have seen; any other says why it could not be checked.
var ErrRefuted = errors.New("the steps are refuted")

func refuted(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefuted, fmt.Sprintf(format, args...))
}

// Check checks a claim by its file, with so many executions drawn from a seed.
func Check(ctx context.Context, w world.Workload, claim Claim, set *steps.Set, executions int, seed uint64) (Report, error) {
	if err := closed(set, &claim); err != nil {
		return Report{}, err
	}
	r := Report{States: len(set.Keys), Steps: len(set.All), Executions: executions}
	if r.All = executions >= r.Steps; r.All {
		r.Executions = r.Steps
	}
	draw := rand.New(rand.NewPCG(seed, 0))
	serial := runner.Alone(ctx, w)
	for i := range r.Executions {
		if !r.All {
			i = draw.IntN(r.Steps)
		}
		p := &player{Set: set, claim: &claim, path: set.PathTo(i), left: claim.AtMost}
		if err := p.play(ctx, serial); err != nil {
			return r, fmt.Errorf("%w, in step %d of the file", err, i)
		}
		r.Executed += len(p.path)
	}
	return r, nil
}

// closed checks what the file alone says.
func closed(s *steps.Set, claim *Claim) error {
	var sum uint64
	ends := map[int32]bool{}
	for _, key := range s.Keys {
		sum += digest.Mix(key)
	}
	for i := range s.All {
		if t := &s.All[i]; t.To == steps.End {
			ends[t.From] = true
		}
	}
	switch {
	case len(s.SetUps) == 0:
		return refuted("no episode begins")
	case ends[steps.Start]:
		return refuted("an episode ends before it begins")
	case len(s.First) < len(s.Keys):
		return refuted("the set is not closed: nothing follows from state %d of %d", len(s.First), len(s.Keys))
	case len(s.Keys) != claim.States || digest.Hex(sum) != claim.Digest:
		return refuted("it has %d states of digest %s, and the certificate %d of %s", len(s.Keys), digest.Hex(sum), claim.States,
			claim.Digest)
	case len(ends) != claim.Ends:
		return refuted("it has %d ends, and the certificate %d", len(ends), claim.Ends)
	}
	return nil
}

// player runs an execution along a path, and checks its last step. It is the source of its run.
type player struct {
	world.Blind
	*steps.Set
	claim *Claim
	path  []*steps.Step

	view *world.View
	met  int   // states that it has come to: path[met] is under way
	at   int   // choices within that that were made
	made []int // choices of the set-up
	left int   // faults that may still strike
	kind int   // the fault that strikes, by its number

	planned          bool
	ofExtent, ofPart bool
	plan             uint64
	plans            []uint64
	past             past
	waits, been      uint64 // clients, see rules.go
}

// errAgrees ends an execution whose last step leads to where the file says.
var errAgrees = errors.New("it agrees")

func (p *player) play(ctx context.Context, serial *runner.Serial) error {
	terms := runner.Terms{Faults: p.claim.Faults, Clients: p.claim.Clients, Ops: p.claim.Ops}
	cfg := terms.Episode(p)
	cfg.Keeps, cfg.Exact = true, false
	o := serial.Run(cfg)
	switch err, failed := o.Aborted.(error); {
	case serial.Frozen != nil:
		return serial.Frozen
	case ctx.Err() != nil:
		return fmt.Errorf("it could not be checked: %w", ctx.Err())
	case failed && err == errAgrees:
		return nil
	case failed:
		return err
	case p.met < len(p.path)-1 || p.last().To != steps.End:
		return refuted("the torture phase ends after %d of %d steps", p.met, len(p.path))
	case len(o.Violations) > 0:
		return refuted("%s: %s", o.Violations[0].Property, o.Violations[0].Message)
	case o.Unknown != "":
		return refuted("an end cannot be judged: %s", o.Unknown)
	}
	return nil
}

func (p *player) last() *steps.Step { return p.path[len(p.path)-1] }

// refute ends an execution that is another than the file says.
func (p *player) refute(format string, args ...any) {
	world.GiveUp(refuted("%s, after %d of %d steps", fmt.Sprintf(format, args...), p.met, len(p.path)))
}

// Arrives implements [world.Observer].
func (p *player) Arrives(w *world.View) {
	p.view, p.at = w, 0
	for _, m := range w.History() {
		p.past.add(m)
	}
	if !w.Outage() {
		p.waits = 0
	}
	if p.been |= w.AllAtDeposed(); w.Servers().Deposed() < 0 {
		p.been = 0
	}
	if p.met++; p.met < len(p.path)-1 {
		return
	}
	at := p.path[p.met-1].To
	key, finished := p.key()
	switch last := p.met == len(p.path); {
	case at == steps.End:
		p.refute("the torture phase goes on")
	case key != p.Keys[at]:
		p.refute("the state is %x, and the file's state %d is %x", key, at, p.Keys[at])
	case last:
		world.GiveUp(errAgrees)
	default:
		p.compare(p.offers(finished), at)
	}
}

// compare compares what can happen in a state with what the file has.
func (p *player) compare(can []string, at int32) {
	var has []string
	for _, t := range p.Of(at) {
		has = append(has, p.Deeds[t.Deed])
	}
	for _, d := range slices.Concat(can, has) {
		switch {
		case !slices.Contains(has, d):
			p.refute("%s can happen in state %d, and the file has no such step", d, at)
		case !slices.Contains(can, d):
			p.refute("%s of the file cannot happen in state %d", d, at)
		}
	}
}

// Choose implements [world.Source].
func (p *player) Choose(n int, label string) (v int) {
	var what string
	var t steps.Step
	var fault, variant int
	if p.met < len(p.path) {
		t = *p.path[p.met]
		fault, variant, what = steps.Parse(p.Deeds[t.Deed])
	}
	switch {
	case p.met > 0 && label == world.LabelFault:
		v = fault
	case p.met > 0 && label == world.LabelTarget:
		v = slices.IndexFunc(p.view.Targets(), func(t world.Target) bool { return fmt.Sprint(t) == what })
	case p.met > 0 && label == world.LabelVariant:
		v = variant
	case p.met > 0 && label == world.LabelNext:
		v = slices.IndexFunc(p.view.Actions(), func(a world.Action) bool { return fault == 0 && fmt.Sprint(a) == what })
	case p.at < len(t.Inner):
		if v = t.Inner[p.at]; p.met == len(p.path)-1 {
			p.compareInner(&t, n, label)
		}
		p.at++
	default:
		p.refute("the file has no answer to %q", label)
	}
	if v < 0 || v >= n {
		p.refute("%d %d %s cannot happen", fault, variant, what)
	}
	p.chosen(v, label)
	return v
}

// compareInner compares the options of a choice within a step with those that steps of the file have that are the same up
// to there.
func (p *player) compareInner(t *steps.Step, n int, label string) {
	var has []int
	for _, other := range p.Of(t.From) {
		if same := min(p.at, len(other.Inner)); other.Deed == t.Deed && slices.Equal(other.Inner[:same], t.Inner[:p.at]) {
			if p.at == len(other.Inner) {
				p.refute("one step of the file asks for %q, and its like does not", label)
			}
			has = append(has, other.Inner[p.at])
		}
	}
	slices.Sort(has)
	can := p.options(n, label)
	slices.Sort(can)
	if has = slices.Compact(has); !slices.Equal(has, can) {
		p.refute("of %d answers to %q a search takes %v, and the file has %v", n, label, can, has)
	}
}
