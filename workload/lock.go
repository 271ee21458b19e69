package workload

// The lock workload.
//
// Clients, some with two users on one session, acquire and release one lock again and again; they try, wait, give up,
// crash and come back. A user that holds the lock writes to a guarded resource, with the lock's token if it has one.
// A third of the holds take time: see the package documentation, Holds that take time.
//
// Properties:
//
//   - exclusion: no two clients hold the lock while both their sessions are alive. A hold begins when Lock returns
//     and ends when Unlock is called, when its user is told that it is over (see the package documentation, The end of
//     a hold), or when the session ends at the servers. exclusion-in-session is the same for two users of one session.
//   - belief: a client that has been told that its session is gone does not go on as the owner. Judged if the recipe
//     has Lost or IsOwner; else the user looks after its session itself.
//   - fencing: tokens grow from grant to grant, so that a resource that checks them accepts no write of an earlier
//     holder after one of a later holder. Judged if the recipe has Token. If no token is checked it is judged whether
//     the resource was overrun (zombie-write), which no lock can prevent alone.
//   - order: among operations that queue with sequential znodes, none is granted the lock while an older znode of a
//     waiting operation is there, whichever of an operation's znodes is its place.
//   - herd: the deletion of one znode wakes at most one waiting operation. Order and herd are not judged of a recipe
//     that does not promise them ([Unfair]).
//   - reentrance: a holder that locks again need not wait, and goes on holding the lock after the inner release. Judged
//     if the recipe has Holds: some turns lock again inside. What breaks it shows as one of the other properties.
//   - progress: once faults are healed every client gets the lock. What keeps a waiter from it is named: lost-wakeup
//     (it is first, and nothing will wake it), self-block (it waits for a znode that it made itself), orphan (it
//     waits for a znode whose operation is over), deadlock (all wait for each other).
//   - no leaks: afterwards no ephemeral znode of a finished operation is left (orphan) but what its client keeps, see
//     the package documentation, Orphans, wherever in the tree; no watch on a znode that will not come (watch-leak), no
//     goroutine (goroutine-leak).
//   - leak: after a call that no fault disturbed, calls of its operation by its user have left at most one persistent
//     znode in a directory with a sequence number, the session or a random identity in its name. So each user may keep
//     a directory, and any number of znodes may wait for the next comer to remove them.
//   - unexpected-error: no error without a reason.
//   - idle: while no fault is in effect, the lock is not free for 45 s while a client waits for it.
//   - false-lost: a user is not told that its hold is lost while its session lives, its znode is there and nothing
//     was done to it. Judged if the recipe has Lost, and of releases that fail with recipes.ErrLost. A recipe may end a
//     hold by itself, and a client that was cut off for a third of the session timeout may go by its own clock.
//   - unusable: once faults are healed a fresh operation of each user succeeds, see the package documentation,
//     Unusable for ever.
//
// Under pause, expiry and crash a holder that has not yet been told of its expiry may overlap with the next one. That
// is no violation of exclusion: it is what tokens are for.

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo/published"
)

// lockKind is the table's line for this kind, see [Kind].
var lockKind = Kind{
	Name:     "lock",
	Model:    linearizability.Lock(),
	optional: optionally[lockRecipe](),
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "no two clients hold the lock while both sessions are alive"},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops acting as the owner"},
		{Names: []string{"fencing"}, Text: "each grant has a greater token than the one before"},
		{Names: []string{"order"}, Text: "waiters get the lock in queue order"},
		{Names: []string{"herd"}, Text: "one release wakes one waiter"},
		{Text: "(order and herd are not judged for recipes that are not fair)"},
		{
			Names: []string{"progress"},
			Text:  "once faults are healed every waiter gets the lock",
			Also:  []string{"lost-wakeup", "self-block", "orphan", "deadlock"},
		},
		busy, truthful, usable, tidy, noLeaks,
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
		lockEntry("published/WriteLock", "Apache ZooKeeper 3.4.6 recipes/lock, as published",
			func(c recipes.Conn, path string) Locker { return published.NewLocker(c, path, published.AllBugs()) }),
		lockEntry("unfenced",
			"recipes.Lock before a resource that looks at no tokens: a holder that slept writes after its successor",
			newUnfenced, JudgeWrites()),
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
// and is then checked in these too.
type Locker interface {
	Lock(context.Context) error
	Unlock(context.Context) error
}

type tryLocker interface {
	TryLock(context.Context) (bool, error)
}
type reentrant interface{ Holds() int }
type caller interface{ Calls() int } // see JudgeCallbacks

// lockRecipe is a lock with what it can do, see [able].
type lockRecipe struct {
	Locker
	Try       tryLocker
	Reentrant reentrant
	Caller    caller
	holder
}

// Lock is the lock workload for a recipe. new is called once for each user of a session; all that
// it returns must be about the same lock.
func Lock(new func(c recipes.Conn, path string) Locker, opts ...Option) *Workload {
	return workloadOf("lock", linearizability.Lock(), new, planLock, opts)
}

// lockEpisode is one planned episode: the scripts, and the resource that the lock guards.
type lockEpisode struct {
	Script[lockTurn]
	new     maker[Locker]
	guarded resource
	zombies []sim.Violation // of belief, found by the users themselves
}

// lockTurn is one turn of a user: acquire, write, release.
type lockTurn struct {
	try           bool
	writes        int
	errands       []errand
	cancelRelease bool
}

func planLock(p *sim.Plan, path string, new maker[Locker]) *lockEpisode {
	return &lockEpisode{Script: planScript(p, path, 4, drawLockTurn), new: new}
}

func drawLockTurn(p *sim.Plan, label string) lockTurn {
	t := lockTurn{try: p.Choose(4, label) == 3, writes: [...]int{1, 2, 0}[p.Choose(3, label)]}
	t.cancelRelease = p.Faults.Has(sim.Cancel) && p.Choose(8, label) == 7
	t.errands = drawErrands(p, label)
	return t
}

func (e *lockEpisode) Run(u User) {
	made := func(c recipes.Conn, path string) lockRecipe { return able[lockRecipe](&e.terms, e.new(c, path)) }
	lock := made(u.Conn(), e.Path)
	h := e.household(u, func(c recipes.Conn, path string) secondObject {
		inner := made(c, path)
		return secondObject{recipe: inner.Locker, holder: inner.holder, take: inner.Lock, give: inner.Unlock}
	})
	over := func() {
		h.end()
		e.Over(lock.Locker)
	}
	e.AtDeath(u, over)
	for turn := range e.Turns(u) {
		if e.terms.shared() {
			u.Do("come", func() string { return "to the lock" })
		}
		e.turn(u, lock, turn, h)
	}
	e.afresh(u, func() *sim.Op {
		return taking(u, lock.holder, "acquire", lock.Lock, "release", lock.Unlock)
	}, func() {
		e.Over(lock.Locker)
		lock = made(u.Conn(), e.Path)
	})
	over()
}

func (e *lockEpisode) turn(u User, lock lockRecipe, turn lockTurn, home *household) {
	name, method := lockMethod(lock, turn.try)
	hold := take(u, lock.holder, name, method)
	if hold == nil {
		return
	}
	for i := range turn.writes {
		if i > 0 {
			e.again(u, lock, hold)
		}
		if !e.write(u, lock, hold) {
			break
		}
	}
	home.dwell(turn.errands, func() bool { return e.write(u, lock, hold) })
	e.countCalls(lock, hold)
	giveBack(u, lock.believer, hold, "release", lock.Unlock, turn.cancelRelease)
}

// countCalls judges how often the recipe has told its user that it holds the lock: see [JudgeCallbacks].
func (e *lockEpisode) countCalls(lock lockRecipe, h *hold) {
	if e.terms.callbacks && lock.Caller != nil && lock.Caller.Calls() > 1 {
		noting.Lock()
		defer noting.Unlock()
		e.zombies = append(e.zombies, broken("callback", []*sim.Op{h.op},
			"%s is told several times that it has acquired the lock, by one %s", Who(h.op), h.op.Name)...)
	}
}

// again locks what is held once more, if the recipe is reentrant, writes and unlocks it.
func (e *lockEpisode) again(u User, lock lockRecipe, h *hold) {
	if lock.Reentrant == nil {
		return
	}
	ctx, op := u.Begin("reacquire", "", true)
	if err := lock.Lock(ctx); err != nil {
		u.End(op, sim.Fail, "", err)
		return
	}
	u.End(op, sim.OK, "", nil)
	e.write(u, lock, h)
	ctx, op = u.Begin("rerelease", "", true)
	err := lock.Unlock(ctx)
	u.End(op, sim.OK, "", err)
}

// hold is a lock held, as its user knows it.
type hold struct {
	op    *sim.Op
	token int64
	tried bool  // by an operation that does not wait
	lost  bool  // its user has seen that Lost is closed
	asks  bool  // its user cannot be told, but has to ask
	sure  int64 // the last stamp at which the answer was that it is held; 0: it never was

	denied bool // the last answer was that it is not held
	kept   bool // the answer was that it is held when it was given back
}

// begin notes that a user has got hold of something by an operation.
func begin(u User, recipe holder, op *sim.Op) *hold {
	h := &hold{op: op}
	if recipe.Tokens != nil {
		h.token = recipe.Tokens.Token()
	}
	u.Note(op, h)
	h.lasts(u, recipe.believer, op)
	return h
}

// lasts notes how the user learns that it is over what an operation got.
func (h *hold) lasts(u User, recipe believer, op *sim.Op) {
	if recipe.Loser != nil {
		u.Lasts(op, recipe.Loser.Lost())
	} else if recipe.Owner != nil {
		h.asks = !goesBySession(recipe.Owner)
	}
}

// ask asks the recipe whether it is still held; it is false twice if the recipe cannot tell.
func (h *hold) ask(u User, recipe believer) (still, tells bool) {
	now := u.Now()
	switch {
	case recipe.Loser != nil:
		select {
		case <-recipe.Loser.Lost():
			h.lost = true
		default:
			still = true
		}
	case recipe.Owner != nil:
		still = recipe.Owner.IsOwner()
		h.denied = !still
	default:
		return false, false
	}
	if still {
		h.sure = now
	}
	return still, true
}

// result is what the operation that got it returned, as histories have it.
func (h *hold) result() linearizability.Value {
	switch {
	case h.token != 0:
		return linearizability.Int(h.token)
	case h.tried:
		return linearizability.Bool(true)
	}
	return linearizability.Null
}

// method is a way to get hold of something. Its name is kept apart from it: that is kept with the operation, and the
// method would be allocated with it.
type method struct {
	try  func(context.Context) (bool, error) // nil: it waits
	wait func(context.Context) error
}

func (m method) call(ctx context.Context) (bool, error) {
	if m.try != nil {
		return m.try(ctx)
	}
	err := m.wait(ctx)
	return err == nil, err
}

func lockMethod(lock lockRecipe, try bool) (name string, m method) {
	if try && lock.Try != nil {
		return "try", method{try: lock.Try.TryLock}
	}
	return "acquire", method{wait: lock.Lock}
}

// take runs an operation that gets hold of something; nil if it did not.
func take(u User, recipe holder, name string, m method) *hold {
	h, _ := tryTake(u, recipe, name, m)
	return h
}

// tryTake is take with the operation.
func tryTake(u User, recipe holder, name string, m method) (*hold, *sim.Op) {
	ctx, op := u.Begin(name, "", true)
	got, err := m.call(ctx)
	if !got {
		end := sim.OK // of a try: "not now"
		if err != nil {
			end = sim.Fail
		}
		u.End(op, end, "", err)
		return nil, op
	}
	h := begin(u, recipe, op)
	h.tried = m.try != nil
	u.End(op, sim.OK, strconv.FormatInt(h.token, 10), nil)
	return h, op
}

// write writes to the guarded resource if the user believes that it holds the lock.
func (e *lockEpisode) write(u User, lock lockRecipe, h *hold) bool {
	if !believes(u, lock.believer, h, &e.zombies) {
		return false
	}
	u.Do("write", func() string { return e.guarded.write(h) })
	return true
}

// noting guards what users note of violations: two may do so whom timers have woken.
var noting sync.Mutex

// believes asks the recipe, if it can tell, whether the lock is still held; a user of one that
// cannot looks after its session itself. A belief against better knowledge goes to zombies.
func believes(u User, recipe believer, h *hold, zombies *[]sim.Violation) bool {
	told := u.ExpiriesSeen() > h.op.ExpiriesSeen
	still, tells := h.ask(u, recipe)
	if !tells {
		return !told
	}
	if still && told && u.SawExpiryBefore() {
		noting.Lock()
		defer noting.Unlock()
		*zombies = append(*zombies, sim.Violation{Property: "belief", Ops: []*sim.Op{h.op}}.Saying(
			"%s, whose %s returned at step %d under session %v, goes on as the owner "+
				"although it has been told that this session expired",
			Who(h.op), h.op.Name, sim.StepOf(h.op.Return), sim.SessionID(h.op.SessionAt)))
	}
	return still
}

// goesBySession tells whether an owner knows no more than its user: whether a session has ended.
func goesBySession(o owner) bool {
	k, can := o.(interface{ GoesBySession() bool })
	return can && k.GoesBySession()
}

// giveBack ends what is held. A user whose call failed tries once more, as the recipe may have been able to do nothing.
func giveBack(u User, recipe believer, h *hold, name string, end func(context.Context) error, cancelable bool) {
	giveBackOf(u, name, "", nil, func(ctx context.Context) error {
		if h.asks && !h.kept {
			h.kept, _ = h.ask(u, recipe)
		}
		return end(ctx)
	}, cancelable)
}

// giveBackOf is giveBack by an operation with an argument, which is about something, see [User].
func giveBackOf(u User, name, arg string, about any, end func(context.Context) error, cancelable bool) {
	for range 2 {
		ctx, op := u.Begin(name, arg, cancelable)
		u.Note(op, about)
		err := end(ctx)
		u.End(op, mutationOutcome(err), "", err)
		if err == nil || gone(err) || op.Cancelled {
			return
		}
	}
}

// gone tells whether an error says that nothing is held, or not any more.
func gone(err error) bool {
	return errors.Is(err, recipes.ErrLost) || errors.Is(err, recipes.ErrNotHeld) ||
		errors.Is(err, recipes.ErrPlaceLost) || errors.Is(err, recipes.ErrNotEntered)
}

func isGone(op *sim.Op) bool { return gone(op.Err) }

func isUnknown(op *sim.Op) bool { return errors.Is(op.Err, recipes.ErrUnknownOutcome) }

// role is what one client at a time holds, and the names of the operations that take and leave it.
type role struct {
	noun, acquire, release string
	try                    string // the operation that does not wait; "" if there is none
	signed                 bool   // in histories the release has the token, too
}

var theLock = role{noun: "the lock", acquire: "acquire", release: "release", try: "try"}

// takes tells whether an operation is one to take the role.
func (r role) takes(op *sim.Op) bool { return op.Name == r.acquire || r.try != "" && op.Name == r.try }

// waits tells whether an operation waits for the role.
func (r role) waits(op *sim.Op) bool { return op.Name == r.acquire }

// holds lists the holds of the role.
func (v *View) holds(r role) []interval { return v.tenancies(r.takes, r.released) }

// released returns the first of the later operations by which a user gives up what it got by op; nil if it never did.
func (r role) released(later []*sim.Op, op *sim.Op) *sim.Op {
	for _, next := range later {
		switch {
		case clientID(next) != clientID(op):
		case next.Name == r.release:
			return next
		case r.takes(next):
			return nil
		}
	}
	return nil
}

// interval is the time for which an operation's user surely held the lock, between two stamps. It
// is empty when the session had ended before the operation returned.
type interval struct {
	op         *sim.Op
	release    *sim.Op
	token      int64
	start, end int64
	cut        string // why it ended without a release
}

const never = int64(1)<<62 - 1

// neverStep is the step of what does not happen.
const neverStep = math.MaxInt

// tenancies lists holds in the order of the grants: takes tells which operations grant one if they have a hold,
// released finds among later ones that which ends it. A hold is left out that is vague.
func (v *View) tenancies(takes func(*sim.Op) bool, released func(later []*sim.Op, op *sim.Op) *sim.Op) []interval {
	all := make([]interval, 0, (len(v.Ops)+1)/2)
	for i, op := range v.Ops {
		h, ok := op.Data.(*hold)
		if !ok || op.Outcome != sim.OK || !takes(op) || v.vague(op) {
			continue
		}
		iv := interval{op: op, token: h.token, start: op.Return, end: never}
		if iv.release = released(v.Ops[i+1:], op); iv.release != nil {
			iv.end = iv.release.Call
		}
		if end, ended := v.Crash(op.Client, op.Incarnation); ended && end < iv.end {
			iv.end, iv.cut = end, "its process died"
		}
		if end, ended := v.SessionEnd(op.SessionAt); ended && end < iv.end {
			iv.end, iv.cut = end, "its session ended"
		}
		if end := v.told(op); end < iv.end {
			iv.end = end
			switch {
			case op.Told != 0 || h.lost || h.denied:
				iv.cut = "its user was told that it is over"
			case iv.cut == "":
				iv.cut = vagueEnd
			}
		}
		// The session may have ended before the reply came that granted the lock: it was held then
		// at some time before that end.
		iv.start = min(iv.start, max(iv.end, op.Call))
		iv.end = max(iv.start, iv.end)
		all = append(all, iv)
	}
	slices.SortStableFunc(all, byGrant)
	return all
}

// told is the last stamp at which a user surely believed to hold what an operation had got, as far as its recipe tells;
// never, if it was never told otherwise. 0: there is none.
func (v *View) told(op *sim.Op) int64 {
	h, ok := op.Data.(*hold)
	switch {
	case op.Told != 0:
		return op.Told
	case ok && (h.asks && !h.kept || h.lost):
		return h.sure
	}
	return never
}

func byGrant(a, b interval) int { return cmp.Compare(a.start, b.start) }

func (e *lockEpisode) Judge(v *View) Judgement {
	holds := v.holds(theLock)
	j := e.Judging(v)
	j.Add(exclusion(v, holds, theLock, always)...)
	j.beliefs(v, e.zombies)
	j.Add(fencing(v, holds, theLock, always)...)
	j.idle(v, theLock.waits, holds, 1)
	j.inner(v)
	j.falseLost(v, holds)
	j.order(v, theLock)
	j.herds(v, 1, nil)
	j.holding(v, theLock, linearizability.Lock(), e.History(v))
	if e.terms.overrun {
		j.Add(e.guarded.zombieWrites(v, holds)...)
	}
	j.Refused = e.guarded.refused()
	return j
}

// holding is the end of a judgement of what is held: progress, errors, leaks and the history.
func (j *Judgement) holding(v *View, r role, m linearizability.Model, h linearizability.History) {
	j.Add(lockProgress(v, r)...)
	j.Add(v.UnexpectedErrors(isGone)...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
		j.Check(v, m, h)
	}
	j.History = h
}

// pair is a condition on a hold and one that was granted after it.
type pair = func(a, b interval) bool

func always(a, b interval) bool { return true }

// exclusion: of two holds that exclude each other one is over before the other begins.
func exclusion(v *View, holds []interval, r role, exclude pair) []sim.Violation {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if b.start >= a.end || b.end <= b.start || !exclude(a, b) {
				continue
			}
			property := "exclusion"
			if a.op.Client == b.op.Client && a.op.Incarnation == b.op.Incarnation {
				property = "exclusion-in-session"
			}
			return []sim.Violation{sim.Violation{Property: property, Ops: []*sim.Op{a.op, b.op}}.Saying(
				"%s holds %s from %s%s under session %v, and %s acquires it at %s under session %v",
				Who(a.op), r.noun, v.Moment(a.start), until(v, a), sim.SessionID(a.op.SessionAt),
				Who(b.op), v.Moment(b.start), sim.SessionID(b.op.SessionAt))}
		}
	}
	return nil
}

func until(v *View, a interval) string {
	if a.end == never {
		return " on"
	}
	return " to " + v.Moment(a.end)
}

// fencing: of two ordered holds of which one was over before the other began, the later has the larger token.
func fencing(v *View, holds []interval, r role, ordered pair) []sim.Violation {
	for i, a := range holds {
		for _, b := range holds[i+1:] {
			if a.token == 0 || b.token == 0 || a.end > b.start || a.token < b.token || !ordered(a, b) {
				continue
			}
			return broken("fencing", []*sim.Op{a.op, b.op},
				"%s was granted %s at %s with token %d, after %s at %s with token %d: the token did not grow",
				Who(b.op), r.noun, v.Moment(b.start), b.token, Who(a.op), v.Moment(a.start), a.token)
		}
	}
	return nil
}

// order: the lock is not granted while an older znode of a waiting operation is there.
func (j *Judgement) order(v *View, r role) {
	queue, known := v.contenders()
	if !j.Judges("order", known) {
		return
	}
	for _, x := range queue.granted() {
		for _, y := range queue {
			if y.overtakenBy(v, r, x) && queue.last(y, sim.StepOf(x.op.Return)) {
				j.Add(broken("order", []*sim.Op{y.op, x.op},
					"%s was granted %s at step %d for %s, although the older %s of %s was waiting",
					Who(x.op), r.noun, sim.StepOf(x.op.Return), x.path, y.path, Who(y.op))...)
				return
			}
		}
	}
}

// contender is a znode by which an operation may queue.
type contender struct {
	op           *sim.Op
	path, parent string
	zxid         int64
	owner        int64
	made, gone   int  // the steps at which it was made and deleted
	lost         bool // with its session
}

// overtakenBy tells whether x was granted the lock while y, which is older, was there and waited.
func (y contender) overtakenBy(v *View, r role, x contender) bool {
	granted := x.op.Return
	older := y.op != x.op && y.zxid <= x.zxid && y.parent == x.parent && y.gone > sim.StepOf(granted)
	if !older || y.op.Name != r.acquire {
		return false
	}
	end, crashed := v.Crash(y.op.Client, y.op.Incarnation)
	return (y.op.Return == 0 || y.op.Return > granted) && !(crashed && end < granted)
}

// contenders are the znodes by which operations may queue: ephemeral ones that the servers have numbered. An
// operation may make several in one directory, for an inner lock say, and only its recipe knows which of them is its
// place, and when. So an operation has overtaken another only if that is so whichever it is: of the one that was
// granted something the first that it made counts, of the one that waited the last that was there.
type contenders []contender

func (v *View) contenders() (queue contenders, known bool) {
	made, known := v.commits()
	queue = make(contenders, 0, (len(v.Ops)+1)/2)
	for i := range made.all {
		switch c := &made.all[i]; {
		case c.Op == fakezk.OpCreate && c.Owner != 0 && c.Sequential:
			if op := made.by(c); op != nil {
				queue = append(queue, contender{
					op: op, path: c.Path, parent: parentOf(c.Path), zxid: c.Zxid, owner: c.Owner,
					made: c.Step, gone: neverStep,
				})
			}
		case c.Op == fakezk.OpDelete:
			for i := range queue {
				if queue[i].path == c.Path && queue[i].gone == neverStep {
					end, ended := v.SessionEnd(queue[i].owner)
					queue[i].gone, queue[i].lost = c.Step, ended && end == sim.StampOf(c.Step)
				}
			}
		}
	}
	return queue, known
}

// granted are those for which something may have been granted: the first of their operation in their directory, but for
// such as were lost with their session while it went on.
func (queue contenders) granted() (first contenders) {
	first = make(contenders, 0, len(queue))
	for _, x := range queue {
		if x.op.Outcome != sim.OK || x.op.Data == nil || x.lost && x.gone <= sim.StepOf(x.op.Return) {
			continue
		}
		if !slices.ContainsFunc(first, func(y contender) bool { return y.op == x.op && y.parent == x.parent }) {
			first = append(first, x)
		}
	}
	return first
}

// last tells whether a contender is the last of its operation in its directory that is there at a step.
func (queue contenders) last(y contender, step int) bool {
	return !slices.ContainsFunc(queue, func(z contender) bool {
		return z.op == y.op && z.parent == y.parent && z.zxid > y.zxid && z.made <= step && z.gone > step
	})
}

// herds: a deletion wakes a number of waiting operations at most. Those that are excused do not count, nor does one
// that had made the znode itself and watched that it stays, nor one that had to queue anew: what it watched before
// wakes no operation.
func (j *Judgement) herds(v *View, most int, excused func(h sim.Herd, op *sim.Op) bool) {
	all, known := v.Herds()
	if !j.Judges("herd", known) {
		return
	}
	made, _ := v.commits()
	for _, h := range all {
		woken := h.Ops
		if len(woken) > 1 {
			maker := made.maker(h.Path)
			woken = where(woken, func(op *sim.Op) bool {
				return op != maker && !made.queuedAgain(op) && (excused == nil || !excused(h, op))
			})
		}
		if len(woken) > most {
			j.Add(herd(h, woken))
			return
		}
	}
}

func herd(h sim.Herd, woken []*sim.Op) sim.Violation {
	return sim.Violation{Property: "herd", Ops: woken}.Saying(
		"the deletion of %s (seen at step %d) wakes %d waiting operations, the first of them %s's and %s's",
		sim.Path(h.Path), h.Step, len(woken), Who(woken[0]), Who(woken[1]))
}

// lockProgress explains why an operation still waits although all faults were healed.
func lockProgress(v *View, r role) []sim.Violation {
	for _, op := range v.Waiting {
		if found := v.Blocked(op, r.noun); found.Property != "" {
			return []sim.Violation{found}
		}
	}
	return deadlock(v)
}

// deadlock: some operations wait, each behind another that waits.
func deadlock(v *View) []sim.Violation {
	if len(v.Waiting) == 0 {
		return nil
	}
	text := sim.Say("all that wait do so behind each other")
	for _, op := range v.Waiting {
		text = sim.Say("%v; %v", text, v.Explain(op))
	}
	return []sim.Violation{sim.Violation{Property: "deadlock", Ops: v.Waiting}.Saying("%v", text)}
}

// History is the episode for the model of a lock with tokens. What happened outside of operations
// is in it as releases of unknown outcome: a holder's death, or the end of its session.
func (e *lockEpisode) History(v *View) linearizability.History { return v.tenures(theLock) }

func (v *View) tenures(of role) linearizability.History {
	return v.holdings(of.takes, v.holds(of), func(interval) role { return of })
}

// holdings is the history of what is held: takes tells which operations get hold of it, and ending how a hold ends.
func (v *View) holdings(
	takes func(*sim.Op) bool, holds []interval, ending func(iv interval) role,
) linearizability.History {
	h := v.converted(func(op *sim.Op, add func(linearizability.Operation)) {
		got, held := op.Data.(*hold)
		if !takes(op) || op.Outcome == sim.OK && !held { // releases see below, and a try got nothing
			return
		}
		o := OperationOf(op)
		if held {
			o.Result = got.result()
		}
		if i := slices.IndexFunc(holds, func(iv interval) bool { return iv.op == op }); i >= 0 {
			o.Return = holds[i].start
		}
		add(o)
		if op.Outcome == sim.OK && v.vague(op) {
			add(ending(interval{op: op}).vagueEnd(op, got))
		}
	})
	for _, iv := range holds {
		if o, ended := ending(iv).releaseOf(iv); ended {
			h = append(h, o)
		}
	}
	return byReturn(h)
}

// vague tells whether what an operation was granted may have ended before it returned, at a moment that is not known,
// with its session or not: then it was perhaps held at any moment of the call, and not after it.
func (v *View) vague(op *sim.Op) bool {
	if v.told(op) == 0 {
		return true
	}
	end, ended := v.SessionEnd(op.SessionAt)
	since, known := v.SessionGone(op.SessionAt)
	return ended && end < op.Return && !(known && since == end)
}

// vagueEnd is the end of a hold of which it is not known until when it lasted: at any time from the call on.
func (of role) vagueEnd(op *sim.Op, h *hold) linearizability.Operation {
	o, _ := of.releaseOf(interval{op: op, token: h.token, start: op.Call, end: op.Call, cut: vagueEnd})
	return o
}

// releaseOf is how a hold ended, as an operation of the history; false if it did not.
func (of role) releaseOf(iv interval) (o linearizability.Operation, ended bool) {
	o = linearizability.Operation{
		Client: clientID(iv.op), Op: of.release, Call: iv.end,
		Outcome: linearizability.Unknown, Return: linearizability.Forever, Note: iv.cut,
	}
	switch {
	case iv.end == never:
		return o, false
	case iv.cut == "":
		o.Outcome, o.Return = linearizability.OK, iv.release.Return
		if iv.release.Outcome != sim.OK {
			o.Outcome, o.Return = linearizability.Unknown, linearizability.Forever
		}
	}
	if of.signed && iv.token != 0 {
		o.Result = linearizability.Int(iv.token)
	}
	return o, true
}
