package workload

// The read/write lock workload.
//
// Clients, some with two users on one session, read and write under one lock again and again; they
// try, wait, ask holders to release, turn their writing into reading, give up, crash and come back.
//
// Properties:
//
//   - exclusion: while somebody writes and its session is alive, nobody else holds the lock whose
//     session is alive. A hold begins when Lock or RLock returns and ends when Unlock or RUnlock is
//     called, or when the session dies at the servers. exclusion-in-session is the same for two
//     users of one session. A downgrade has no gap: no other writer comes between.
//   - belief: a client that has been told that its session is gone does not go on as a holder.
//     Judged if the recipe has Lost or IsOwner; else the user looks after its session itself.
//   - fencing: a writer's token is greater than those of all holds that were over before, a reader's
//     greater than those of all writers. Judged if the recipe has Token.
//   - order: among operations that queue with sequential znodes, none is granted the lock while an
//     older znode of a waiting operation is there, unless both read.
//   - herd: the deletion of a reader's znode wakes at most one waiting operation, that of a writer's
//     at most one that waits to write.
//   - revocation: a holder is asked to release the lock only if somebody has called Revoke. Judged
//     if the recipe has Revoke and Revoked.
//   - progress: once faults are healed everybody gets the lock (lost-wakeup, self-block, orphan and
//     deadlock name what keeps a waiter from it).
//   - no leaks: no znode, watch or goroutine is left.
//   - unexpected-error: no error without a reason.
//
// Under pause, expiry and crash exclusion is promised as far as it says above: a holder that has
// not yet been told of its expiry may overlap with the next one. That is what tokens are for.

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// rwLockKind is the table's line for this kind, see [Kind].
var rwLockKind = Kind{
	Name:  "rwlock",
	Model: linearizability.RWLock(),
	Promises: []Promise{
		{
			Names: []string{"exclusion"},
			Text:  "while somebody writes nobody else holds the lock, both sessions being alive; no writer gets into a downgrade",
		},
		{Names: []string{"belief"}, Text: "who has been told that its session is gone does not go on as a holder"},
		{
			Names: []string{"fencing"},
			Text:  "a writer's token is greater than all before, a reader's than all writers' before",
		},
		{Names: []string{"order"}, Text: "granted in queue order, readers together"},
		{Names: []string{"herd"}, Text: "one release wakes one writer at most, and readers only if a writer releases"},
		{Names: []string{"revocation"}, Text: "a holder is asked to release only if somebody asks"},
		{
			Names: []string{"progress"},
			Text:  "once faults are healed everybody gets the lock",
			Also:  []string{"lost-wakeup", "self-block", "orphan", "deadlock"},
		},
		noLeaks,
	},
	Recipes: []Entry{
		rwLockEntry(Ours, "recipes.RWLock: fair, with tokens, downgrade and revocation", func(c recipes.Conn, path string) RWLocker {
			return recipes.NewRWLock(c, path)
		}),
	},
	remote: func(p *sim.Plan, path string) Episode { return planRWLock(p, path, newRemoteRWLock) },
	serve:  serving(func(e *rwEpisode, c recipes.Conn, path string) Served { return rwOperations(e.new(c, path)) }),
}

var rwLockEntry = entries("rwlock", RWLock)

// RWLocker is a read/write lock as the workload uses it. A user holds it in one way at a time. A
// recipe may also have
//
//	TryLock(context.Context) (bool, error)
//	TryRLock(context.Context) (bool, error)
//	Downgrade(context.Context) error  // after an error, Unlock ends the hold
//	Lost() <-chan struct{}            // closed when the present hold is known to be lost
//	Token() int64                     // of the present hold
//	IsOwner() bool
//	Revoke(context.Context) error     // asks those who hold it to release it, and
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

// RWLock is the read/write lock workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same lock.
func RWLock(new func(c recipes.Conn, path string) RWLocker, opts ...Option) *Workload {
	t := agree(opts)
	return t.workload("rwlock", linearizability.RWLock(), func(p *sim.Plan, path string) Episode {
		return planRWLock(p, path, constructs(&t, new))
	}, nil)
}

// rwEpisode is one planned episode.
type rwEpisode struct {
	Script[rwTurn]
	new     func(c recipes.Conn, path string) RWLocker
	revokes int // how often Revoke has been called
	found   []sim.Violation
}

// rwTurn is one turn of a user: acquire, use, perhaps downgrade and use again, release.
type rwTurn struct {
	reads, try, revoke, downgrade bool
	uses                          int
	cancelRelease                 bool
}

func planRWLock(p *sim.Plan, path string, new func(c recipes.Conn, path string) RWLocker) *rwEpisode {
	e := &rwEpisode{Script: NewScript[rwTurn](p, path), new: new}
	e.Missing = p.Choose(4, "the parent is missing") == 3
	e.Draw(p, p.Ops, drawRWTurn)
	return e
}

func drawRWTurn(p *sim.Plan, label string) rwTurn {
	t := rwTurn{reads: p.Choose(2, label) == 1, try: p.Choose(4, label) == 3, uses: [...]int{1, 2, 0}[p.Choose(3, label)]}
	t.revoke = p.Choose(8, label) == 7
	t.downgrade = !t.reads && p.Choose(3, label) == 2
	t.cancelRelease = p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7
	return t
}

func (e *rwEpisode) Run(u User) {
	lock := e.new(u.Conn(), e.Path)
	for turn := range e.Turns(u) {
		e.turn(u, lock, turn)
	}
	e.Over(lock)
}

func (e *rwEpisode) turn(u User, lock RWLocker, turn rwTurn) {
	if turn.revoke {
		e.revoke(u, lock)
	}
	h := take(u, lock, rwMethod(lock, turn))
	if h == nil {
		return
	}
	e.use(u, lock, h, turn.uses)
	reads := turn.reads
	if d, can := lock.(downgrader); can && turn.downgrade {
		if reads = downgrade(u, d, h); reads {
			e.use(u, lock, h, 1)
		}
	}
	name, unlock := "release", lock.Unlock
	if reads {
		name, unlock = "rrelease", lock.RUnlock
	}
	giveBack(u, name, unlock, turn.cancelRelease)
}

func rwMethod(lock RWLocker, turn rwTurn) method {
	tryer, canTry := lock.(tryLocker)
	rtryer, canTryRead := lock.(tryRLocker)
	switch {
	case turn.reads && turn.try && canTryRead:
		return method{"rtry", rtryer.TryRLock}
	case turn.reads:
		return waiting("racquire", lock.RLock)
	case turn.try && canTry:
		return method{"try", tryer.TryLock}
	}
	return waiting("acquire", lock.Lock)
}

// use does something under the lock as long as the user believes that it holds it, and nobody asks
// for it.
func (e *rwEpisode) use(u User, lock RWLocker, h *hold, times int) {
	for range times {
		if e.asked(lock, h) || !believes(u, lock, h, &e.found) {
			return
		}
		u.Do("use", func() string { return "under the lock" })
	}
}

// asked tells whether somebody wants the lock to be released.
func (e *rwEpisode) asked(lock RWLocker, h *hold) bool {
	r, can := lock.(revoker)
	if !can {
		return false
	}
	select {
	case <-r.Revoked():
	default:
		return false
	}
	if e.revokes == 0 {
		e.found = append(e.found, sim.Violation{Property: "revocation", Ops: []*sim.Op{h.op}, Message: fmt.Sprintf(
			"%s, whose %s returned at step %d, is asked to release the lock although nobody has called Revoke",
			Who(h.op), h.op.Name, sim.StepOf(h.op.Return))})
	}
	return true
}

func (e *rwEpisode) revoke(u User, lock RWLocker) {
	r, can := lock.(revoker)
	if !can {
		return
	}
	e.revokes++
	ctx, op := u.Begin("revoke", "", true)
	err := r.Revoke(ctx)
	end := sim.OK
	if err != nil {
		end = sim.Unknown
	}
	u.End(op, end, "", err)
}

// downgrade turns a writer's hold into a reader's and tells whether it did.
func downgrade(u User, lock downgrader, h *hold) bool {
	ctx, op := u.Begin("downgrade", "", true)
	err := lock.Downgrade(ctx)
	if err != nil {
		u.End(op, sim.Unknown, "", err)
		return false
	}
	u.Note(op, h)
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
	all := inOrder(writers, readers)
	j := e.Judging(v)
	j.Add(rwExclusion(v, all)...)
	j.beliefs(v, e.found)
	j.Add(rwFencing(v, all)...)
	j.rwOrder(v)
	j.rwHerds(v)
	j.Add(lockProgress(v, theLock)...)
	j.Add(v.UnexpectedErrors(func(op *sim.Op) bool { return gone(op.Err) })...)
	h := e.History(v)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
		j.Check(v, linearizability.RWLock(), h)
	}
	j.History = h
	return j
}

func inOrder(lists ...[]interval) []interval {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b interval) int { return int(a.start - b.start) })
	return all
}

func rwExclusion(v *View, holds []interval) []sim.Violation {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if !writes(a.op) && !writes(b.op) {
				continue
			}
			if found := exclusion(v, []interval{a, b}, theLock); found != nil {
				return found
			}
		}
	}
	return nil
}

func rwFencing(v *View, holds []interval) []sim.Violation {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			same := a.op.Data == b.op.Data // a writer that has become a reader
			if same || !writes(a.op) && !writes(b.op) {
				continue
			}
			if found := fencing(v, []interval{a, b}, theLock); found != nil {
				return found
			}
		}
	}
	return nil
}

// rwOrder: nobody is granted the lock while an older znode of an operation that waits and is in its
// way is there.
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
			if (writes(x.op) || writes(y.op)) && y.waits() && y.overtakenBy(v, role{acquire: y.op.Name}, x) && queue.last(y, sim.StepOf(x.op.Return)) {
				j.Add(sim.Violation{Property: "order", Ops: []*sim.Op{y.op, x.op}, Message: fmt.Sprintf(
					"%s was granted the lock at step %d by %s for %s, although the older %s of %s was waiting",
					Who(x.op), sim.StepOf(x.op.Return), x.op.Name, x.path, y.path, Who(y.op))})
				return
			}
		}
	}
}

// waits tells whether a contender does not merely try.
func (y contender) waits() bool { return y.op.Name == "acquire" || y.op.Name == "racquire" }

// rwHerds: a reader's end wakes one, a writer's wakes one writer, and readers as many as there are.
func (j *Judgement) rwHerds(v *View) {
	all, known := v.Herds()
	if !j.Judges("herd", known) {
		return
	}
	made, _ := v.commits()
	for _, h := range all {
		woken := v.woken(h)
		if maker := made.maker(h.Path); maker != nil && writes(maker) {
			woken = slices.DeleteFunc(slices.Clone(woken), reads)
		}
		if len(woken) > 1 {
			j.Add(herd(h, woken))
			return
		}
	}
}

// History is the episode for the model of a read/write lock with tokens. What happened outside of
// operations is in it as releases of unknown outcome: a holder's death, or the end of its session.
func (e *rwEpisode) History(v *View) linearizability.History {
	holds := v.tenancies(takes, endedBy("release", "rrelease"))
	h := v.History(func(op *sim.Op, add func(linearizability.Operation)) {
		o := OperationOf(op)
		if got, ok := op.Data.(*hold); ok && got.token != 0 && takes(op) {
			o.Result = linearizability.Int(got.token)
		}
		if i := slices.IndexFunc(holds, func(iv interval) bool { return iv.op == op }); i >= 0 {
			o.Return = holds[i].start
		}
		refused := op.Outcome == sim.OK && op.Data == nil
		if (takes(op) || op.Name == "downgrade") && !refused {
			add(o)
		}
		if got, ok := op.Data.(*hold); ok && takes(op) && op.Outcome == sim.OK && v.vague(op) {
			add(role{release: v.ends(interval{op: op})}.vagueEnd(op, got)[0])
		}
	})
	for _, iv := range holds {
		h = append(h, role{release: v.ends(iv)}.releaseOf(iv)...)
	}
	slices.SortStableFunc(h, cmpReturn)
	return h
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
