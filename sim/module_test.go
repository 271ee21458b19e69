package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/bubbles"
)

// A user's own recipe, in a module of its own: a lock that does not look whether its predecessor
// is still there, and a test of 15 lines.
const (
	brokenLock = `package mylock

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

type Lock struct {
	conn recipes.Conn
	path string
	own  string
}

func New(c recipes.Conn, path string) *Lock { return &Lock{conn: c, path: path} }

func (l *Lock) Lock(context.Context) (err error) {
	l.conn.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
	l.own, err = l.conn.Create(l.path+"/n-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	for err == nil {
		var names []string
		if names, _, err = l.conn.Children(l.path); err != nil {
			break
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a[len(a)-10:], b[len(b)-10:]) })
		i := slices.Index(names, l.own[len(l.path)+1:])
		if i <= 0 {
			return nil
		}
		_, _, deleted, failed := l.conn.ExistsW(l.path + "/" + names[i-1])
		if failed != nil {
			return failed
		}
		<-deleted
	}
	return err
}

func (l *Lock) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }
`
	mend    = "l.conn.ExistsW(l.path + \"/\" + names[i-1])\n"
	mended  = "l.conn.GetW(l.path + \"/\" + names[i-1])\n\t\tif failed == zk.ErrNoNode {\n\t\t\tcontinue\n\t\t}\n"
	ownTest = `package mylock

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestMyLock(t *testing.T) {
	lock := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) })
	sim.Check(t, lock, sim.WithFaults(sim.Time))
}
`
	ownFuzz = `package mylock

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func FuzzMyLock(f *testing.F) {
	lock := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) })
	f.Fuzz(rapid.MakeFuzz(sim.Property(lock, sim.WithFaults(sim.NoFaults))))
}
`
)

// userModule makes a module outside of this one, which uses this checkout.
func userModule(t *testing.T, lock string) (dir string) {
	t.Helper()
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	needs := regexp.MustCompile(`(?ms)^require \(.*?^\)$`).FindAllString(read(t, "../go.mod"), -1)
	write(t, dir, "go.mod", "module example.com/mylock\n\ngo 1.26.0\n\n"+strings.Join(needs, "\n\n")+
		"\n\nrequire github.com/zktorture/zktorture v0.0.0\n\nreplace github.com/zktorture/zktorture => "+here+"\n")
	write(t, dir, "go.sum", read(t, "../go.sum"))
	write(t, dir, "mylock.go", lock)
	write(t, dir, "mylock_test.go", ownTest)
	write(t, dir, "fuzz_test.go", ownFuzz)
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// goTest runs go test in a module, with nothing but what is in the module cache.
func goTest(t *testing.T, dir string, args ...string) (output string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// go test of a broken lock fails with a small story, and passes when the lock is mended.
func TestUsersOwnModule(t *testing.T) {
	if bubbles.RaceDetector {
		t.Skip("the module is built without the detector")
	}
	if lines := strings.Count(ownTest, "\n"); lines > 15 {
		t.Errorf("a test of one's own takes %d lines", lines)
	}
	dir := userModule(t, brokenLock)
	out, ok := goTest(t, dir, "-run", "TestMyLock", ".")
	if ok || !strings.Contains(out, "broke lost-wakeup: ") {
		t.Fatalf("the broken lock passes, or is not said to lose a wake-up:\n%s", out)
	}
	if story := storyOf(out); len(story) > 18 || strings.Contains(strings.Join(story, "\n"), " c3 ") {
		t.Errorf("the story is not small: %d lines\n%s", len(story), strings.Join(story, "\n"))
	}
	if !strings.Contains(out, "-rapid.failfile=") {
		t.Errorf("it is not said how to see it again:\n%s", out)
	}
	write(t, dir, "mylock.go", strings.Replace(brokenLock, mend, mended, 1))
	if out, ok := goTest(t, dir, "-run", "TestMyLock", "."); !ok {
		t.Errorf("the mended lock fails:\n%s", out)
	}
}

// storyOf returns the lines of the first trace in an output.
func storyOf(out string) (lines []string) {
	step := regexp.MustCompile(`^ +\d+ +\d+\.\d{3}s  `)
	for line := range strings.Lines(out) {
		if step.MatchString(line) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		} else if len(lines) > 0 {
			return lines
		}
	}
	return lines
}

// The same property works under go test -fuzz, where coverage guides the choices.
func TestUsersOwnFuzzing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := userModule(t, brokenLock)
	out, ok := goTest(t, dir, "-run", "^$", "-fuzz", "FuzzMyLock", "-fuzztime", "4000x", "-parallel", "1", ".")
	if !strings.Contains(out, "fuzz: elapsed") || (!ok && !strings.Contains(out, " broke ")) {
		t.Errorf("fuzzing does not work:\n%s", out)
	}
	t.Logf("found: %v", !ok)
}
