package workload

import (
	"context"
	"fmt"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// contest is a kind of recipe for which users contend: they take something, use it as long as they believe that they
// hold it, and give it back. All that differs from kind to kind is here, and what is nil is not done. T is what the
// kind's constructors make.
type contest[T any] struct {
	kind   string
	model  linearizability.Model
	ways   []way[T] // to hold it; the first also of a second object
	places int      // how many may hold it at once; 0: one, or as exclude says

	note, with string // what uses are called, and what is used; without it holders write to a guarded resource
	// ask asks something, in place of a turn, or while it is held; false if the recipe cannot tell.
	ask func(p *contestant[T]) bool
	// What is done between two uses, and after all.
	between, after func(p *contestant[T], h *Held)

	// Which holds exclude each other, and have tokens that grow; the holds and their history, if
	// not those of the first way; and who is excused from herds.
	exclude, ordered pair
	holds            func(v *View) []Hold
	history          func(v *View) linearizability.History
	excused          func(maker, op *world.Op) bool
	// What is judged besides.
	judge func(e *contestEpisode[T], j *Judgement, v *View, holds []Hold)
}

// way is a way to hold something.
type way[T any] struct {
	Role
	take, give func(T, context.Context) error
	tries      func(recipe any) trying // nil: it cannot be tried
}

// workload is the workload of the kind for the recipes that new makes.
func (c *contest[T]) workload(new func(recipes.Conn, string) T, opts []Option) *Workload {
	plan := func(p *world.Plan, path string) Episode {
		return &contestEpisode[T]{Script: planScript(p, path, 4, c.draw), contest: c}
	}
	return workloadOf(c.kind, c.model, new, plan, opts)
}

// contestTurn is one turn of a user: take, use, give back; of a kind that asks, perhaps only ask.
type contestTurn struct {
	way        int
	special    bool // it tries; or only asks
	inside     bool // it asks while it holds
	uses       int
	interludes []interlude
	cancelGive bool
}

func (c *contest[T]) draw(p *world.Plan, label string) (t contestTurn) {
	several := len(c.ways) > 1
	if several {
		t.way = p.Part(len(c.ways), label)
	}
	t.special = p.Choose(4, label) == 3
	t.inside = c.ask != nil && p.Choose(4, label) == 3
	t.uses = [...]int{1, 2, 0}[p.Choose(3, label)]
	if several { // these choices decide nothing any more: without them recorded seeds would mean other episodes
		p.Choose(8, label)
	}
	if several && t.way == 0 {
		p.Choose(3, label)
	}
	t.cancelGive = p.Faults.Has(world.Cancel) && p.Choose(8, label) == 7
	t.interludes = drawInterludes(p, label)
	if c.places > 1 && p.Choose(16, label) == 15 { // who waits for this place by mistake, and not for any, breaks idle
		t.interludes = append(t.interludes, interlude{"wait", 2 * idleMax})
	}
	return t
}

// contestEpisode is one planned episode.
type contestEpisode[T any] struct {
	Script[contestTurn]
	contest *contest[T]
	guarded resource // what is written to by holders
}

// contestant is a user with a recipe.
type contestant[T any] struct {
	User
	of   *contestEpisode[T]
	made T
	holder
}

// make makes a recipe at a path for a user.
func (e *contestEpisode[T]) make(u User, c recipes.Conn, path string) *contestant[T] {
	made := e.Script.make(c, path).(T)
	return &contestant[T]{User: u, of: e, made: made, holder: holderOf(made)}
}

// call is a method of the user's recipe.
func (p *contestant[T]) call(f func(T, context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return f(p.made, ctx) }
}

func (e *contestEpisode[T]) Run(u User) {
	p, w := e.make(u, u.Conn(), e.Path), &e.contest.ways[0]
	kit := e.kit(u, func(c recipes.Conn, path string) secondObject {
		inner := e.make(u, c, path)
		return secondObject{recipe: inner.made, holder: inner.holder, take: inner.call(w.take), give: inner.call(w.give)}
	})
	over := func() {
		kit.end()
		e.Over(u, p.made)
	}
	e.AtDeath(u, over)
	for turn := range e.Turns(u) {
		if e.terms.shared() {
			u.Do("come", func() string { return "to " + w.Noun })
		}
		if ask := e.contest.ask; ask == nil || !turn.special || !ask(p) {
			p.turn(turn, kit)
		}
	}
	e.Finally(u, func() *world.Op {
		return taking(u, p.holder, w.Acquire, p.call(w.take), w.Release, p.call(w.give))
	})
	over()
}

func (p *contestant[T]) turn(t contestTurn, kit *kit) {
	c := p.of.contest
	name, m := c.ways[t.way].method(p, t.special)
	h, _ := take(p.User, p.holder, name, m)
	if h == nil {
		return
	}
	for i := range t.uses {
		if i > 0 && c.between != nil {
			c.between(p, h)
		}
		if !p.use(h) {
			break
		}
	}
	kit.play(t.interludes, func() bool { return p.use(h) })
	if t.inside {
		c.ask(p)
	}
	if c.after != nil {
		c.after(p, h)
	}
	w := &c.ways[t.way]
	h.giveBack(w.Release, p.call(w.give), t.cancelGive)
}

// method is how to take it: by a try, if the turn is one and the recipe can.
func (w *way[T]) method(p *contestant[T], try bool) (name string, m method) {
	if try && w.tries != nil {
		if tries := w.tries(p.made); tries != nil {
			return w.Try, method{try: tries}
		}
	}
	return w.Acquire, method{wait: p.call(w.take)}
}

// use uses what is held, if its user believes that it is.
func (p *contestant[T]) use(h *Held) bool {
	c := p.of.contest
	if !h.Believes() {
		return false
	}
	p.Do(c.note, func() string {
		if c.with != "" {
			return c.with
		}
		return p.of.guarded.write(h)
	})
	return true
}

func (e *contestEpisode[T]) Judge(v *View) Judgement {
	c, j, holds := e.contest, e.Judging(v), e.holds(v)
	r, places := c.ways[0].Role, max(c.places, 1)
	j.Add(c.crowd(v, holds, r)...)
	j.Beliefs(v)
	j.Add(fencing(v, holds, r, c.inOrder())...)
	j.idle(v, c.waits, holds, places)
	j.tries(v, holds)
	c.inner(v, &j)
	j.falseLost(v, holds)
	if c.judge != nil {
		c.judge(e, &j, v, holds)
	}
	c.order(v, &j)
	j.herds(v, places, c.excused)
	j.holding(v, r, c.model, e.History(v))
	return j
}

// inner adds what is wrong with the holds of second objects.
func (c *contest[T]) inner(v *View, j *Judgement) {
	holds := v.Holds(theInner)
	j.Add(c.crowd(v, holds, theInner)...)
	j.Add(fencing(v, holds, theInner, c.inOrder())...)
}

func (e *contestEpisode[T]) holds(v *View) []Hold {
	if e.contest.holds != nil {
		return e.contest.holds(v)
	}
	return v.Holds(e.contest.ways[0].Role)
}

// History is the episode for the kind's model. What happened outside of operations is in it as
// releases of unknown outcome: a holder's death, or the end of its session.
func (e *contestEpisode[T]) History(v *View) linearizability.History {
	if e.contest.history != nil {
		return e.contest.history(v)
	}
	return v.Tenures(e.contest.ways[0].Role)
}

// waits reports whether an operation waits to hold it.
func (c *contest[T]) waits(op *world.Op) bool {
	for i := range c.ways {
		if c.ways[i].waits(op) {
			return true
		}
	}
	return false
}

func (c *contest[T]) inOrder() pair {
	if c.ordered == nil {
		return always
	}
	return c.ordered
}

// crowd: no more hold it at once than may.
func (c *contest[T]) crowd(v *View, holds []Hold, r Role) []sim.Violation {
	switch {
	case c.places > 0:
		return crowding(v, holds, c.ways[0].Noun, c.places)
	case c.exclude != nil:
		return exclusion(v, holds, r, c.exclude)
	}
	return exclusion(v, holds, r, always)
}

// order: it is not granted while as many older znodes are there as there are places, one of them of
// an operation that waits and is in its way.
func (c *contest[T]) order(v *View, j *Judgement) {
	queue, known := v.contenders()
	if !j.Judges("order", known) {
		return
	}
	for _, x := range queue.granted() {
		y, older := c.overtaken(v, queue, x)
		if y == nil || older < c.places {
			continue
		}
		by, why := "", fmt.Sprintf("the older %s of %s was waiting", y.path, Who(y.op))
		if len(c.ways) > 1 {
			by = " by " + x.op.Name
		}
		if c.places > 0 {
			why = fmt.Sprintf("%d older znodes were there, among them %s of %s, which was waiting",
				older, y.path, Who(y.op))
		}
		j.Add(Broken("order", []*world.Op{y.op, x.op},
			"%s was granted %s at step %d%s for %s, although %s",
			Who(x.op), c.ways[0].Noun, world.StepOf(x.op.Return), by, x.path, why)...)
		return
	}
}

// overtaken returns a znode of an operation that waited, and was in the way, when something was granted to a younger
// one, and how many older ones there were; of a kind without places only such as were in the way.
func (c *contest[T]) overtaken(v *View, queue contenders, x contender) (found *contender, older int) {
	queue = queue.there(world.StepOf(x.op.Return))
	for i := range queue {
		y := &queue[i]
		if y.zxid > x.zxid {
			break
		}
		if !y.before(x) {
			continue
		}
		waits := c.waits(y.op) && (c.exclude == nil || c.exclude(Hold{Op: x.op}, Hold{Op: y.op})) && y.waitedAt(v, x.op.Return)
		if !waits && c.places == 0 || !queue.last(*y, world.StepOf(x.op.Return)) {
			continue
		}
		if older++; waits && (found == nil || c.places > 0) {
			found = y
		}
	}
	return found, older
}
