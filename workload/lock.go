package workload

// The lock workload.
//
// Clients, some with two users on one session, acquire and release one lock again and again; they try, wait, give up,
// crash and come back. A user that holds the lock writes to a guarded resource, with the lock's token if it has one.
// A third of the holds take time: see longhold.go.
//
// Each user may keep a directory, and any number of znodes may wait for the next comer to remove them (leak). A holder that
// locks again need not wait, and goes on holding the lock after the inner release: what breaks that shows as one of the
// other properties.
//
// Under pause, expiry and crash a holder that has not yet been told of its expiry may overlap with the next one. That is no
// violation of exclusion: it is what tokens are for. If no token is checked the resource may be overrun (zombie-write),
// which no lock can prevent alone.

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// lockKind is the table's line for this kind, see [Kind].
var lockKind = Kind{
	Name:  "lock",
	Model: linearizability.Lock(),
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "no two clients hold the lock while both sessions are alive"},
		sober("the owner"),
		{Names: []string{"fencing"}, Text: "each grant has a greater token than the one before"},
		{Names: []string{"order"}, Text: "waiters get the lock in queue order"},
		{Names: []string{"herd"}, Text: "one release wakes one waiter"},
		{Text: "(order and herd are not judged for recipes that are not fair)"},
		served("every waiter gets the lock"),
		busy, prompt, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		lockEntry(Ours, "recipes.Lock: fair, with tokens, survives lost replies",
			func(c recipes.Conn, path string) Locker { return recipes.NewLock(c, path) }),
		lockEntry("ours/reentrant", "recipes.ReentrantLock: its owner may lock again",
			func(c recipes.Conn, path string) Locker { return recipes.NewReentrantLock(c, path) }),
		lockEntry("ours/multi", "recipes.MultiLock: several locks at once or none", newMulti, Beside(multiDirs...)),
		lockEntry("ours/simple-retry", "recipes.SimpleLock: create or try again; neither fair nor cheap",
			func(c recipes.Conn, path string) Locker { return recipes.NewSimpleRetryLock(c, path+"/holder") },
			Unfair()),
		lockEntry("ours/simple-watch", "recipes.SimpleLock: create or watch; not fair, wakes the herd",
			func(c recipes.Conn, path string) Locker { return recipes.NewSimpleWatchLock(c, path+"/holder") },
			Unfair()),
	},
}

var lockEntry = entries("lock", Lock)

// Locker is a lock as the workload uses it. A recipe may also have
//
//	TryLock(context.Context) (bool, error)
//	Lost() <-chan struct{}  // closed when the present hold is known to be lost
//	Token() int64           // of the present hold
//	IsOwner() bool
//	Holds() int             // how often it is held: its holder may lock it again
//
// Optional methods are tested, too.
type Locker interface {
	Lock(context.Context) error
	Unlock(context.Context) error
}

func tryLock(l any) trying {
	if t, has := can[interface {
		TryLock(context.Context) (bool, error)
	}](l, "TryLock"); has {
		return t.TryLock
	}
	return nil
}

// Lock is the lock workload for a recipe. new is called once for each user of a session; all that
// it returns must be about the same lock.
func Lock(new func(c recipes.Conn, path string) Locker, opts ...Option) *Workload {
	return lockContest.workload(new, opts)
}

var lockContest = contest[Locker]{
	kind: "lock", model: linearizability.Lock(),
	ways: []way[Locker]{{
		Role: roleOf("the lock", "acquire", linearizability.Lock()),
		take: Locker.Lock, give: Locker.Unlock, tries: tryLock,
	}},
	note:    "write",
	between: lockAgain,
	after:   countCalls,
	judge: func(e *contestEpisode[Locker], j *Judgement, v *View, holds []Hold) {
		if e.terms.overrun {
			j.Add(e.guarded.zombieWrites(v, holds)...)
		}
		j.Refused = e.guarded.refused()
	},
}

// lockAgain locks what is held once more, if the recipe is reentrant, writes and unlocks it.
func lockAgain(p *contestant[Locker], h *Held) {
	if _, reentrant := can[interface{ Holds() int }](p.made, "Holds"); !reentrant {
		return
	}
	ctx, op := p.Begin("reacquire", "", true)
	if err := p.made.Lock(ctx); err != nil {
		p.End(op, world.Fail, "", err)
		return
	}
	p.End(op, world.OK, "", nil)
	p.use(h)
	ctx, op = p.Begin("rerelease", "", true)
	err := p.made.Unlock(ctx)
	p.End(op, world.OK, "", err)
}

// countCalls judges how often the recipe has told its user that it holds the lock: see [Dialect].
func countCalls(p *contestant[Locker], h *Held) {
	if caller, counts := any(p.made).(interface{ Calls() int }); p.of.terms.callbacks && counts && caller.Calls() > 1 {
		h.find(Broken("callback", []*world.Op{h.op},
			"%s is told several times that it has acquired the lock, by one %s", Who(h.op), h.op.Name)[0])
	}
}

// resource is what the lock guards: it accepts a write unless it has seen a larger token.
type resource struct {
	largest int64
	writes  []write
}

type write struct {
	hold     *Held
	accepted bool
}

func (r *resource) write(h *Held) string {
	accepted := h.token >= r.largest
	r.largest = max(r.largest, h.token)
	r.writes = append(r.writes, write{h, accepted})
	if !accepted {
		return fmt.Sprintf("refused: token %d is older than %d", h.token, r.largest)
	}
	return "accepted with token " + strconv.FormatInt(h.token, 10)
}

// refused is how many stale writes came in vain.
func (r *resource) refused() (n int) {
	for _, w := range r.writes {
		if !w.accepted {
			n++
		}
	}
	return n
}

// zombieWrites finds a write that was accepted from a hold that had ended before another began, of
// which a write had been accepted already.
func (r *resource) zombieWrites(v *View, holds []Hold) []sim.Violation {
	of := map[*Held]Hold{}
	for _, iv := range holds {
		of[iv.Op.Data.(*Held)] = iv
	}
	for i, late := range r.writes {
		for _, early := range r.writes[:i] {
			a, b := of[late.hold], of[early.hold]
			if !late.accepted || !early.accepted || a.Op == nil || b.Op == nil || a.To >= b.From {
				continue
			}
			return Broken("zombie-write", []*world.Op{a.Op, b.Op},
				"the resource accepts a write of %s, whose hold was over at %s (%s), "+
					"although it has accepted one of %s, who holds the lock from %s on",
				Who(a.Op), v.Moment(a.To), a.reason(), Who(b.Op), v.Moment(b.From))
		}
	}
	return nil
}

func (iv Hold) reason() string {
	if iv.Cut != "" {
		return iv.Cut
	}
	return "it was released"
}

// multi is a lock on a path together with others, for the lock workload: the path is the one that
// is judged, and guards the resource.
type multi struct {
	*recipes.MultiLock
	path string
}

// Token returns the token of the lock that is judged.
func (m multi) Token() int64 { return m.MultiLock.Token(m.path) }

// multiDirs are the endings of the other directories.
var multiDirs = []string{"-2", "-3"}

// newMulti draws which others there are and names all in an order of its own, so that users meet on overlapping sets.
func newMulti(c recipes.Conn, path string) Locker {
	dirs := []string{path}
	draw := recipes.NewGUID(c)
	for i, ending := range multiDirs {
		if draw[i]%3 > 0 {
			dirs = append(dirs, path+ending)
		}
	}
	if draw[len(multiDirs)]%2 > 0 {
		slices.Reverse(dirs)
	}
	return multi{recipes.NewMultiLock(c, dirs), path}
}
