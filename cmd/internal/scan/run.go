package scan

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/exact"
	"github.com/zktorture/zktorture/sim"
)

// What came of a test.
const (
	found    = "found"    // a property is broken
	doubt    = "doubt"    // a lost reply alone breaks one, which code of its kind need not promise
	clean    = "clean"    // none is
	look     = "look"     // it says nothing: the adapter, or what it could not know, needs a look
	refused  = "refused"  // the compiler does not take it
	compiles = "compiles" // it was not run
)

// result is what came of a test.
type result struct {
	Package  string   `json:"package"`
	Type     string   `json:"type"`
	Kind     string   `json:"kind"`
	Creates  []string `json:"creates,omitempty"`
	File     string   `json:"file"`
	Test     string   `json:"test"`
	Unknown  []string `json:"unknown,omitempty"` // what it marks
	Outcome  string   `json:"outcome"`           // found, doubt, clean, look, refused or compiles
	Property string   `json:"property,omitempty"`
	Message  string   `json:"message,omitempty"`
	Story    string   `json:"story,omitempty"`
	alone    bool     // it fails without a fault and others
}

// ranks are the properties from the worst on. What is not listed is not accused of: what a recipe may mean.
var ranks = strings.Fields(`exclusion lost duplicate done-again counted-twice lost-update early-enter early-leave phantom fencing ghost missing silent-end belief stale-leader deadlock lost-wakeup self-block
	orphan progress idle unusable hang deaf diverged startup herd watch-leak leak`)

// stale are the properties of a cache that is not told of a change, for which it takes no other user.
var stale = strings.Fields(`deaf diverged progress`)

// rank is a result's place: findings first.
func (r result) rank() int {
	switch i := slices.Index(ranks, r.Property); {
	case r.Outcome == found && i >= 0:
		return i
	case r.Outcome == found:
		return len(ranks)
	}
	return len(ranks) + slices.Index([]string{found, doubt, look, refused, clean, compiles}, r.Outcome)
}

// compile builds the tests of a package in exact mode and returns the program, and the lines that the compiler refuses.
func (m *module) compile(c *console.Context, dir, program string) (wrong []int, said string, err error) {
	build, err := exact.Prepare(c)
	if err != nil {
		return nil, "", err
	}
	in := *m
	in.dir = dir
	_, err = in.goCommand(c, build.Env, slices.Concat([]string{"test", "-c", "-vet=off", "-gcflags=-e", "-o", program, "-overlay=" + build.Overlay, "-tags=" + exact.Tag},
		m.flags, []string{"."})...)
	if err == nil || c.Err() != nil {
		return nil, "", c.Err()
	}
	for _, match := range regexp.MustCompile(`zktorture_scan_test\.go:(\d+):\d+: .*`).FindAllStringSubmatch(err.Error(), -1) {
		n, _ := strconv.Atoi(match[1])
		wrong, said = append(wrong, n), said+match[0]+"\n"
	}
	return wrong, cmp.Or(said, err.Error()), nil
}

// longest is how long a test may take that does not come to an end.
const longest = 5 * time.Minute

// run runs a test and says what came of it. One that is fresh is tried alone first: what that finds is small enough.
func (r *result) run(c *console.Context, fresh bool, dir, program string, flags ...string) error {
	left := filepath.Join(dir, "testdata", "zktorture", r.Test+"_")
	tries := [][]string{{"-test.run=^" + r.Test + "$/^alone$", "-zktorture.shrink=1s"}, {"-test.run=^" + r.Test + "$", "-zktorture.shrink=6s"}}
	if !fresh {
		tries = tries[1:]
	}
	for i, try := range tries {
		ctx, cancel := context.WithTimeout(c, longest)
		cmd := exec.CommandContext(ctx, program, slices.Concat(try, flags, []string{"-test.timeout=" + longest.String()})...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		cancel()
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			return err
		}
		if r.judge(err == nil, string(out), left); r.alone || r.Kind == "cache" && r.Outcome == found || i == len(tries)-1 {
			return c.Err()
		}
		if err := os.RemoveAll(left + "alone"); err != nil {
			return err
		}
	}
	return nil
}

// judge reads what a test has said, and the counterexample that it has left.
func (r *result) judge(passed bool, out, left string) {
	if passed {
		r.Outcome = clean
		return
	}
	stage := "faults"
	if failed := regexp.MustCompile("--- FAIL: " + r.Test + `/(\w+) \(`).FindStringSubmatch(out); failed != nil {
		stage = failed[1]
	}
	r.alone = stage == "alone"
	r.Outcome, r.Story = look, told(out)
	property, message := "", "it came to no verdict"
	if _, why, is := strings.Cut(r.Story, ": unknown: "); is {
		why, _, _ = strings.Cut(why, "\n")
		message += ": " + why
	}
	if files, _ := filepath.Glob(left + stage + "/*.json"); len(files) > 0 {
		if text, err := os.ReadFile(files[len(files)-1]); err == nil {
			if x, err := sim.ReadCounterexample(bytes.NewReader(text)); err == nil {
				property = x.Property
				message, _, _ = strings.Cut(x.Message, "\n")
				r.alone = r.doubtful(r.alone, x)
			}
		}
	}
	switch {
	case stage == "doubt" && property != "":
		r.Outcome, r.Property, r.Message = doubt, property, message
	case r.alone:
		r.Message = "the adapter needs a look: it fails alone and without a fault: " + message
	case slices.Contains(ranks, property):
		r.Outcome, r.Property, r.Message = found, property, message
	default:
		r.Message = "the adapter needs a look: " + strings.TrimPrefix(property+": ", ": ") + message
	}
}

// doubtful reports whether a counterexample may show the adapter, or what a recipe means, rather than a bug.
func (r *result) doubtful(alone bool, x *sim.Counterexample) bool {
	has := func(mark string) bool {
		return slices.ContainsFunc(x.Trace, func(line string) bool { return strings.Contains(line, mark) })
	}
	switch {
	case x.Property == "missing" && !has("  ! "): // no fault has struck
		return true
	case !alone, r.Kind == "cache" && slices.Contains(stale, x.Property):
		return false
	case strings.HasPrefix(x.Property, "early-"): // it lets users in or out one by one, may mean that, and is no double barrier
		return true
	}
	return !has("  > u2 ") // a second user would make it a race
}

// logged matches lines that go-zookeeper logs.
var logged = regexp.MustCompile(`^\d{4}/\d\d/\d\d `)

// longestStory is how many lines of a story are shown.
const longestStory = 100

// told is what a test that fails tells, without what package testing adds, and what the code has logged before.
func told(out string) string {
	if i := strings.Index(out, "    "+fileName+":"); i >= 0 {
		out = out[i:]
	}
	var lines []string
	for line := range strings.Lines(out) {
		if trimmed := strings.TrimSpace(line); !logged.MatchString(line) && !strings.HasPrefix(trimmed, "--- ") && trimmed != "FAIL" && trimmed != "PASS" {
			lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n"), "        "))
		}
	}
	if cut := len(lines) - longestStory; cut > 0 { // the beginning says what broke, the end why, where and what helps
		lines = slices.Replace(lines, longestStory/3, longestStory/3+cut, fmt.Sprintf("    … (%d lines, which the page has)", cut))
	}
	return strings.Join(lines, "\n")
}
