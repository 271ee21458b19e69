package workload

// The queue workload.
//
// Clients offer values, each a different one, poll, take and peek, on one queue. When all have finished, one of them
// drains it.
//
// Peeks and empties are judged strictly: a queue may not answer from a stale replica. An operation of unknown outcome is
// held to what the world knows of it: that it removed an item's znode, or also that it had no effect (see removals.go). A
// consumer that dies after the removal loses the item: any queue without a claim is at-most-once.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// noneLost is promised of queues.
var noneLost = Promise{
	Names: []string{"lost"}, Text: "a removal that fails has removed no item, unless its error says that it may have",
}

// queueKind is the table's line for this kind, see [Kind].
var queueKind = Kind{
	Name:  "queue",
	Model: linearizability.Queue(),
	Promises: []Promise{
		{
			Text: "the queue is a linearizable FIFO; operations of unknown outcome may have taken effect or not",
			Also: []string{"duplicate", "phantom", "order", "false-empty", "stale-peek"},
		},
		noneLost,
		{Names: []string{"progress"}, Text: "a take returns when there is something to take"},
		usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		queueEntry(Ours, "recipes.Queue: FIFO, says when an outcome is unknown",
			func(c recipes.Conn, path string) Queuer { return recipes.NewQueue(c, path) }),
		queueEntry("ours/receipts", "recipes.Queue with receipts: unknown outcomes are resolved",
			func(c recipes.Conn, path string) Queuer { return recipes.NewQueue(c, path, recipes.WithReceipts()) }),
	},
}

var queueEntry = entries("queue", Queue)

// Queuer is a queue as the workload uses it: Poll returns recipes.ErrEmpty when there is nothing. A recipe may also have
//
//	Take(context.Context) ([]byte, error) // waits until there is something
//	Peek(context.Context) ([]byte, error) // ErrEmpty when there is nothing
//
// Optional methods are tested, too.
type Queuer interface {
	Offer(ctx context.Context, data []byte) error
	Poll(ctx context.Context) ([]byte, error)
}

type poller interface {
	Poll(context.Context) ([]byte, error)
}

// Queue is the queue workload for a recipe. new is called once for each user of a session; all
// that it returns must be about the same queue.
func Queue(new func(c recipes.Conn, path string) Queuer, opts ...Option) *Workload {
	return workloadOf("queue", linearizability.Queue(), new, planFIFO, opts)
}

func planFIFO(p *world.Plan, path string) Episode {
	return planQueue(p, path, func(recipe any, ctx context.Context, it queueItem) error {
		return recipe.(Queuer).Offer(ctx, []byte(it.value))
	})
}

// queueUser is what one user of a session has of the recipe.
type queueUser struct {
	recipe poller
	// by name: poll, and take and peek if the recipe has them
	removals map[string]func(context.Context) ([]byte, error)
}

// queueItem is what is offered.
type queueItem struct {
	value    string
	priority int32 // in a priority queue, whose values begin with it
}

func (e *queueEpisode) user(u User) queueUser {
	recipe := e.Make(u).(poller)
	all := map[string]func(context.Context) ([]byte, error){"poll": recipe.Poll}
	if q, has := can[interface {
		Take(context.Context) ([]byte, error)
	}](recipe, "Take"); has {
		all["take"] = q.Take
	}
	if q, has := can[interface {
		Peek(context.Context) ([]byte, error)
	}](recipe, "Peek"); has {
		all["peek"] = q.Peek
	}
	return queueUser{recipe, all}
}

// queueEpisode is one planned episode, of a queue or a priority queue.
type queueEpisode struct {
	Script[string] // names of operations
	offering       func(recipe any, ctx context.Context, it queueItem) error
	priority       func(slot int) int32 // of what is offered next; nil: items have none
	offered        []int                // by slot
}

func planQueue(
	p *world.Plan, path string, offering func(recipe any, ctx context.Context, it queueItem) error,
) *queueEpisode {
	turns := OneOf("offer", "poll", "take", "offer", "take", "peek")
	e := &queueEpisode{Script: planScript(p, path, 3, turns), offering: offering}
	e.Drains = true
	e.offered = make([]int, len(e.turns))
	return e
}

// MayWaitForever: a take may wait for ever at a queue that may be empty.
func (e *queueEpisode) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	if surelyLeft(all) > 0 {
		return nil
	}
	return still(waiting, "take")
}

// surelyLeft returns how many items there are at least in the queue.
func surelyLeft(ops []*world.Op) (items int) {
	for _, op := range ops {
		offer := op.Name == "offer"
		switch {
		case offer && op.Outcome == world.OK:
			items++
		case offer || op.Name == "peek" || op.Outcome == world.Fail || op.Outcome == world.Running:
		case op.Outcome == world.Unknown || op.Result != "":
			items--
		}
	}
	return items
}

func (e *queueEpisode) Run(u User) {
	q := e.user(u)
	e.AtDeath(u, func() { e.Over(u, q.recipe) })
	for name := range e.Turns(u) {
		e.operate(u, q, name)
	}
	e.Finally(u, func() *world.Op { return e.offer(u, q) })
	if e.Last(u) {
		e.drain(u, q)
	}
	e.Over(u, q.recipe)
}

// drain empties the queue, so that the history says where every item went.
func (e *queueEpisode) drain(u User, q queueUser) {
	for range 200 {
		op := e.operate(u, q, "poll")
		if op.Outcome == world.OK && op.Result == "" {
			return
		}
	}
}

func (e *queueEpisode) operate(u User, q queueUser, name string) *world.Op {
	if name == "offer" {
		return e.offer(u, q)
	}
	if q.removals[name] == nil {
		name = "poll"
	}
	return remove(u, name, q.removals[name])
}

func (e *queueEpisode) offer(u User, q queueUser) *world.Op {
	s := e.Slot(u)
	e.offered[s]++
	it := queueItem{value: "v" + strconv.Itoa(u.Client()+1) + string(rune('a'+u.Index())) + strconv.Itoa(e.offered[s])}
	if e.priority != nil {
		it.priority = e.priority(s)
		it.value = fmt.Sprintf("%d:%s", it.priority, it.value)
	}
	ctx, op := u.Begin("offer", it.value, true)
	err := e.offering(q.recipe, ctx, it)
	u.End(op, OutcomeOf(err), "", err)
	return op
}

// remove runs an operation that returns an item, or ErrEmpty.
func remove(u User, name string, f func(context.Context) ([]byte, error)) *world.Op {
	ctx, op := u.Begin(name, "", true)
	data, err := f(ctx)
	switch {
	case err == nil:
		u.End(op, world.OK, string(data), nil)
	case errors.Is(err, recipes.ErrEmpty):
		u.End(op, world.OK, "", nil)
	case name == "peek":
		u.End(op, world.Fail, "", err)
	default:
		u.End(op, OutcomeOf(err), suspect(err), err)
	}
	return op
}

// suspect returns the item that an operation of unknown outcome may have removed, if it says so.
func suspect(err error) string {
	var unknown *recipes.UnknownOutcomeError
	if errors.As(err, &unknown) {
		return string(unknown.Data)
	}
	return ""
}

// OutcomeOf tells what an error says about a change: nothing is known then, except that a
// request that ZooKeeper has refused, or one of this project's recipes that does not say
// ErrUnknownOutcome, changed nothing. Without knowing the recipe it is safest not to rely on that.
func OutcomeOf(err error) world.Outcome {
	if err == nil {
		return world.OK
	}
	return world.Unknown
}

func (e *queueEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	j.Add(e.stuck(v)...)
	h := e.History(v)
	j.History = h
	j.Check(v, e.model(), h)
	j.Add(e.lost(v)...)
	j.Add(v.UnexpectedErrors(isUnknown)...)
	if len(j.Violations) == 0 {
		v.Left.Notes = true
		j.Add(v.Leaks()...)
	}
	if e.terms.patient {
		j.Add(v.impatient()...)
	}
	return j
}

// impatient finds a take that failed by the connection's loss and has removed nothing: see [Dialect].
func (v *View) impatient() []sim.Violation {
	i := slices.IndexFunc(v.Ops, func(op *world.Op) bool {
		return op.Name == "take" && !op.Cancelled && Disconnected(op.Err) && !isUnknown(op)
	})
	if i < 0 {
		return nil
	}
	return Broken("unexpected-error", []*world.Op{v.Ops[i]},
		"%s's take at %s failed with %q instead of waiting", Who(v.Ops[i]), v.When(v.Ops[i]), v.Ops[i].Err)
}

func (e *queueEpisode) model() linearizability.Model {
	if e.priority != nil {
		return linearizability.PriorityQueue()
	}
	return linearizability.Queue()
}

// stuck explains takes and other operations that did not return.
func (e *queueEpisode) stuck(v *View) []sim.Violation {
	found := v.Stuck()
	if left := surelyLeft(v.Ops); len(found) > 0 && found[0].Ops[0].Name == "take" && left > 0 {
		found[0].Property = "lost-wakeup"
		found[0].Message += fmt.Sprintf(", although there are items in the queue (%d at least)", left)
	}
	return found
}

func (e *queueEpisode) History(v *View) linearizability.History {
	known := e.resolve(v)
	return v.History(func(op *world.Op, add func(linearizability.Operation)) {
		o := textOf(op)
		known[op.Number].apply(&o, linearizability.Str)
		add(o)
	})
}

// lost finds removals that were carried out although the operation reported an error that does not
// say that it may have removed something.
func (e *queueEpisode) lost(v *View) []sim.Violation {
	made, known := v.commits()
	if !known {
		return nil
	}
	for i := range made.all {
		c := &made.all[i]
		op := made.by(c)
		if c.Op != wire.OpDelete || op == nil || op.Name == "offer" || op.Err == nil || isUnknown(op) {
			continue
		}
		if offer := made.maker(c.Path); offer != nil && offer.Name == "offer" && !e.returned(v, offer.Arg) {
			return []sim.Violation{sim.Violation{Property: "lost", Ops: []*world.Op{offer, op}}.Saying(
				"%s removed %s with value %s (step %d) and then failed with %q, which does not say so: "+
					"the item is gone and nobody got it",
				v.call(op), world.Path(c.Path), offer.Arg, c.Step, op.Err)}
		}
	}
	return nil
}

func (e *queueEpisode) returned(v *View, value string) bool {
	return slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
		return op.Result == value && op.Outcome == world.OK && op.Name != "peek"
	})
}
