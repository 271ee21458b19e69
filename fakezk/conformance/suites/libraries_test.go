package suites_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// goZookeeperPart are the tests of go-zookeeper that are always run: transactions, watches after a reconnect, expiry,
// locks.
const goZookeeperPart = "^TestIntegration_(Create|Multi|MultiFailures|GetSetACL|ChildWatch|SetWatchers|ExpiringWatch|" +
	"BadSession|Lock|IfAuthdataSurvivesReconnect)$"

// kazooPart are the files and classes of kazoo's tests that are always run: transactions, sessions, watches, semaphores.
// KazooLockTests are not: test_lock waits for a moment in which nobody holds the lock, and hangs if the next has it before
// Python's other thread has looked, as happens on servers that are as fast as these.
var kazooPart = []string{"test_client.py", "test_watchers.py", "TestSemaphore", "TestSequence"}

// TestGoZookeeper runs the tests of go-zookeeper with torture's servers in the place of Java's.
func TestGoZookeeper(t *testing.T) {
	need(t, "Go's toolchain", onPath("go"), "Go")
	t.Parallel()
	pattern := goZookeeperPart
	if whole {
		pattern = "."
	}
	failed := regexp.MustCompile(`(?m)^--- FAIL: (\w+).*`)
	out := runSuite(t, "go-zookeeper", failed, func(tests []string) []string {
		return []string{"-v", "-run", "^(" + strings.Join(tests, "|") + ")$"}
	}, "-v", "-run", pattern)
	wanted := regexp.MustCompile(pattern)
	result := regexp.MustCompile(`(?m)^--- ([A-Z]+: \w+)`)
	compareTests(t, "testdata/go-zookeeper.txt", out, result, func(test string) bool {
		_, name, _ := strings.Cut(test, ": ")
		return wanted.MatchString(name)
	})
}

// TestKazoo is the same with those of kazoo.
func TestKazoo(t *testing.T) {
	need(t, "kazoo with what its tests need", kazooIsHere(),
		"python3-kazoo python3-pytest python3-mock python3-objgraph python3-gevent python3-eventlet")
	t.Parallel()
	args := []string{"-rA", "--show-capture=no"}
	only := func(tests []string) []string { return append(slices.Clone(args), "-k", strings.Join(tests, " or ")) }
	first := args
	if !whole {
		first = only(kazooPart)
	}
	out := runSuite(t, "kazoo", regexp.MustCompile(`(?m)^FAILED \S+::(\w+).*`), only, first...)
	result := regexp.MustCompile(`(?m)^([A-Z]+ \S+::\S+)`)
	compareTests(t, "testdata/kazoo.txt", out, result, func(test string) bool {
		return whole || slices.ContainsFunc(kazooPart, func(part string) bool { return strings.Contains(test, part) })
	})
}

func kazooIsHere() bool {
	const needed = "import kazoo.tests, pytest, mock, objgraph, gevent, eventlet"
	return exec.Command("/usr/bin/python3", "-c", needed).Run() == nil
}

// tries is how often a test of others is tried: many have sessions of a second, which a busy machine breaks.
const tries = 5

// runSuite runs one of the suites, all or in part, and the tests that fail again, by what again makes of their names.
func runSuite(t *testing.T, suite string, failed *regexp.Regexp, again func(tests []string) []string, args ...string) (all string) {
	t.Helper()
	for try := 1; ; try++ {
		cmd := exec.CommandContext(t.Context(), "fakezk/conformance/suites/standin/suite.sh", append([]string{suite}, args...)...)
		cmd.Dir = "../../.."
		out, err := cmd.CombinedOutput()
		var tests []string
		for _, name := range failed.FindAllStringSubmatch(string(out), -1) {
			tests = append(tests, name[1])
		}
		if err != nil && (len(tests) == 0 || try == tries) {
			t.Errorf("%v: %v\n%s", cmd, err, out)
		} else if err != nil {
			t.Logf("try %d: %q failed", try, tests)
			all, args = all+failed.ReplaceAllString(string(out), ""), again(tests)
			continue
		}
		return all + string(out)
	}
}

// folded writes tests, one a line, without what comes before the last "::" where that is as in the line before.
func folded(tests []string) string {
	var text strings.Builder
	class := ""
	for _, test := range tests {
		before := class
		if class = classOf(test); class == before {
			test = strings.TrimPrefix(test, class)
		}
		text.WriteString(test + "\n")
	}
	return text.String()
}

// classOf is what comes before the last "::" of a test's name, "" if there is none.
func classOf(test string) string { return test[:max(strings.LastIndex(test, "::"), 0)] }

// compareTests compares what became of the tests of a suite, which a pattern finds, with the part of a file that is
// wanted.
func compareTests(t *testing.T, file, out string, pattern *regexp.Regexp, wanted func(test string) bool) {
	t.Helper()
	var got, want []string
	for _, found := range pattern.FindAllStringSubmatch(out, -1) {
		got = append(got, found[1])
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if *update && whole {
		write(t, file, folded(got))
	}
	class := ""
	for line := range strings.Lines(testkit.File(t, file)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "::") {
			line = class + line
		}
		if class = classOf(line); wanted(line) {
			want = append(want, line)
		}
	}
	if len(want) == 0 {
		t.Errorf("no test of %s is wanted", file)
	}
	same(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}
