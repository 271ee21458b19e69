package workload

// The read/write lock workload.
//
// Clients, some with two users on one session, read and write under one lock again and again; they try, wait, ask
// holders to release, turn their writing into reading, give up, crash and come back. A third of the holds take time,
// as of a lock.
//
// Properties, besides belief, idle, false-lost, progress, no leaks, unexpected-error and unusable, which are those of a
// lock:
//
//   - exclusion: while a client whose session is alive writes, no other client whose session is alive holds the lock.
//     Holds begin and end, and exclusion-in-session is, as for a lock. A downgrade has no gap: no other writer comes
//     between.
//   - fencing: a writer's token is greater than those of all holds that were over before, a reader's greater than
//     those of all writers. Judged if the recipe has Token.
//   - order: among operations that queue with sequential znodes, none is granted the lock while an older znode of a
//     waiting operation is there, unless both read.
//   - herd: the deletion of a reader's znode wakes at most one waiting operation, that of a writer's at most one that
//     waits to write.
//   - revocation: a holder is asked to release the lock only if a user has called Revoke. Judged if the recipe has
//     Revoke and Revoked.

import (
	"context"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// rwLockKind is the table's line for this kind, see [Kind].
var rwLockKind = Kind{
	Name:     "rwlock",
	Model:    linearizability.RWLock(),
	optional: optionally[rwRecipe](),
	Promises: []Promise{
		{
			Names: []string{"exclusion"},
			Text: "a writer holds the lock alone while its session and the others' are alive; " +
				"no other writer gets in during a downgrade",
		},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops acting as a holder"},
		{
			Names: []string{"fencing"},
			Text:  "a writer's token is greater than all earlier ones, a reader's is greater than those of all earlier writers",
		},
		{Names: []string{"order"}, Text: "waiters get the lock in queue order, readers together"},
		{Names: []string{"herd"}, Text: "one release wakes at most one writer, and wakes readers only if a writer releases"},
		{Names: []string{"revocation"}, Text: "a holder is asked to release the lock only if another client has requested that"},
		{
			Names: []string{"progress"},
			Text:  "once faults are healed every waiter gets the lock",
			Also:  []string{"lost-wakeup", "self-block", "orphan", "deadlock"},
		},
		busy, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		rwLockEntry(Ours, "recipes.RWLock: fair, with tokens, downgrade and revocation",
			func(c recipes.Conn, path string) RWLocker { return recipes.NewRWLock(c, path) }),
	},
}

var rwLockEntry = entries("rwlock", RWLock)

// RWLocker is a read/write lock as the workload uses it. A user holds it in one way at a time. A recipe may also have
//
//	TryLock(context.Context) (bool, error)
//	TryRLock(context.Context) (bool, error)
//	Downgrade(context.Context) error  // after an error, Unlock ends the hold
//	Lost() <-chan struct{}            // closed when the present hold is known to be lost
//	Token() int64                     // of the present hold
//	IsOwner() bool
//	Revoke(context.Context) error     // asks the holders to release it, and
//	Revoked() <-chan struct{}         // tells the present holder of that
//
// and is then checked in these too.
type RWLocker interface {
	RLock(context.Context) error
	RUnlock(context.Context) error
	Lock(context.Context) error
	Unlock(context.Context) error
}

type tryRLocker interface {
	TryRLock(context.Context) (bool, error)
}
type downgrader interface {
	Downgrade(context.Context) error
}
type revoker interface {
	Revoke(context.Context) error
	Revoked() <-chan struct{}
}

// rwRecipe is a read/write lock with what it can do, see [able].
type rwRecipe struct {
	RWLocker
	Try       tryLocker
	TryRead   tryRLocker
	Downgrade downgrader
	Revoker   revoker
	holder
}

// RWLock is the read/write lock workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same lock.
func RWLock(new func(c recipes.Conn, path string) RWLocker, opts ...Option) *Workload {
	return workloadOf("rwlock", linearizability.RWLock(), new, planRWLock, opts)
}

// rwEpisode is one planned episode.
type rwEpisode struct {
	Script[rwTurn]
	new     maker[RWLocker]
	revokes atomic.Int64 // how often Revoke has been called
	found   []sim.Violation
}

// rwTurn is one turn of a user: acquire, use, perhaps downgrade and use again, release.
type rwTurn struct {
	reads, try, revoke, downgrade bool
	uses                          int
	errands                       []errand
	cancelRelease                 bool
}

func planRWLock(p *sim.Plan, path string, new maker[RWLocker]) *rwEpisode {
	return &rwEpisode{Script: planScript(p, path, 4, drawRWTurn), new: new}
}

func drawRWTurn(p *sim.Plan, label string) rwTurn {
	t := rwTurn{reads: p.Part(2, label) == 1, try: p.Choose(4, label) == 3}
	t.uses = [...]int{1, 2, 0}[p.Choose(3, label)]
	t.revoke = p.Choose(8, label) == 7
	t.downgrade = !t.reads && p.Choose(3, label) == 2
	t.cancelRelease = p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7
	t.errands = drawErrands(p, label)
	return t
}

func (e *rwEpisode) Run(u User) {
	made := func(c recipes.Conn, path string) rwRecipe { return able[rwRecipe](&e.terms, e.new(c, path)) }
	lock := made(u.Conn(), e.Path)
	h := e.household(u, func(c recipes.Conn, path string) secondObject {
		inner := made(c, path)
		return secondObject{recipe: inner.RWLocker, holder: inner.holder, take: inner.Lock, give: inner.Unlock}
	})
	over := func() {
		h.end()
		e.Over(lock.RWLocker)
	}
	e.AtDeath(u, over)
	for turn := range e.Turns(u) {
		e.turn(u, lock, turn, h)
	}
	e.afresh(u, func() *sim.Op {
		return taking(u, lock.holder, "acquire", lock.Lock, "release", lock.Unlock)
	}, func() {
		e.Over(lock.RWLocker)
		lock = made(u.Conn(), e.Path)
	})
	over()
}

func (e *rwEpisode) turn(u User, lock rwRecipe, turn rwTurn, home *household) {
	if turn.revoke && lock.Revoker != nil {
		e.revoke(u, lock.Revoker)
	}
	name, method := rwMethod(lock, turn)
	h := take(u, lock.holder, name, method)
	if h == nil {
		return
	}
	for range turn.uses {
		if !e.use(u, lock, h) {
			break
		}
	}
	home.dwell(turn.errands, func() bool { return e.use(u, lock, h) })
	reads := turn.reads
	if turn.downgrade && lock.Downgrade != nil {
		if reads = downgrade(u, lock, h); reads {
			e.use(u, lock, h)
		}
	}
	release, unlock := "release", lock.Unlock
	if reads {
		release, unlock = "rrelease", lock.RUnlock
	}
	giveBack(u, lock.believer, h, release, unlock, turn.cancelRelease)
}

func rwMethod(lock rwRecipe, turn rwTurn) (name string, m method) {
	switch {
	case turn.reads && turn.try && lock.TryRead != nil:
		return "rtry", method{try: lock.TryRead.TryRLock}
	case turn.reads:
		return "racquire", method{wait: lock.RLock}
	case turn.try && lock.Try != nil:
		return "try", method{try: lock.Try.TryLock}
	}
	return "acquire", method{wait: lock.Lock}
}

// use does something under the lock as long as the user believes that it holds it, and is not asked to release it.
func (e *rwEpisode) use(u User, lock rwRecipe, h *hold) bool {
	if e.asked(lock.Revoker, h) || !believes(u, lock.believer, h, &e.found) {
		return false
	}
	u.Do("use", func() string { return "under the lock" })
	return true
}

// asked tells whether the holder is asked to release the lock.
func (e *rwEpisode) asked(r revoker, h *hold) bool {
	if r == nil {
		return false
	}
	select {
	case <-r.Revoked():
	default:
		return false
	}
	if e.revokes.Load() == 0 {
		e.found = append(e.found, broken("revocation", []*sim.Op{h.op},
			"%s, whose %s returned at step %d, is asked to release the lock although nobody has called Revoke",
			Who(h.op), h.op.Name, sim.StepOf(h.op.Return))...)
	}
	return true
}

func (e *rwEpisode) revoke(u User, r revoker) {
	e.revokes.Add(1)
	ctx, op := u.Begin("revoke", "", true)
	err := r.Revoke(ctx)
	end := sim.OK
	if err != nil {
		end = sim.Unknown
	}
	u.End(op, end, "", err)
}

// downgrade turns a writer's hold into a reader's and tells whether it did.
func downgrade(u User, lock rwRecipe, h *hold) bool {
	if h.asks {
		h.ask(u, lock.believer)
	}
	ctx, op := u.Begin("downgrade", "", true)
	err := lock.Downgrade.Downgrade(ctx)
	if err != nil {
		u.End(op, sim.Unknown, "", err)
		return false
	}
	u.Note(op, h)
	h.lasts(u, lock.believer, op)
	u.End(op, sim.OK, strconv.FormatInt(h.token, 10), nil)
	return true
}

// The two ways to hold a read/write lock, see [role].
func writes(op *sim.Op) bool { return op.Name == "acquire" || op.Name == "try" }
func reads(op *sim.Op) bool {
	return op.Name == "racquire" || op.Name == "rtry" || op.Name == "downgrade"
}
func takes(op *sim.Op) bool { return writes(op) || reads(op) && op.Name != "downgrade" }

// until returns a function that finds the operation that ends a hold: the first of the user's later
// ones with one of these names, if it does not get hold of the lock again before.
func endedBy(names ...string) func(later []*sim.Op, op *sim.Op) *sim.Op {
	return func(later []*sim.Op, op *sim.Op) *sim.Op {
		for _, next := range later {
			switch {
			case clientID(next) != clientID(op):
			case slices.Contains(names, next.Name):
				return next
			case takes(next):
				return nil
			}
		}
		return nil
	}
}

func (e *rwEpisode) Judge(v *View) Judgement {
	// A downgrade ends the writing when it is called and begins the reading when it has returned.
	writers := v.tenancies(writes, endedBy("release", "downgrade"))
	readers := v.tenancies(reads, endedBy("rrelease"))
	all := slices.Concat(writers, readers)
	slices.SortStableFunc(all, byGrant)
	j := e.Judging(v)
	j.Add(exclusion(v, all, theLock, conflict)...)
	j.beliefs(v, e.found)
	j.Add(fencing(v, all, theLock, numbered)...)
	j.idle(v, waitsForLock, all, 1)
	j.inner(v)
	j.falseLost(v, all)
	j.rwOrder(v)
	made, _ := v.commits()
	j.herds(v, 1, func(h sim.Herd, op *sim.Op) bool { // a writer's end wakes any number of readers
		maker := made.maker(h.Path)
		return maker != nil && writes(maker) && reads(op)
	})
	j.holding(v, theLock, linearizability.RWLock(), e.History(v))
	return j
}

// conflict tells whether one of two holds is a writer's.
func conflict(a, b interval) bool { return writes(a.op) || writes(b.op) }

// numbered tells whether the token of the later of two holds has to be larger: not if a writer has become a reader.
func numbered(a, b interval) bool { return conflict(a, b) && a.op.Data != b.op.Data }

// rwOrder: the lock is not granted while an older znode of an operation that waits and is in its way is there.
func (j *Judgement) rwOrder(v *View) {
	queue, known := v.contenders()
	if !j.Judges("order", known) {
		return
	}
	for _, x := range queue.granted() {
		if x.op.Name == "downgrade" {
			continue
		}
		for _, y := range queue {
			overtaken := (writes(x.op) || writes(y.op)) && y.waits() && y.overtakenBy(v, role{acquire: y.op.Name}, x)
			if overtaken && queue.last(y, sim.StepOf(x.op.Return)) {
				j.Add(broken("order", []*sim.Op{y.op, x.op},
					"%s was granted the lock at step %d by %s for %s, although the older %s of %s was waiting",
					Who(x.op), sim.StepOf(x.op.Return), x.op.Name, x.path, y.path, Who(y.op))...)
				return
			}
		}
	}
}

// waits tells whether a contender does not merely try.
func (y contender) waits() bool { return waitsForLock(y.op) }

func waitsForLock(op *sim.Op) bool { return op.Name == "acquire" || op.Name == "racquire" }

// History is the episode for the model of a read/write lock with tokens. What happened outside of
// operations is in it as releases of unknown outcome: a holder's death, or the end of its session.
func (e *rwEpisode) History(v *View) linearizability.History {
	holds := v.tenancies(takes, endedBy("release", "rrelease"))
	h := v.holdings(takes, holds, func(iv interval) role { return role{release: v.ends(iv)} })
	for _, op := range v.Ops {
		if op.Name == "downgrade" {
			h = append(h, OperationOf(op))
		}
	}
	return byReturn(h)
}

// ends names the release of a hold: a reader's if it was one, or had become one.
func (v *View) ends(iv interval) string {
	downgraded := slices.ContainsFunc(v.Ops, func(op *sim.Op) bool {
		return op.Name == "downgrade" && op.Outcome == sim.OK && op.Data == iv.op.Data
	})
	if reads(iv.op) || downgraded {
		return "rrelease"
	}
	return "release"
}
