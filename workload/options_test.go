package workload_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	brokenly "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// broken are the properties that a campaign finds broken, in alphabetical order.
func broken(t *testing.T, w *workload.Workload, faults world.Faults) (properties string) {
	t.Helper()
	r := campaign(t, w, sim.Config{
		Episodes: testkit.Sized(100, 600), Seed: 2, Faults: faults, NoFaultsAtAll: faults == world.NoFaults, NoShrink: true,
	})
	var all []string
	for _, v := range r.Violations {
		all = append(all, v.Property)
	}
	if !slices.Equal(r.Waived, w.Terms().Waived) {
		t.Errorf("the result says that %q are waived, the workload %q", r.Waived, w.Terms().Waived)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// unfair is a lock that is not fair and now and then loses a wake-up.
func unfair(opts ...workload.Option) *workload.Workload {
	return workload.Lock(brokenly.NewLock, opts...)
}

// What is waived is not reported, and what is not waived is found all the same.
func TestWaived(t *testing.T) {
	all := broken(t, unfair(), world.NoFaults)
	if !strings.Contains(all, "order") || !strings.Contains(all, "lost-wakeup") {
		t.Fatalf("broken are %s, want order and lost-wakeup among them", all)
	}
	for _, property := range strings.Fields(all) {
		got := broken(t, unfair(workload.Waive(property)), world.NoFaults)
		want := strings.Join(slices.DeleteFunc(strings.Fields(all), func(p string) bool { return p == property }), " ")
		if got != want {
			t.Errorf("without %s broken are %q, want %q", property, got, want)
		}
	}
}

// staleCounter is a counter whose number is read from whatever server.
type staleCounter struct {
	*recipes.Counter
	conn recipes.Conn
	path string
}

func (h staleCounter) Get(context.Context) (int64, error) {
	data, _, err := h.conn.Get(h.path + "/value")
	if err == zk.ErrNoNode {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(data), 10, 64)
}

// staleReads waives that a read shows what was written before it.
var staleReads = workload.Waive("stale-get", "stale-peek", "false-empty")

// A counter and a queue that read from servers that are behind are correct where stale reads are accepted.
func TestStaleReads(t *testing.T) {
	stale := map[string]func(opts ...workload.Option) *workload.Workload{
		"stale-get": func(opts ...workload.Option) *workload.Workload {
			return workload.Counter(func(c recipes.Conn, path string) workload.Adder {
				return staleCounter{recipes.NewCounter(c, path), c, path}
			}, opts...)
		},
		"false-empty": func(opts ...workload.Option) *workload.Workload {
			return workload.Queue(brokenly.NewQueue, opts...)
		},
	}
	for property, of := range stale {
		wantBroken(t, of(), world.Lag, property, map[string]string{
			"stale-get": "the counter did not have", "false-empty": "reported empty",
		}[property])
		if got := broken(t, of(staleReads), world.Lag); got != "" {
			t.Errorf("with stale reads: %q is broken", got)
		}
	}
}

var errBusy = errors.New("too busy")

// registered is a lock that registers its user beside itself, and does not make that place.
type registered struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (r registered) Lock(ctx context.Context) error {
	if err := r.Locker.Lock(ctx); err != nil {
		return err
	}
	name, err := r.conn.Create(r.path+"/holder", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err == nil {
		err = r.conn.Delete(name, -1)
	}
	if err != nil {
		r.Unlock(ctx)
	}
	return err
}

func TestBeside(t *testing.T) {
	for _, ending := range []string{"-users", "/users"} {
		of := func(opts ...workload.Option) *workload.Workload {
			return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
				return registered{recipes.NewLock(c, path), c, path + ending}
			}, opts...)
		}
		if got := broken(t, of(), world.NoFaults); got != "unexpected-error unusable" {
			t.Errorf("%s: broken is %q, want unexpected-error, and unusable, which follows", ending, got)
		}
		if got := broken(t, of(workload.Beside(ending)), world.NoFaults); got != "" {
			t.Errorf("%s: broken is %q although it is there", ending, got)
		}
	}
}

// A recipe may need something that is there, and have something that runs until it is closed.
func TestSetUpAndClosing(t *testing.T) {
	of := func(opts ...workload.Option) *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			b := background{recipes.NewLock(c, path), c, path + "-config", make(chan struct{})}
			go func() { <-b.over }()
			return b
		}, opts...)
	}
	setUp := workload.SetUp(func(c recipes.Conn, path string) error {
		_, err := c.Create(path+"-config", []byte("on"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return err
	})
	for _, c := range []struct {
		opts []workload.Option
		want string
	}{
		{nil, "unexpected-error unusable"}, // of which the second follows from the first
		{[]workload.Option{workload.Closing()}, "unexpected-error unusable"},
		{[]workload.Option{setUp}, "goroutine-leak"},
		{[]workload.Option{setUp, workload.Closing()}, ""},
	} {
		if got := broken(t, of(c.opts...), world.NoFaults); got != c.want {
			t.Errorf("%d options: broken is %q, want %q", len(c.opts), got, c.want)
		}
	}
	failing := workload.SetUp(func(recipes.Conn, string) error { return errBusy })
	if r := campaign(t, of(failing), sim.Config{Episodes: 3, Seed: 1}); r.Verdict != sim.VerdictUnknown ||
		!strings.Contains(r.Reason, "set-up failed: too busy") {
		t.Errorf("a set-up that fails: %s, %s", r.Verdict, r.Reason)
	}
}

// background is a lock that looks at a configuration, and has a goroutine until it is closed.
type background struct {
	workload.Locker
	conn   recipes.Conn
	config string
	over   chan struct{}
}

func (b background) Lock(ctx context.Context) error {
	if _, _, err := b.conn.Get(b.config); err != nil {
		return err
	}
	return b.Locker.Lock(ctx)
}

func (b background) Close() error {
	close(b.over)
	return nil
}

// messy is a lock that leaves a znode behind each time, below its path.
type messy struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (l messy) Lock(ctx context.Context) error {
	err := l.Locker.Lock(ctx)
	if err == nil {
		l.conn.Create(l.path+"/left-"+recipes.NewGUID(l.conn), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	return err
}

// In simulation a recipe may use whatever path it likes: what is judged is the same, leaks and reaped parents included.
func TestAnyPathIsJudgedAlike(t *testing.T) {
	locks := map[string]func(c recipes.Conn, path string) workload.Locker{
		"":                     func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) },
		"leak":                 func(c recipes.Conn, path string) workload.Locker { return messy{recipes.NewLock(c, path), c, path} },
		"exclusion-in-session": brokenly.NewLock,
	}
	paths := map[string]func(path string) string{
		"the one that is handed out": func(path string) string { return path },
		"at the top":                 func(string) string { return "/lock" },
		"beside it":                  func(path string) string { return path + "-2" },
		"the parent's child":         func(path string) string { return strings.TrimSuffix(path, "/lock") + "/x" },
	}
	for want, lock := range locks {
		for where, of := range paths {
			w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return lock(c, of(path)) })
			got := broken(t, w, world.Reap|world.Loss|world.Expiry)
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s: broken is %q, want %q in it", where, got, want)
			}
		}
	}
}

// What an option waives by a name of its own is a property that some kind promises.
func TestWaivedAreProperties(t *testing.T) {
	for _, property := range workload.Lock(nil, staleReads, workload.Unfair()).Terms().Waived {
		if !slices.ContainsFunc(workload.Kinds(), func(k *workload.Kind) bool {
			return slices.ContainsFunc(k.Promises, func(p workload.Promise) bool { return p.BrokenBy(property) })
		}) {
			t.Errorf("no kind promises anything that %s breaks", property)
		}
	}
}
