package workload

// The semaphore workload.
//
// Clients, some with two users on one session, acquire a permit and release it again and again; they try, wait, give
// up, crash and come back. A third of the holds take time, as of a lock.
//
// Properties, besides belief, idle, false-lost, progress, no leaks, unexpected-error and unusable, which are those of a
// lock:
//
//   - exclusion: no more users than there are permits hold one while their sessions are alive. A hold begins when
//     Acquire returns and ends when Release is called, when its user is told that it is over, or when the session ends
//     at the servers.
//   - fencing: the token of a grant is greater than that of every hold that was over when it was called for. Judged
//     if the recipe has Token.
//   - order: among operations that queue with sequential znodes, none is granted a permit while as many older znodes
//     are there as there are permits, one of them of a waiting operation.
//   - herd: the deletion of one znode wakes at most as many waiting operations as there are permits, not counting those
//     that had to queue anew: what they watched before wakes no operation.

import (
	"context"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// semaphoreKind is the table's line for this kind, see [Kind].
var semaphoreKind = Kind{
	Name:     "semaphore",
	Model:    linearizability.Semaphore(Permits),
	optional: optionally[semaphoreRecipe](),
	Promises: []Promise{
		{
			Names: []string{"exclusion"},
			Text:  "users whose sessions are alive never hold more permits than there are",
		},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops acting as a holder"},
		{Names: []string{"fencing"}, Text: "a later hold has a greater token"},
		{Names: []string{"order"}, Text: "waiters get permits in queue order"},
		{Names: []string{"herd"}, Text: "one release wakes at most as many waiters as there are permits"},
		{
			Names: []string{"progress"},
			Text:  "once faults are healed every waiter gets a permit",
			Also:  []string{"lost-wakeup", "self-block", "orphan", "deadlock"},
		},
		busy, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		semaphoreEntry(Ours, Permits, "recipes.Semaphore of 2 permits: fair, with tokens"),
		semaphoreEntry("ours/3", 3, "recipes.Semaphore of 3 permits"),
	},
}

// Permits is how many permits the default semaphore has.
const Permits = 2

func semaphoreEntry(recipe string, permits int, help string) Entry {
	return entry("semaphore", recipe, help, func(opts ...Option) *Workload {
		return Semaphore(permits, func(c recipes.Conn, path string) Permitter {
			return recipes.NewSemaphore(c, path, permits)
		}, opts...)
	})
}

// Permitter is a semaphore as the workload uses it: Acquire gets a permit and Release gives
// it back. A user has one permit at a time. A recipe may also have
//
//	TryAcquire(context.Context) (bool, error)
//	Lost() <-chan struct{}  // closed when the present permit is known to be lost
//	Token() int64           // of the present grant
//	IsOwner() bool
//
// and is then checked in these too.
type Permitter interface {
	Acquire(context.Context) error
	Release(context.Context) error
}

type tryAcquirer interface {
	TryAcquire(context.Context) (bool, error)
}

// semaphoreRecipe is a semaphore with what it can do, see [able].
type semaphoreRecipe struct {
	Permitter
	Try tryAcquirer
	holder
}

// Semaphore is the semaphore workload for a recipe with a number of permits. new is called once for
// each user of a session; all that it returns must be about the same semaphore.
func Semaphore(permits int, new func(c recipes.Conn, path string) Permitter, opts ...Option) *Workload {
	plan := func(p *sim.Plan, path string, new maker[Permitter]) *semaphoreEpisode {
		return &semaphoreEpisode{Script: planScript(p, path, 4, drawPermitTurn), permits: permits, new: new}
	}
	return workloadOf("semaphore", linearizability.Semaphore(permits), new, plan, opts)
}

// semaphoreEpisode is one planned episode.
type semaphoreEpisode struct {
	Script[permitTurn]
	permits int
	new     maker[Permitter]
	zombies []sim.Violation
}

// permitTurn is one turn of a user: acquire, use, release.
type permitTurn struct {
	try           bool
	uses          int
	errands       []errand
	cancelRelease bool
}

func drawPermitTurn(p *sim.Plan, label string) permitTurn {
	t := permitTurn{try: p.Choose(4, label) == 3, uses: [...]int{1, 2, 0}[p.Choose(3, label)]}
	t.cancelRelease = p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7
	t.errands = drawErrands(p, label)
	return t
}

func (e *semaphoreEpisode) Run(u User) {
	made := func(c recipes.Conn, path string) semaphoreRecipe {
		return able[semaphoreRecipe](&e.terms, e.new(c, path))
	}
	semaphore := made(u.Conn(), e.Path)
	h := e.household(u, func(c recipes.Conn, path string) secondObject {
		inner := made(c, path)
		return secondObject{recipe: inner.Permitter, holder: inner.holder, take: inner.Acquire, give: inner.Release}
	})
	over := func() {
		h.end()
		e.Over(semaphore.Permitter)
	}
	e.AtDeath(u, over)
	for turn := range e.Turns(u) {
		e.turn(u, semaphore, turn, h)
	}
	e.afresh(u, func() *sim.Op {
		return taking(u, semaphore.holder, "acquire", semaphore.Acquire, "release", semaphore.Release)
	}, func() {
		e.Over(semaphore.Permitter)
		semaphore = made(u.Conn(), e.Path)
	})
	over()
}

func (e *semaphoreEpisode) turn(u User, s semaphoreRecipe, turn permitTurn, home *household) {
	name, method := permitMethod(s, turn.try)
	h := take(u, s.holder, name, method)
	if h == nil {
		return
	}
	for range turn.uses {
		if !e.use(u, s, h) {
			break
		}
	}
	home.dwell(turn.errands, func() bool { return e.use(u, s, h) })
	giveBack(u, s.believer, h, "release", s.Release, turn.cancelRelease)
}

// use does something with a permit if the user believes that it has it.
func (e *semaphoreEpisode) use(u User, s semaphoreRecipe, h *hold) bool {
	if !believes(u, s.believer, h, &e.zombies) {
		return false
	}
	u.Do("use", func() string { return "with a permit" })
	return true
}

func permitMethod(s semaphoreRecipe, try bool) (name string, m method) {
	if try && s.Try != nil {
		return "try", method{try: s.Try.TryAcquire}
	}
	return "acquire", method{wait: s.Acquire}
}

var aPermit = role{noun: "a permit", acquire: "acquire", release: "release", try: "try"}

func (e *semaphoreEpisode) Judge(v *View) Judgement {
	holds := v.holds(aPermit)
	j := e.Judging(v)
	j.Add(e.exclusion(v, holds)...)
	j.beliefs(v, e.zombies)
	// Of two that wait at the same time the one with the smaller token may learn of its grant later.
	j.Add(fencing(v, holds, aPermit, afterwards)...)
	j.Add(e.exclusion(v, v.holds(theInner))...)
	j.Add(fencing(v, v.holds(theInner), theInner, afterwards)...)
	j.falseLost(v, holds)
	j.idle(v, aPermit.waits, holds, e.permits)
	e.order(v, &j)
	j.herds(v, max(e.permits, 1), nil)
	j.holding(v, aPermit, linearizability.Semaphore(e.permits), e.History(v))
	return j
}

// afterwards tells whether a hold was over when another was called for.
func afterwards(a, b interval) bool { return a.end <= b.op.Call }

func (e *semaphoreEpisode) History(v *View) linearizability.History { return v.tenures(aPermit) }

// exclusion: at the moment at which a permit is granted there are not that many others held. The
// holds are in order of the grants.
func (e *semaphoreEpisode) exclusion(v *View, holds []interval) []sim.Violation {
	for i, b := range holds {
		ops := []*sim.Op{b.op}
		for _, a := range holds[:i] {
			if a.end > b.start {
				ops = append(ops, a.op)
			}
		}
		if b.end > b.start && len(ops) > e.permits {
			text := sim.Say("%s acquires a permit at %s under session %v, while all permits (%d) are held",
				Who(b.op), v.Moment(b.start), sim.SessionID(b.op.SessionAt), e.permits)
			for _, op := range ops[1:] {
				text = sim.Say("%v; %s has had one since %s under session %v", text,
					Who(op), v.Moment(op.Return), sim.SessionID(op.SessionAt))
			}
			return []sim.Violation{sim.Violation{Property: "exclusion", Ops: ops}.Saying("%v", text)}
		}
	}
	return nil
}

func (e *semaphoreEpisode) order(v *View, j *Judgement) {
	queue, known := v.contenders()
	if !j.Judges("order", known) {
		return
	}
	for _, x := range queue.granted() {
		older, overtaken, granted := 0, (*contender)(nil), sim.StepOf(x.op.Return)
		for i, y := range queue {
			if y.op == x.op || y.parent != x.parent || y.zxid > x.zxid || y.gone <= granted || !queue.last(y, granted) {
				continue
			}
			older++
			if y.overtakenBy(v, aPermit, x) {
				overtaken = &queue[i]
			}
		}
		if overtaken != nil && older >= e.permits {
			j.Add(broken("order", []*sim.Op{overtaken.op, x.op},
				"%s was granted a permit at step %d for %s, although %d older znodes were there, "+
					"among them %s of %s, which was waiting",
				Who(x.op), granted, x.path, older, overtaken.path, Who(overtaken.op))...)
			return
		}
	}
}

// queuedAgain tells whether an operation has queued more than once, having lost its znode with its
// session. Some of its watches are of an earlier time, and wake no operation.
func (c commits) queuedAgain(op *sim.Op) bool {
	times := 0
	for _, c := range c.all {
		if c.Op == fakezk.OpCreate && c.Owner != 0 && c.By == op.Number {
			times++
		}
	}
	return times > 1
}
