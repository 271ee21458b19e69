package workload

// The locking queue workload.
//
// Clients offer values, each a different one; they claim items, apply each to a sink that all share, and then finish
// the claim: done, or given back. A third of the claims take time, as a lock's holds do. They wait, try, give up, crash
// and come back. When all have finished, one of them goes on until nothing comes any more.
//
// The sink stands for a consumer's database. It is told the token of each item, if the recipe has tokens, and skips an
// item whose token it knows.
//
// Under pause, expiry and crash a holder that has not been told of its expiry may be at work on an item beside the
// next one. That is no violation of exclusion: it is what tokens are for.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// lockingQueueKind is the table's line for this kind, see [Kind].
var lockingQueueKind = Kind{
	Name: "lockingqueue",
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "no two clients hold a claim on one item while both sessions are alive"},
		{Names: []string{"lost"}, Text: "every item is consumed at least once, even if clients die"},
		{
			Names: []string{"duplicate", "phantom"},
			Text:  "no item is claimed after it was marked done, or without having been offered",
		},
		{Names: []string{"once"}, Text: "a sink that skips known tokens applies each item once"},
		{Names: []string{"order", "false-empty"}, Text: "no call passes over an item that was free during the whole call"},
		sober("the holder"),
		{Names: []string{"progress"}, Text: "a claim returns when there is something to claim"},
		busy, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		lockingQueueEntry(Ours, "recipes.LockingQueue: at least once, with tokens that make it once",
			func(c recipes.Conn, path string) LockingQueuer {
				return ourLockingQueue{recipes.NewLockingQueue(c, path)}
			}),
	},
}

var lockingQueueEntry = entries("lockingqueue", LockingQueue)

// LockingQueuer is a locking queue as the workload uses it: Claim waits for an item. A recipe may also have
//
//	TryClaim(context.Context) (Claimed, error) // ErrEmpty when nothing is free
//
// and is then checked in that too.
type LockingQueuer interface {
	Offer(ctx context.Context, data []byte) error
	Claim(context.Context) (Claimed, error)
}

// Claimed is a claim on an item; Done removes the item. A claim may also have
//
//	Release(context.Context) error // gives the item back
//	Token() string                 // of the item, the same at each delivery
//	Lost() <-chan struct{}         // closed when the claim is known to be lost
//
// Optional methods are tested, too.
type Claimed interface {
	Data() []byte
	Done(context.Context) error
}

type tryClaimer interface {
	TryClaim(context.Context) (Claimed, error)
}
type releaser interface{ Release(context.Context) error }
type itemTokener interface{ Token() string }

// LockingQueue is the locking queue workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same queue.
func LockingQueue(new func(c recipes.Conn, path string) LockingQueuer, opts ...Option) *Workload {
	return workloadOf("lockingqueue", linearizability.Model{}, new, planLockingQueue, opts)
}

// ourLockingQueue is this project's recipe as the workload knows it.
type ourLockingQueue struct{ *recipes.LockingQueue }

func (q ourLockingQueue) Claim(ctx context.Context) (Claimed, error) {
	return claimed(q.LockingQueue.Claim(ctx))
}

func (q ourLockingQueue) TryClaim(ctx context.Context) (Claimed, error) {
	return claimed(q.LockingQueue.TryClaim(ctx))
}

// ExampleClaim is for who asks what claims can do before there are any.
func (ourLockingQueue) ExampleClaim() Claimed { return (*recipes.Claim)(nil) }

func claimed(c *recipes.Claim, err error) (Claimed, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// lockingEpisode is one planned episode.
type lockingEpisode struct {
	Script[lockingTurn]
	offered []int // by slot
	sink    sink
}

// lockingTurn is one turn of a user.
type lockingTurn struct {
	name         string // offer, claim or try
	giveBack     bool
	interludes   []interlude
	cancelFinish bool
}

var lockingOps = [...]string{"offer", "claim", "try", "offer"}

func planLockingQueue(p *world.Plan, path string) Episode {
	e := &lockingEpisode{Script: planScript(p, path, 3, drawLockingTurn)}
	e.Drains = true
	e.offered = make([]int, len(e.turns))
	return e
}

func drawLockingTurn(p *world.Plan, label string) lockingTurn {
	t := lockingTurn{name: lockingOps[p.Part(len(lockingOps), label)], giveBack: p.Choose(6, label) == 5}
	t.cancelFinish = p.Faults.Has(world.Cancel) && p.Choose(8, label) == 7
	if t.name != "offer" {
		t.interludes = drawInterludes(p, label)
	}
	return t
}

// MayWaitForever: a claim may wait for ever at a queue in which there may be nothing.
func (e *lockingEpisode) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	if len(undone(all)) > 0 {
		return nil
	}
	return still(waiting, "claim")
}

// undone lists the offers that surely happened and whose items nobody has tried to finish as done.
func undone(ops []*world.Op) []*world.Op {
	tried := map[string]bool{}
	for _, op := range ops {
		if item, done := finished(op); done {
			tried[item] = true
		}
	}
	return where(ops, func(op *world.Op) bool { return op.Name == "offer" && op.Outcome == world.OK && !tried[op.Arg] })
}

// What the argument of a finish begins with. The item follows.
const done, givenBack = "done ", "give back "

// finished returns the item that an operation is to finish as done, and false if it does not.
func finished(op *world.Op) (item string, is bool) {
	item, is = strings.CutPrefix(op.Arg, done)
	return item, is && op.Name == claiming.Release
}

func (e *lockingEpisode) Run(u User) {
	q := e.Make(u).(LockingQueuer)
	e.AtDeath(u, func() { e.Over(u, q) })
	for turn := range e.Turns(u) {
		e.turn(u, q, turn)
	}
	e.Finally(u, func() *world.Op { return e.offer(u, q) })
	if e.Last(u) {
		e.drain(u, q)
	}
	e.Over(u, q)
}

// drain consumes until nothing comes any more: until its wait is in order and is ended.
func (e *lockingEpisode) drain(u User, q LockingQueuer) {
	for range 200 {
		if !e.consume(u, q, lockingTurn{name: "claim"}) {
			return
		}
	}
}

func (e *lockingEpisode) turn(u User, q LockingQueuer, turn lockingTurn) {
	if turn.name != "offer" {
		e.consume(u, q, turn)
		return
	}
	e.offer(u, q)
}

func (e *lockingEpisode) offer(u User, q LockingQueuer) *world.Op {
	s := e.Slot(u)
	e.offered[s]++
	value := "v" + strconv.Itoa(u.Client()+1) + string(rune('a'+u.Index())) + strconv.Itoa(e.offered[s])
	ctx, op := u.Begin("offer", value, true)
	err := q.Offer(ctx, []byte(value))
	u.End(op, OutcomeOf(err), "", err)
	return op
}

// consume claims an item, applies it and finishes the claim; false if it got none.
func (e *lockingEpisode) consume(u User, q LockingQueuer, turn lockingTurn) bool {
	c, h := e.claim(u, q, turn.name)
	if h == nil {
		return false
	}
	e.kit(u, nil).play(turn.interludes, func() bool { return e.look(u, c, h) })
	if h.Believes() {
		if r, has := can[releaser](c, "Release"); turn.giveBack && has {
			giveBack(u, claiming.Release, givenBack+string(c.Data()), nil, r.Release, turn.cancelFinish)
			return true
		}
		u.Do("apply", func() string { return e.sink.apply(c) })
		giveBack(u, claiming.Release, done+string(c.Data()), nil, c.Done, turn.cancelFinish)
	}
	return true
}

// look looks at the item if the user believes that it holds it.
func (e *lockingEpisode) look(u User, c Claimed, h *Held) bool {
	if !h.Believes() {
		return false
	}
	u.Do("look", func() string { return "at " + string(c.Data()) })
	return true
}

func (e *lockingEpisode) claim(u User, q LockingQueuer, name string) (c Claimed, h *Held) {
	claim, try := q.Claim, name == "try"
	name = "claim"
	if q, has := can[tryClaimer](q, "TryClaim"); try && has {
		claim, name = q.TryClaim, "try"
	}
	ctx, op := u.Begin(name, "", true)
	c, err := claim(ctx)
	switch {
	case errors.Is(err, recipes.ErrEmpty):
		u.End(op, world.OK, "", nil)
		return nil, nil
	case err != nil:
		u.End(op, world.Fail, "", err)
		return nil, nil
	}
	h = begin(u, holder{believer: believerOf(c)}, op)
	u.End(op, world.OK, string(c.Data()), nil)
	return c, h
}

// sink is where items go. It applies each token once, and an item without a token always.
type sink struct {
	known   map[string]string // value by token
	applied map[string]int    // times by value
	mixed   []string          // values that were skipped because of another value's token
}

func (s *sink) apply(c Claimed) string {
	if s.known == nil {
		s.known, s.applied = map[string]string{}, map[string]int{}
	}
	value := string(c.Data())
	if t, has := can[itemTokener](c, "Token"); has {
		before, known := s.known[t.Token()]
		if known && before != value {
			s.mixed = append(s.mixed, value)
		}
		if known {
			return value + " is known, and skipped"
		}
		s.known[t.Token()] = value
	} else if s.applied[value] > 0 {
		return value + " comes again, and nothing tells" // at least once is all that is promised
	}
	s.applied[value]++
	return value + " applied"
}

// History has claims that failed, or lost one item before they got another, as unknown until what they perhaps got was
// surely over.
func (e *lockingEpisode) History(v *View) linearizability.History {
	h := v.converted(func(op *world.Op, add func(linearizability.Operation)) {
		o := textOf(op)
		if op.Name != "offer" && op.Name != claiming.Release && !claiming.takes(op) {
			return // an interlude's
		}
		if claiming.takes(op) && op.Outcome == world.OK && !steady(v.Ops, op) {
			before := o
			before.Result, before.Outcome = linearizability.Null, linearizability.Unknown
			add(before)
		} else if claiming.takes(op) && op.Outcome != world.OK {
			o.Outcome, o.Return = linearizability.Unknown, v.over(op)
		}
		add(o)
	})
	for _, d := range v.deliveries() {
		for _, c := range d.claims {
			h = append(h, v.outside(c, claiming.Release, givenBack+d.item)...)
		}
	}
	return byReturn(h)
}

func (e *lockingEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	deliveries := v.deliveries()
	j.Add(deliveries.exclusion(v)...)
	j.Add(deliveries.duplicate(v)...)
	j.Add(deliveries.order(v)...)
	deliveries.idle(v, &j)
	j.Beliefs(v)
	j.falseLost(v, v.Holds(claiming))
	j.Add(e.once(v)...)
	j.Add(e.stuck(v)...)
	j.Add(e.lost(v)...)
	j.Add(v.UnexpectedErrors(func(op *world.Op) bool { return Gone(op) || isUnknown(op) })...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}

// stuck explains claims and other operations that did not return.
func (e *lockingEpisode) stuck(v *View) []sim.Violation {
	found := v.Stuck()
	left := undone(v.Ops)
	if len(found) == 0 || found[0].Ops[0].Name != "claim" || len(left) == 0 {
		return found
	}
	found[0].Property, found[0].Ops = "lost", append(found[0].Ops, left[0])
	if v.Remains(left[0]) {
		found[0].Property = "lost-wakeup"
	}
	found[0].Message += fmt.Sprintf(", although nobody has finished item %s, which %s offered at %s",
		left[0].Arg, Who(left[0]), v.When(left[0]))
	return found
}

// lost finds items that never reached the sink.
func (e *lockingEpisode) lost(v *View) []sim.Violation {
	for _, op := range v.Ops {
		if op.Name != "offer" || op.Outcome != world.OK || e.sink.applied[op.Arg] > 0 || len(v.Waiting) > 0 {
			continue
		}
		return Broken("lost", []*world.Op{op},
			"item %s, which %s offered at %s, was never applied, although everything was consumed in the end",
			op.Arg, Who(op), v.When(op))
	}
	return nil
}

// once holds the tokens to what they are for.
func (e *lockingEpisode) once(v *View) []sim.Violation {
	for _, op := range v.Ops {
		switch {
		case op.Name != "offer":
		case e.sink.applied[op.Arg] > 1:
			return Broken("once", []*world.Op{op},
				"item %s, which %s offered at %s, was applied %d times: it was delivered with different tokens",
				op.Arg, Who(op), v.When(op), e.sink.applied[op.Arg])
		case slices.Contains(e.sink.mixed, op.Arg):
			return Broken("once", []*world.Op{op},
				"item %s, which %s offered at %s, was skipped because it was delivered with the token of another",
				op.Arg, Who(op), v.When(op))
		}
	}
	return nil
}
