package workload_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Recipes that end their holds themselves: a leader with a term, a lock with a longest lease, holders that step down
// for others, or when they are cut off. Each is ours, which is sound, with such an end.

// ending is how a recipe ends its holds.
type ending struct {
	conn    recipes.Conn
	path    string
	after   time.Duration // a hold lasts for so long; 0: for ever
	suspend bool          // the holder steps down when it is cut off
	preempt bool          // the holder steps down when another one wants to have it

	leaves time.Duration // the znode goes first, and the user is told so much later
	silent bool          // the user is not told

	now *stint
}

// stint is one hold.
type stint struct {
	lost    chan struct{}
	given   chan struct{} // the user gives it back …
	how     func(context.Context) error
	over    chan struct{} // its znode is gone
	outcome error
}

func (e *ending) Lost() <-chan struct{} { return e.now.lost }

// take takes it when the last hold is over.
func (e *ending) take(ctx context.Context, take, give func(context.Context) error, lost func() <-chan struct{}) error {
	if e.now != nil {
		select {
		case <-e.now.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.preempt {
		e.wantIt()
	}
	if err := take(ctx); err != nil {
		return err
	}
	e.now = &stint{lost: make(chan struct{}), given: make(chan struct{}), over: make(chan struct{})}
	go e.end(e.now, lost(), give)
	return nil
}

func (e *ending) wantIt() {
	e.conn.Create(e.path+"-wanted", []byte("0"), 0, openACL)
	e.conn.Set(e.path+"-wanted", []byte("1"), -1)
}

// end ends a hold in one way or another.
func (e *ending) end(s *stint, lost <-chan struct{}, give func(context.Context) error) {
	defer close(s.over)
	var due <-chan time.Time
	var events, wanted <-chan zk.Event
	if e.after > 0 {
		due = time.After(e.after)
	}
	if e.suspend {
		events = recipes.SessionEvents(e.conn)
	}
	if e.preempt {
		_, _, wanted, _ = e.conn.GetW(e.path + "-wanted")
	}
	for {
		select {
		case <-s.given:
			s.outcome = s.how(context.Background())
			return
		case <-lost:
			close(s.lost)
			s.outcome = give(context.Background())
			return
		case event := <-events:
			if event.State != zk.StateDisconnected {
				continue
			}
		case <-wanted:
		case <-due:
		}
		break
	}
	s.outcome = recipes.ErrLost
	if e.leaves == 0 && !e.silent {
		close(s.lost)
	}
	give(context.Background())
	if e.leaves > 0 {
		time.Sleep(e.leaves)
		close(s.lost)
	}
}

// give gives it back, unless the recipe has.
func (e *ending) give(ctx context.Context, how func(context.Context) error) error {
	s := e.now
	select {
	case <-s.given:
	default:
		s.how = how
		close(s.given)
	}
	select {
	case <-s.over:
		return s.outcome
	case <-ctx.Done():
		return ctx.Err()
	}
}

type endingLock struct {
	*ending
	lock *recipes.Lock
}

func (l endingLock) Lock(ctx context.Context) error {
	return l.take(ctx, l.lock.Lock, l.lock.Unlock, l.lock.Lost)
}
func (l endingLock) Unlock(ctx context.Context) error { return l.give(ctx, l.lock.Unlock) }
func (l endingLock) Token() int64                     { return l.lock.Token() }

func locksThat(e ending) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		e := e
		e.conn, e.path = c, path
		return endingLock{&e, recipes.NewLock(c, path)}
	}, workload.Beside("-wanted"))
}

// asked is a lock whose user has to ask.
type asked struct{ workload.Locker }

func (a asked) IsOwner() bool {
	select {
	case <-a.Locker.(endingLock).Lost():
		return false
	default:
		return true
	}
}

func askedLocksThat(e ending) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		e := e
		e.conn, e.path = c, path
		return asked{endingLock{&e, recipes.NewLock(c, path)}}
	})
}

type endingRWLock struct {
	*ending
	lock *recipes.RWLock
}

func (l endingRWLock) Lock(ctx context.Context) error {
	return l.take(ctx, l.lock.Lock, l.lock.Unlock, l.lock.Lost)
}
func (l endingRWLock) RLock(ctx context.Context) error {
	return l.take(ctx, l.lock.RLock, l.lock.RUnlock, l.lock.Lost)
}
func (l endingRWLock) Unlock(ctx context.Context) error  { return l.give(ctx, l.lock.Unlock) }
func (l endingRWLock) RUnlock(ctx context.Context) error { return l.give(ctx, l.lock.RUnlock) }

type endingSemaphore struct {
	*ending
	of *recipes.Semaphore
}

func (s endingSemaphore) Acquire(ctx context.Context) error {
	return s.take(ctx, s.of.Acquire, s.of.Release, s.of.Lost)
}
func (s endingSemaphore) Release(ctx context.Context) error { return s.give(ctx, s.of.Release) }

type endingTerm struct {
	*ending
	of *recipes.Candidate
}

func (t endingTerm) Campaign(ctx context.Context) error {
	return t.take(ctx, t.of.Campaign, t.of.Resign, t.of.Lost)
}
func (t endingTerm) Resign(ctx context.Context) error { return t.give(ctx, t.of.Resign) }
func (t endingTerm) Token() int64                     { return t.of.Token() }

type endingMember struct {
	*ending
	*recipes.Group
}

func (m endingMember) Join(ctx context.Context) error {
	return m.take(ctx, m.Group.Join, m.Group.Leave, m.Group.Lost)
}
func (m endingMember) Leave(ctx context.Context) error { return m.give(ctx, m.Group.Leave) }
func (m endingMember) Lost() <-chan struct{}           { return m.ending.Lost() }

// endingQueue ends claims by itself.
type endingQueue struct {
	*recipes.LockingQueue
	how ending
}

func (q endingQueue) Claim(ctx context.Context) (workload.Claimed, error) {
	e := q.how
	var c *recipes.Claim
	err := e.take(ctx, func(ctx context.Context) (err error) {
		c, err = q.LockingQueue.Claim(ctx)
		return err
	}, func(ctx context.Context) error { return c.Release(ctx) }, func() <-chan struct{} { return c.Lost() })
	if err != nil {
		return nil, err
	}
	return endingClaim{&e, c}, nil
}

type endingClaim struct {
	*ending
	of *recipes.Claim
}

func (c endingClaim) Data() []byte                      { return c.of.Data() }
func (c endingClaim) Token() string                     { return c.of.Token() }
func (c endingClaim) Done(ctx context.Context) error    { return c.give(ctx, c.of.Done) }
func (c endingClaim) Release(ctx context.Context) error { return c.give(ctx, c.of.Release) }

const term = 300 * time.Millisecond

// kindsThat are recipes of all kinds with holds that end them in a way.
func kindsThat(e ending) map[string]*workload.Workload {
	own := func(c recipes.Conn, path string) *ending {
		e := e
		e.conn, e.path = c, path
		return &e
	}
	return map[string]*workload.Workload{
		"lock": locksThat(e),
		"rwlock": workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker {
			return endingRWLock{own(c, path), recipes.NewRWLock(c, path)}
		}),
		"semaphore": workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return endingSemaphore{own(c, path), recipes.NewSemaphore(c, path, 2)}
		}),
		"election": workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return endingTerm{own(c, path), recipes.NewCandidate(c, path)}
		}),
		"membership": workload.Membership(func(c recipes.Conn, path, name string) workload.Grouper {
			return endingMember{own(c, path), recipes.NewGroup(c, path, name)}
		}),
		"lockingqueue": workload.LockingQueue(func(c recipes.Conn, path string) workload.LockingQueuer {
			return endingQueue{recipes.NewLockingQueue(c, path), ending{conn: c, path: path, after: e.after, suspend: e.suspend}}
		}),
	}
}

func endsRightly(t *testing.T, w sim.Workload) {
	t.Helper()
	episodes := testkit.Sized(60, 10000) // a hold that is counted until it is released is in one of five
	r := campaign(t, w, sim.Config{Episodes: episodes, Seed: 1, NoShrink: true})
	for _, f := range r.Violations {
		t.Error(f.Story(w))
	}
}

// A hold that its recipe ends by itself is over when its user is told, and what it tells is true.
func TestHoldsThatTheirRecipeEnds(t *testing.T) {
	for _, e := range []ending{{after: term}, {suspend: true}} {
		for kind, w := range kindsThat(e) {
			t.Run(kind, func(t *testing.T) { endsRightly(t, w) })
		}
	}
	endsRightly(t, locksThat(ending{preempt: true}))
	endsRightly(t, askedLocksThat(ending{after: term}))
}

// Until its user is told the hold goes on: whoever lets the next one in before has two that believe that they hold it.
func TestHoldsThatEndBeforeTheirUserIsTold(t *testing.T) {
	for kind, w := range kindsThat(ending{after: term, silent: true}) {
		property := "exclusion"
		switch kind {
		case "membership":
			property = "missing"
		case "lockingqueue":
			continue
		}
		t.Run(kind, func(t *testing.T) { wantBroken(t, w, world.NoFaults, property, "") })
	}
	wantBroken(t, locksThat(ending{after: term, leaves: time.Nanosecond}), world.AllFaults, "exclusion", " ")
	wantBroken(t, locksThat(ending{after: term, leaves: time.Second}), world.NoFaults, "exclusion", " ")
	wantBroken(t, askedLocksThat(ending{after: term, leaves: 3 * time.Second}), world.NoFaults, "exclusion", " ")
}

// everybodys is a lock that excludes nobody, and whose users have to ask.
type everybodys struct{ conn recipes.Conn }

func (e everybodys) Lock(context.Context) error {
	_, _, err := e.conn.Exists("/t")
	return err
}
func (e everybodys) Unlock(ctx context.Context) error { return e.Lock(ctx) }
func (everybodys) IsOwner() bool                      { return true }

// A hold lasts until it is given back if the answer is then that it is held, and nothing else is said of it.
func TestHoldsThatLastUntilTheyAreGivenBack(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker { return everybodys{c} })
	r := campaign(t, w, sim.Config{Episodes: 20, Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	for _, v := range r.Violations {
		for _, o := range v.History.(linearizability.History) {
			if o.Note != "" {
				t.Errorf("%s: a hold ended at %d: %s", v.Property, o.Call, o.Note)
			}
		}
	}
	if len(r.Violations) == 0 {
		t.Error("no hold was judged")
	}
}
