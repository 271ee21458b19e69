package sim_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
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
	sim.Check(t, lock, sim.WithFaults("time"))
}
`
	ownFuzz = `package mylock

import (
	"math/rand/v2"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func FuzzMyLock(f *testing.F) {
	lock := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return New(c, path) })
	for i := range 300 {
		data := make([]byte, 64)
		rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { sim.CheckBytes(t, lock, data, sim.WithFaults("none")) })
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
	needs := regexp.MustCompile(`(?ms)^require \(.*?^\)$`).FindAllString(testkit.File(t, "../go.mod"), -1)
	write(t, dir, "go.mod", "module example.com/mylock\n\ngo 1.26.0\n\n"+strings.Join(needs, "\n\n")+
		"\n\nrequire github.com/zktorture/zktorture v0.0.0\n\nreplace github.com/zktorture/zktorture => "+strconv.Quote(here)+"\n")
	write(t, dir, "go.sum", testkit.File(t, "../go.sum"))
	write(t, dir, "mylock.go", lock)
	write(t, dir, "mylock_test.go", ownTest)
	write(t, dir, "fuzz_test.go", ownFuzz)
	return dir
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
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -vet=off", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err == nil
}

// go test of a broken lock fails with a small story, which comes again with the command that is printed, and passes when
// the lock is mended. Then -v says what became of the files.
func TestUsersOwnModule(t *testing.T) {
	if !testkit.Thorough() || testkit.RaceDetector {
		t.Skip("ZKTORTURE_THOROUGH=all builds a module, without the race detector")
	}
	if lines := strings.Count(ownTest, "\n"); lines > 15 {
		t.Errorf("a test of one's own takes %d lines", lines)
	}
	dir := userModule(t, brokenLock)
	write(t, dir, "other_test.go", strings.NewReplacer("TestMyLock", "TestRandom", `"time")`,
		`"none"), sim.WithStrategy("random"), sim.WithEpisodes(100)`).Replace(ownTest))
	t.Setenv("GITHUB_ACTIONS", "")
	write(t, dir, "testdata", "in the way")
	again := "replay: go test example.com/mylock -run '^TestMyLock$' -zktorture.seed=1\n"
	if out, ok := goTest(t, dir, "-run", "TestMyLock", "-zktorture.seed=1", "."); ok || strings.Contains(out, "page: ") || !strings.Contains(out, again) {
		t.Errorf("what cannot be written is named, or nothing finds it again:\n%s", out)
	}
	if err := os.Remove(filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	out, ok := goTest(t, dir, "-run", "TestMyLock|TestRandom", "-zktorture.seed=1", "-v", ".")
	if ok || strings.Count(out, "(lost-wakeup)") != 2 || strings.Contains(out, "::error") {
		t.Fatalf("the broken lock passes, or is not said to lose a wake-up:\n%s", out)
	}
	if story := storyOf(out); len(story) > 18 || strings.Contains(strings.Join(story, "\n"), " c3 ") {
		t.Errorf("the story is not small: %d lines\n%s", len(story), strings.Join(story, "\n"))
	}
	if found := regexp.MustCompile(`found: lost-wakeup in episode \d+ of seed 1: c\d waits forever`).FindAllStringIndex(out, -1); len(found) != 2 ||
		found[0][0] > strings.Index(out, "(lost-wakeup)") {
		t.Errorf("what was found is not said before its story:\n%s", out)
	}
	commands := commandsAgain(t, dir, out)
	if out, ok := goTest(t, dir, "-run", "FuzzMyLock", "."); ok || !strings.Contains(out, "(lost-wakeup)") {
		t.Errorf("of the bytes none finds the lost wake-up:\n%s", out)
	}
	files := []string{madeFile(t, dir, "TestMyLock/lost-wakeup-*.json"), madeFile(t, dir, "TestRandom/lost-wakeup-*.json")}
	for i, command := range commands {
		if !strings.HasSuffix(strings.Join(command, " "), "="+files[i]) {
			t.Errorf("%q does not name %s", command, files[i])
		}
	}
	elsewhere(t, dir, commands[1])

	write(t, dir, "mylock.go", strings.Replace(brokenLock, mend, mended, 1))
	write(t, dir, "testdata/zktorture/TestRandom/x.json", "{}")
	out, ok = goTest(t, dir, "-run", "TestMyLock|TestRandom", "-zktorture.episodes=200", "-v", ".")
	for _, want := range []string{
		regexp.QuoteMeta(files[0]) + ` failed before, and passes now; the run is another one from line \d+ of its trace on: keep `,
		regexp.QuoteMeta(files[1]) + ` failed before, and passes now; the run is another one from line \d+ of its trace on: keep `,
		`x\.json is left out, because it cannot be run \(not a counterexample`,
		`200 episodes with seed \d+\n +coverage: \d+ of \d+ combinations`,
		`--- PASS: TestMyLock `,
		`--- PASS: TestRandom `,
	} {
		if !ok || len(regexp.MustCompile(want).FindAllString(out, -1)) < 1 {
			t.Errorf("of the mended lock nothing says %s:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "failed before"); n != 2 || strings.Count(out, "coverage: ") != 2 {
		t.Errorf("%d files are said to pass:\n%s", n, out)
	}
	if out, ok := goTest(t, dir, "-run", "TestMyLock", "-zktorture.faults=-wrap", "."); ok || !strings.Contains(out, "-wrap leaves out what is not there") {
		t.Errorf("a set of faults that is none passes:\n%s", out)
	}
	for _, file := range files {
		testkit.File(t, filepath.Join(dir, file))
	}
	if out, ok := goTest(t, dir, "-run", "TestMyLock|FuzzMyLock", "."); !ok || !regexp.MustCompile(`^ok  \t\S+\t\S+\n$`).MatchString(out) {
		t.Errorf("the mended lock fails, or says something:\n%s", out)
	}
}

// commandsAgain returns the commands that run the two failures of an output again, as words.
func commandsAgain(t *testing.T, dir, out string) (commands [][]string) {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^ +replay: (go test example\.com/mylock -run .*)$`).FindAllStringSubmatch(out, -1)
	if len(lines) != 2 {
		t.Fatalf("two commands are not named once each:\n%s", out)
	}
	for _, line := range lines {
		commands = append(commands, strings.Fields(strings.ReplaceAll(line[1], "'", "")))
	}
	return commands
}

// madeFile returns the one file of a pattern that a test has left behind.
func madeFile(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "testdata/zktorture", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files %s: %v", len(found), pattern, err)
	}
	name, err := filepath.Rel(dir, found[0])
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

// elsewhere runs a command that was printed, from another folder of the module.
func elsewhere(t *testing.T, dir string, command []string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, _ := goTest(t, filepath.Join(dir, "other"), command[2:]...); len(storyOf(out)) == 0 {
		t.Errorf("%q does not tell the story:\n%s", command, out)
	}
}

// storyOf returns the lines of the first trace in an output.
func storyOf(out string) (lines []string) {
	_, story, _ := strings.Cut(out, "  step  ")
	for line := range strings.Lines(story) {
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// The same property works under go test -fuzz, where coverage guides the choices.
func TestUsersOwnFuzzing(t *testing.T) {
	if !testkit.Thorough() {
		t.Skip("ZKTORTURE_THOROUGH=all builds everything once more, for the fuzzer")
	}
	dir := userModule(t, brokenLock)
	out, ok := goTest(t, dir, "-run", "^$", "-fuzz", "FuzzMyLock", "-fuzztime", "4000x", "-parallel", "1", ".")
	if !strings.Contains(out, "fuzz: elapsed") || (!ok && !strings.Contains(out, " (lost-wakeup)")) {
		t.Errorf("fuzzing does not work:\n%s", out)
	}
	t.Logf("found: %v", !ok)
}
