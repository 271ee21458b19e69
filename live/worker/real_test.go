package worker_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// expires is the timeout of sessions that are to expire.
const expires = 4 * time.Second

// realServers is a real ZooKeeper, and an observer of it.
func realServers(t *testing.T) (*ensemble.Ensemble, *zkclient.Client) {
	t.Helper()
	e := ensembletest.Share(t, 1)
	return e, ensembletest.Witness(t, e.ConnectString())
}

func notShort(t *testing.T) {
	t.Helper()
	testkit.NeedServers(t)
}

// run runs rounds of a recipe that is served by a command.
func run(t *testing.T, e *ensemble.Ensemble, observer *zkclient.Client, kind, command string, rounds int,
	until string) (sim.Result, linearizability.History) {
	t.Helper()
	w, err := worker.Find(kind, "exec:worker")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var opened atomic.Int64
	var history bytes.Buffer
	result, err := live.Run(ctx, w, live.Config{
		Open: func(ctx context.Context) (*live.Session, error) {
			if opened.Add(1) == 1 { // who makes and removes the objects
				never := func() int { return 0 }
				return &live.Session{Conn: observer, Close: func() {}, ExpiriesSeen: never, Broken: never}, nil
			}
			c, err := worker.Start(ctx, worker.Config{Command: command, Kind: kind, Servers: e.ConnectString(),
				SessionTimeout: ensembletest.Lasting, Fail: cancel})
			if err != nil {
				return nil, err
			}
			return live.RemoteSession(c, observer), nil
		},
		Root: "/" + path.Base(t.Name()), Seed: 1, Rounds: rounds, Clients: 2, Ops: 4, Workers: 1, Patience: testkit.Hang,
		Until: until, History: &history,
	})
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		t.Fatal(err)
	}
	h, err := histories.Read(&history)
	if err != nil {
		t.Fatal(err)
	}
	return result, h
}

// done counts the operations of a name that were carried out, and those of any that were not.
func done(h linearizability.History, op string) (times, failed int) {
	for _, o := range h {
		switch {
		case o.Outcome != linearizability.OK:
			failed++
		case o.Op == op:
			times++
		}
	}
	return times, failed
}

func messages(r sim.Result) (text string) {
	for _, found := range r.Violations {
		text += "\n\t" + found.Property + ": " + found.Message
	}
	return text
}

// Our own recipes pass in processes of their own, and a broken one is caught.
func TestOursOnRealServers(t *testing.T) {
	e, observer := realServers(t)
	rounds := testkit.Sized(3, 15)
	some := map[string]string{ // the others are shown by TestDetourChangesNothing
		"lock": "acquire", "queue": "offer", "membership": "join", "doublebarrier": "enter", "registry": "register",
	}
	all := map[string]string{
		"counter": "add", "election": "elected", "rwlock": "acquire", "semaphore": "acquire", "barrier": "wait",
		"lockingqueue": "claim", "cache": "next", "ids": "lease", "shards": "share",
	}
	maps.Copy(all, some)
	for kind, op := range testkit.Sized(some, all) {
		r, h := run(t, e, observer, kind, inRole("recipe", "ours"), rounds, "")
		times, failed := done(h, op)
		t.Logf("%s: %d operations in %v", kind, r.Operations, r.Elapsed)
		if r.Verdict != sim.VerdictOK || r.Episodes != rounds || times < rounds {
			t.Errorf("%s: %s (%s), %d rounds, %s %d times, %d operations failed%s", kind, r.Verdict, r.Reason,
				r.Episodes, op, times, failed, messages(r))
		}
	}
	testkit.Until(t, "a broken lock is caught", func() bool {
		r, _ := run(t, e, observer, "lock", inRole("recipe", "broken"), 30, "exclusion")
		t.Logf("a broken lock: %d operations in %v%s", r.Operations, r.Elapsed, messages(r))
		return slices.ContainsFunc(r.Violations,
			func(f sim.Found) bool { return strings.HasPrefix(f.Property, "exclusion") })
	})
}

// python is the interpreter for which Debian's packages are.
const python = "/usr/bin/python3"

// kazoo is the command of the kazoo example; the test is skipped without kazoo.
func kazoo(t *testing.T) string {
	t.Helper()
	notShort(t)
	if err := exec.CommandContext(t.Context(), python, "-c", "import kazoo").Run(); err != nil {
		t.Skipf("SKIPPED, so kazoo is not tested: %s has no kazoo (Debian: apt-get install python3-kazoo)", python)
	}
	return python + " '" + top(t, "examples", "kazoo", "worker.py") + "'"
}

// top is the absolute path of a file of the repository.
func top(t *testing.T, parts ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// curator is the command of the Curator example, compiled; the test is skipped without Curator or a compiler.
func curator(t *testing.T) string {
	t.Helper()
	notShort(t)
	const jar = "/usr/share/java/curator-recipes.jar"
	if _, err := os.Stat(jar); err != nil {
		t.Skipf("SKIPPED, so Curator is not tested: there is no %s (Debian: apt-get install libcurator-recipes-java)", jar)
	}
	return javaWorker(t, jar, "examples/curator/CuratorWorker.java")
}

// javaWorker is the command of a worker in Java, compiled; the test is skipped without a compiler.
func javaWorker(t *testing.T, classpath, source string) string {
	t.Helper()
	if _, err := exec.LookPath("javac"); err != nil {
		t.Skip("SKIPPED, so the library for Java is not tested: there is no javac " +
			"(Debian: apt-get install default-jdk-headless)")
	}
	classes := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "javac", "-Xlint:all,-path", "-Werror", "-d", classes, "-cp", classpath,
		top(t, "workers", "java", "Worker.java"), top(t, source))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return "exec java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp " + classpath + ":'" + classes + "' " +
		strings.TrimSuffix(filepath.Base(source), ".java")
}

// The libraries for workers say what a recipe did, in which session, and what became of that; they have it give up, and
// keep to themselves what it prints.
func TestLibraries(t *testing.T) {
	for name, command := range map[string]func(*testing.T) string{
		"python": func(t *testing.T) string {
			if _, err := exec.LookPath("python3"); err != nil {
				t.Skip("SKIPPED, so the library for Python is not tested: there is no python3")
			}
			return "PYTHONPATH='" + top(t, "workers", "python") + "' python3 testdata/memory.py"
		},
		"java": func(t *testing.T) string { return javaWorker(t, ".", "live/worker/testdata/Memory.java") },
	} {
		t.Run(name, func(t *testing.T) {
			command := command(t)
			printed := &lines{}
			c, told := start(t, worker.Config{Command: command, Kind: "queue", Stderr: printed})
			do := func(ctx context.Context, op, item string) (worker.Answer, error) {
				call := worker.Call{Path: "/q", Op: op}
				if item != "" {
					call.Arg = linearizability.Str(item)
				}
				return c.Do(ctx, call)
			}
			if !c.Can("take") || c.Can("peek") || c.SessionID() != 10 {
				t.Errorf("take %v, peek %v, session %d", c.Can("take"), c.Can("peek"), c.SessionID())
			}
			const text = "\"ä\\\n\u2028"
			for _, item := range []string{text, "fail", "unknown", "expire"} {
				answer, err := do(t.Context(), "offer", item)
				unknown := errors.Is(err, recipes.ErrUnknownOutcome)
				if (err != nil) != (item == "fail" || item == "unknown") || unknown != (item == "unknown") {
					t.Errorf("offer of %q: %v", item, err)
				}
				if known := answer.Session == 10; known != (item != "expire") {
					t.Errorf("offer of %q in session %d", item, answer.Session)
				}
			}
			if c.Broken() != 1 || c.ExpiriesSeen() != 1 || c.SessionID() != 11 || !c.Connected() {
				t.Errorf("broken %d, expired %d, session %d", c.Broken(), c.ExpiriesSeen(), c.SessionID())
			}
			for i, want := range []linearizability.Value{
				linearizability.Str(text), linearizability.Str("expire"), linearizability.Null,
			} {
				answer, err := do(t.Context(), [...]string{"take", "poll", "poll"}[i], "")
				wantResult(t, answer, err, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := do(ctx, "take", ""); !errors.Is(err, recipes.ErrUnknownOutcome) {
				t.Errorf("a take that gave up: %v", err)
			}
			if _, alive := c.Pid(); !alive || told.told() != nil || !strings.Contains(printed.String(), "offered expire") {
				t.Errorf("%v: %s", c.Err(), printed)
			}
			own, _ := start(t, worker.Config{Command: command, Kind: "own"})
			for op, result := range map[string]linearizability.Value{
				"echo": linearizability.Str(text), "size": linearizability.Int(7),
			} {
				answer, err := own.Do(t.Context(), worker.Call{Path: "/o", Op: op, Arg: map[string]linearizability.Value{"echo": result}[op]})
				wantResult(t, answer, err, result)
			}
			for kind, why := range map[string]string{
				"lock": "there is no lock here: there are ", "counter": "Counter has no method for get",
			} {
				_, err := worker.Start(t.Context(), worker.Config{Command: command, Kind: kind})
				wantError(t, err, "it says: "+why)
			}
		})
	}
}

// The foreign recipes carry out what is asked of them, and where nothing strikes they pass; but for the queues,
// of which at least Curator's may call a queue empty that never was: it lists once, and others take what it saw.
// Kazoo's locks with readers block each other for ever, and double barriers of both mix rounds: they only begin.
func TestForeignRecipes(t *testing.T) {
	e, observer := realServers(t)
	sound := map[string]string{ // and an operation of each
		"lock": "acquire", "semaphore": "acquire", "election": "elected", "queue": "offer", "counter": "add",
		"barrier": "wait",
	}
	for name, of := range map[string]struct {
		command func(*testing.T) string
		own     map[string]string // kinds …
		some    []string          // … and those of the sound ones that are tried each time
	}{
		"kazoo":   {kazoo, map[string]string{"lockingqueue": "claim", "membership": "join"}, []string{"lock", "queue"}},
		"curator": {curator, map[string]string{"rwlock": "racquire"}, []string{"semaphore", "election", "counter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := of.command(t)
			kinds := maps.Clone(sound)
			maps.DeleteFunc(kinds, func(kind, _ string) bool { return !testkit.Thorough() && !slices.Contains(of.some, kind) })
			maps.Copy(kinds, of.own)
			rounds := testkit.Sized(4, 10)
			for kind, op := range kinds {
				r, h := run(t, e, observer, kind, command, rounds, "")
				times, failed := done(h, op)
				t.Logf("%s: %s, %d operations, %s %d times, %d failed, %v", kind, r.Verdict, r.Operations, op, times,
					failed, r.Elapsed.Round(time.Millisecond))
				if r.Verdict != sim.VerdictOK && kind != "queue" || times < rounds/2 {
					t.Errorf("%s: %s (%s), %s %d times, %d operations failed%s", kind, r.Verdict, r.Reason, op, times,
						failed, messages(r))
				}
			}
			for kind, ops := range map[string][]string{
				"rwlock": {"racquire", "rrelease", "acquire", "release"}, "doublebarrier": {"enter", "leave"},
			} {
				c, _ := start(t, worker.Config{
					Command: command, Kind: kind, Servers: e.ConnectString(), SessionTimeout: ensembletest.Lasting,
				})
				for _, op := range ops {
					together(t, c, "/"+name+"-o", op, map[string]int{"enter": 2, "leave": 2}[op])
				}
			}
			_, err := worker.Start(t.Context(),
				worker.Config{Command: command, Kind: "priorityqueue", Servers: e.ConnectString(),
					SessionTimeout: ensembletest.Lasting})
			wantError(t, err, "it says: there is no priorityqueue here")
		})
	}
}

// together has a number of users carry out an operation at the same time; one, if it is 0.
func together(t *testing.T, c *worker.Client, path, op string, users int) {
	t.Helper()
	var all sync.WaitGroup
	for user := range max(users, 1) {
		all.Go(func() {
			if _, err := c.Do(testkit.Context(t), worker.Call{User: user, Path: path, Op: op}); err != nil {
				t.Errorf("%s: %v", op, err)
			}
		})
	}
	all.Wait()
}

// A holder that sleeps for longer than its session lasts is replaced, has been told so when it wakes up, and has
// the smaller token; one that is killed is replaced, too, and its next process holds nothing.
func TestPauseAndKillOnRealServers(t *testing.T) {
	e, observer := realServers(t)
	ours := func(*testing.T) string { return inRole("recipe", "ours") }
	some := map[string]func(*testing.T) string{"ours": ours, "kazoo": kazoo}
	all := map[string]func(*testing.T) string{"ours": ours, "kazoo": kazoo, "curator": curator}
	for name, command := range testkit.Sized(some, all) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := command(t)
			sleeper, other := client(t, e, command, expires), client(t, e, command, expires)
			path := "/" + name + "/lock"
			for _, p := range []string{"/" + name, path} {
				observer.Create(p, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			}
			first := acquire(t, sleeper, path)
			if err := sleeper.Pause(); err != nil {
				t.Fatal(err)
			}
			second := acquire(t, other, path)
			if first.Session == 0 || second.Session == 0 || first.Session == second.Session {
				t.Errorf("sessions %x and %x", first.Session, second.Session)
			}
			if first.Result.IsInt() && first.Result.Int() >= second.Result.Int() {
				t.Errorf("tokens %v and %v", first.Result, second.Result)
			}
			if sleeper.ExpiriesSeen() != 0 {
				t.Error("the sleeper was told in its sleep")
			}
			if err := sleeper.Resume(); err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, "the sleeper is told, and has another session", func() bool {
				return sleeper.ExpiriesSeen() > 0 && sleeper.Connected() && sleeper.SessionID() != first.Session
			})
			if err := other.Kill(); err != nil {
				t.Fatal(err)
			}
			_, err := other.Do(t.Context(), worker.Call{Path: path, Op: "release", Incarnation: second.Incarnation})
			wantIs(t, err, recipes.ErrLost)
			third := acquire(t, other, path) // when the servers have found out
			if third.Incarnation != 2 || third.Session == second.Session {
				t.Errorf("life %d in session %x", third.Incarnation, third.Session)
			}
		})
	}
}

func client(t *testing.T, e *ensemble.Ensemble, command string, timeout time.Duration) *worker.Client {
	t.Helper()
	c, told := start(t, worker.Config{Command: command, Servers: e.ConnectString(), SessionTimeout: timeout})
	t.Cleanup(func() {
		if err := told.told(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func acquire(t *testing.T, c *worker.Client, path string) worker.Answer {
	t.Helper()
	answer, err := c.Do(testkit.Context(t), worker.Call{Path: path, Op: "acquire"})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A worker that gives up does, in each of the examples.
func TestForeignCancel(t *testing.T) {
	e, _ := realServers(t)
	for name, command := range map[string]func(*testing.T) string{"kazoo": kazoo, "curator": curator} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := command(t)
			holder, waiter := client(t, e, command, ensembletest.Lasting), client(t, e, command, ensembletest.Lasting)
			held := acquire(t, holder, "/"+name)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := waiter.Do(ctx, worker.Call{Path: "/" + name, Op: "acquire"}); err == nil {
				t.Error("two hold the lock")
			}
			if pid, alive := waiter.Pid(); !alive || pid == 0 {
				t.Error("it did not give up, and was killed")
			}
			if _, err := holder.Do(t.Context(), worker.Call{Path: "/" + name, Op: "release", Incarnation: held.Incarnation}); err != nil {
				t.Error(err)
			}
			acquire(t, waiter, "/"+name)
		})
	}
}
