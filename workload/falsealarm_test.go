package workload_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Recipes as users may write them, which are right, and share nothing with ours.

func accusesNot(t *testing.T, w sim.Workload, faults world.Faults) {
	t.Helper()
	r := campaign(t, w, sim.Config{Episodes: testkit.Sized(150, 400), Seed: 1, Faults: faults, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("under %v: %s (%s)", faults, r.Verdict, r.Reason)
	}
	for _, f := range r.Violations {
		t.Log(f.Story(w))
	}
}

func accuses(t *testing.T, w sim.Workload, faults world.Faults, property, part string) {
	t.Helper()
	r := campaign(t, w, sim.Config{Episodes: 1000, Until: property, Seed: 1, Faults: faults, NoFaultsAtAll: true,
		NoShrink: true})
	if text := messageOf(r, property); !strings.Contains(text, part) {
		t.Errorf("under %v: %s has the message %q, want %q in it (verdict %s)", faults, property, text, part, r.Verdict)
	}
}

// oneRoom is a fair semaphore with an inner lock and its leases in one directory: the holder of the lock waits for a
// lease, and then makes room for the next.
type oneRoom struct {
	conn    recipes.Conn
	dir     string
	permits int
	lease   string
}

func (s *oneRoom) Acquire(context.Context) error {
	if _, err := s.conn.Create(s.dir, nil, 0, openACL); err != nil && err != zk.ErrNodeExists {
		return err
	}
	lock, err := s.queue("lock-", 1)
	if err != nil {
		return err
	}
	if s.lease, err = s.queue("lease-", s.permits); err != nil {
		return err
	}
	return s.conn.Delete(lock, -1)
}

func (s *oneRoom) Release(context.Context) error { return s.conn.Delete(s.lease, -1) }

// queue makes a znode and waits until it is one of the first n of its kind.
func (s *oneRoom) queue(kind string, first int) (own string, err error) {
	own, err = s.conn.Create(s.dir+"/"+kind, nil, zk.FlagEphemeralSequential, openACL)
	for err == nil {
		var names []string
		if names, _, err = s.conn.Children(s.dir); err != nil {
			break
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, kind) })
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
		i := slices.Index(names, own[len(s.dir)+1:])
		switch {
		case i < 0:
			return "", zk.ErrSessionExpired
		case i < first:
			return own, nil
		}
		_, _, gone, failed := s.conn.GetW(s.dir + "/" + names[i-first])
		switch failed {
		case zk.ErrNoNode:
		case nil:
			<-gone
		default:
			err = failed
		}
	}
	return "", err
}

func TestInnerLockBesideItsLeases(t *testing.T) {
	for _, permits := range []int{1, 2} {
		accusesNot(t, workload.Semaphore(permits, func(c recipes.Conn, path string) workload.Permitter {
			return &oneRoom{conn: c, dir: path, permits: permits}
		}, workload.Waive("idle")), world.Crash) // who waits for a permit watches one of those before it, which may keep its own
	}
}

// roomy is a lock that keeps house: it makes a directory for its queue, one more that it may need one day, a znode
// that says that all is set up, and one with a number that it writes.
type roomy struct {
	conn recipes.Conn
	path string
	lock *recipes.Lock
}

func newRoomy(c recipes.Conn, path string) workload.Locker {
	return &roomy{c, path, recipes.NewLock(c, path+"/house/queue")}
}

func (r *roomy) Lock(ctx context.Context) error {
	for _, name := range []string{"", "/house", "/house/queue", "/house/attic", "/house/built", "/number"} {
		if _, err := r.conn.Create(r.path+name, nil, 0, openACL); err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	if _, _, err := r.conn.Exists(r.path + "/house/built"); err != nil {
		return err
	}
	if err := r.lock.Lock(ctx); err != nil {
		return err
	}
	r.conn.Set(r.path+"/number", []byte("1"), -1)
	return nil
}

func (r *roomy) Unlock(ctx context.Context) error { return r.lock.Unlock(ctx) }

// Helpers are no litter, though their maker died before it used them, or failed, and though it may be long before
// one is used.
func TestHelpersAreNoLeak(t *testing.T) {
	for _, place := range []string{"", "/apart"} {
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return newRoomy(c, cmp.Or(place, path))
		})
		accusesNot(t, w, world.NoFaults)
		accusesNot(t, w, world.Crash|world.Pause|world.Expiry|world.Lag|world.Time)
	}
}

// untold is a lock whose constructor's path is made by the user: a process that dies may just have made the directory.
type untold struct {
	conn recipes.Conn
	lock *recipes.Lock
	dir  string
}

func (u *untold) Lock(ctx context.Context) error {
	for _, dir := range []string{parentOf(u.dir), u.dir} {
		if _, err := u.conn.Create(dir, nil, 0, openACL); err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	return u.lock.Lock(ctx)
}

func (u *untold) Unlock(ctx context.Context) error { return u.lock.Unlock(ctx) }

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

func TestProcessThatDiesBeforeTheFirstChild(t *testing.T) {
	for _, place := range []string{"/t/mine", "/own/place"} {
		accusesNot(t, workload.Lock(func(c recipes.Conn, _ string) workload.Locker {
			return &untold{c, recipes.NewLock(c, place), place}
		}), world.Crash|world.Loss)
	}
}

// noted is a counter that leaves a note of each adder for as long as its session lives, as ours does, by another name.
type noted struct {
	conn recipes.Conn
	path string
	each bool // and does so for each addition
	note string
}

func (n *noted) Add(_ context.Context, by int64) (int64, error) {
	if n.note == "" || n.each {
		n.note, _ = n.conn.Create(n.path+"-adder-", nil, zk.FlagEphemeralSequential, openACL)
	}
	for {
		sum, version, err := n.get()
		if err == nil {
			_, err = n.conn.Set(n.path, []byte(strconv.FormatInt(sum+by, 10)), version)
		}
		if err != zk.ErrBadVersion {
			return sum + by, err
		}
	}
}

func (n *noted) Get(context.Context) (int64, error) {
	sum, _, err := n.get()
	return sum, err
}

func (n *noted) get() (sum int64, version int32, err error) {
	data, stat, err := n.conn.Get(n.path)
	switch {
	case err == zk.ErrNoNode:
		if _, err = n.conn.Create(n.path, []byte("0"), 0, openACL); err == nil || err == zk.ErrNodeExists {
			return n.get()
		}
		return 0, 0, err
	case err != nil || len(data) == 0:
		return 0, stat.Version, err
	}
	sum, err = strconv.ParseInt(string(data), 10, 64)
	return sum, stat.Version, err
}

func TestNotesOfASession(t *testing.T) {
	new := func(each bool) *workload.Workload {
		return workload.Counter(func(c recipes.Conn, path string) workload.Adder {
			return &noted{conn: c, path: path, each: each}
		})
	}
	accusesNot(t, new(false), world.NoFaults)
	accuses(t, new(true), world.NoFaults, "orphan", "-adder-")
}

// littering is a lock at a place that litters there.
func littering(place string, litter func(c recipes.Conn, dir string)) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, _ string) workload.Locker {
		return dirty{recipes.NewLock(c, place), c, place, litter}
	})
}

type dirty struct {
	workload.Locker
	conn   recipes.Conn
	dir    string
	litter func(c recipes.Conn, dir string)
}

func (d dirty) Lock(ctx context.Context) error {
	err := d.Locker.Lock(ctx)
	if err == nil {
		d.litter(d.conn, d.dir)
	}
	return err
}

// A lock that litters is found to, wherever it does: it need not be told where.
func TestLitterAnywhere(t *testing.T) {
	ways := map[string]func(c recipes.Conn, dir string){
		"sequence": func(c recipes.Conn, dir string) { c.Create(dir+"/litter-", []byte("x"), zk.FlagSequence, openACL) },
		"guid":     func(c recipes.Conn, dir string) { c.Create(dir+"/"+recipes.NewGUID(c), []byte("x"), 0, openACL) },
	}
	for name, litter := range ways {
		t.Run(name, func(t *testing.T) {
			for _, place := range []string{"/t/lock", "/lock", "/t/lock/inner"} {
				accuses(t, littering(place, litter), world.NoFaults, "leak", place+"/")
			}
		})
	}
	for _, place := range []string{"/t/lock", "/lock"} {
		accuses(t, littering(place, func(c recipes.Conn, dir string) {
			c.Create(dir+"-held-", nil, zk.FlagEphemeralSequential, openACL)
		}), world.NoFaults, "orphan", place+"-held-")
	}
}

// housed is a lock whose objects have a directory each, for as long as they like.
type housed struct {
	workload.Locker
	conn recipes.Conn
	dir  string
	made bool
}

func newHoused(c recipes.Conn, path string) workload.Locker {
	return &housed{Locker: recipes.NewLock(c, path+"/queue"), conn: c, dir: path + "/" + recipes.NewGUID(c)}
}

func (h *housed) Lock(ctx context.Context) error {
	if !h.made { // one that has given up meanwhile leaves it as empty as one that has used it
		for _, dir := range []string{parentOf(h.dir), h.dir} {
			if _, err := h.conn.Create(dir, nil, 0, openACL); err != nil && err != zk.ErrNodeExists {
				return err
			}
		}
		h.made = true
	}
	return h.Locker.Lock(ctx)
}

func (h *housed) Unlock(ctx context.Context) error {
	h.conn.Create(h.dir+"/used", nil, 0, openACL)
	h.conn.Delete(h.dir+"/used", -1)
	return h.Locker.Unlock(ctx)
}

// swept is a lock whose comers leave a znode each, which the next comer removes.
type swept struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func newSwept(c recipes.Conn, path string) workload.Locker {
	return swept{recipes.NewLock(c, path+"/queue"), c, path}
}

func (s swept) Lock(ctx context.Context) error {
	s.conn.Create(s.path, nil, 0, openACL)
	names, _, _ := s.conn.Children(s.path)
	for _, name := range names {
		if strings.HasPrefix(name, "comer-") {
			s.conn.Delete(s.path+"/"+name, -1)
		}
	}
	s.conn.Create(s.path+"/comer-", nil, zk.FlagSequence, openACL)
	return s.Locker.Lock(ctx)
}

// What a process keeps, and what the next comer removes, is no leak.
func TestOneOfItsOwnIsNoLeak(t *testing.T) {
	for _, new := range []func(recipes.Conn, string) workload.Locker{newHoused, newSwept} {
		accusesNot(t, workload.Lock(new, workload.Existing()), world.NoFaults)
		accusesNot(t, workload.Lock(new, workload.Existing()), world.AllFaults)
	}
}

// Empty directories are removed anywhere.
func TestReapAnywhere(t *testing.T) {
	for _, place := range []string{"/t/lock", "/lock", "/deep/down/lock"} {
		w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker { return &once{conn: c, dir: place} })
		accuses(t, w, world.Reap, "unexpected-error", "node does not exist")
	}
}

// once makes its directory once, and queues in it.
type once struct {
	conn recipes.Conn
	dir  string
	made bool
	lock oneRoom
}

func (o *once) Lock(ctx context.Context) error {
	for i := 1; i <= len(o.dir) && !o.made; i++ {
		if i == len(o.dir) || o.dir[i] == '/' {
			o.conn.Create(o.dir[:i], nil, 0, openACL)
		}
	}
	o.made = true
	o.lock = oneRoom{conn: o.conn, dir: o.dir, permits: 1}
	own, err := o.lock.queue("lock-", 1)
	o.lock.lease = own
	return err
}

func (o *once) Unlock(ctx context.Context) error { return o.lock.Release(ctx) }
