//go:build unix

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
)

// A child gives what the same unit gives in this process, and one child runs many.
func TestUnit(t *testing.T) {
	r := runnerOf(t, this(t), "ours")
	var pids []int
	for n := range 3 {
		got := wantUnit(t, r, n)
		want, err := r.cfg.Plan.Run(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		got.Done, want.Done = campaign.Done{}, campaign.Done{}
		if asJSON(t, got) != asJSON(t, want) {
			t.Errorf("unit %d:\n%s\nwant\n%s", n, asJSON(t, got), asJSON(t, want))
		}
		pids = append(pids, r.pid(t))
	}
	if pids[0] != pids[2] {
		t.Errorf("three units were run by processes %v", pids)
	}
}

func TestConclude(t *testing.T) {
	r := runnerOf(t, this(t), "ours")
	part := wantUnit(t, r, 0).Part
	got, err := r.Conclude(t.Context(), 0, *part)
	if err != nil {
		t.Fatal(err)
	}
	want, err := r.cfg.Plan.Conclude(t.Context(), 0, *part)
	if err != nil {
		t.Fatal(err)
	}
	if asJSON(t, got) != asJSON(t, want) {
		t.Errorf("%s\nwant\n%s", asJSON(t, got), asJSON(t, want))
	}
	_, err = r.Conclude(t.Context(), 1, tally.Part{})
	wantError(t, err, Failed, "the conclusion of job 1", "the plan has 1 jobs")
}

func TestUnitThatIsNotThere(t *testing.T) {
	_, err := runnerOf(t, this(t), "ours").Unit(t.Context(), 10000)
	wantError(t, err, Failed, "unit 10000", "no such unit")
}

// A unit that does not end is ended, and the error says where it was.
func TestFrozen(t *testing.T) {
	for name, where := range map[string]string{"spins": "runner.spin", "blocks": "runner.block"} {
		for _, procs := range []string{"1", "2"} {
			t.Run(name+procs, func(t *testing.T) {
				file, variable := fifo(t)
				r := runnerOf(t, this(t, variable, "GOMAXPROCS="+procs), name)
				r.limitOn(t, file)
				_, err := r.Unit(t.Context(), 7)
				wantError(t, err, Frozen, "unit 7: frozen", where, "main_test.go:")
				wantNoChild(t, r)
			})
		}
	}
}

// One that does not answer SIGQUIT is killed.
func TestFrozenAndStubborn(t *testing.T) {
	file, variable := fifo(t)
	r := runnerOf(t, this(t, variable), "stubborn")
	r.limitOn(t, file)
	limits := r.clock.after
	grace, fire := alarm()
	r.clock.after = func(d time.Duration) (<-chan time.Time, func() bool) {
		if d == graceMax {
			fire()
			return grace, func() bool { return true }
		}
		return limits(d)
	}
	_, err := r.Unit(t.Context(), 7)
	wantError(t, err, Frozen, "unit 7: frozen: no answer after 10m0s")
	wantNoChild(t, r)
}

// alarm is a timer that fires when told to.
func alarm() (fires chan time.Time, fire func()) {
	fires = make(chan time.Time, 1)
	return fires, func() { fires <- time.Time{} }
}

// A world that stands still is a frozen unit, and its process is not used again.
func TestFrozenWorld(t *testing.T) {
	file, plan := planOf(t, "ours")
	u, _ := plan.Unit(4)
	answer := asJSON(t, campaign.UnitResult{
		Format: campaign.UnitFormat, Plan: plan.Digest(), Unit: u, Unknown: "the world stood still\ngoroutine 1"})
	p := this(t, scriptVariable+"=ready\nask\nsay "+answer+"\nwait")
	r := New(Config{Plan: plan, File: file, Programs: []Program{p}})
	t.Cleanup(r.Close)
	_, err := r.Unit(t.Context(), 4)
	wantError(t, err, Frozen, "unit 4: frozen: the world stood still\ngoroutine 1")
	wantNoChild(t, r)
}

// A process that ends by itself costs its unit, and the next unit gets another one.
func TestPanicked(t *testing.T) {
	for name, words := range map[string][]string{
		"panics": {"panic: a mistake \\u001b[2J", "runner.mistake", "main_test.go:", "in episode 0"},
		"throws": {"fatal error: sync: unlock of unlocked mutex", "badlocks.badLock.Lock", "in episode 0"},
		"exits":  {"its process ended by itself: exit status 3", "good bye"},
	} {
		t.Run(name, func(t *testing.T) {
			r := runnerOf(t, this(t), "ours", name)
			_, err := r.Unit(t.Context(), 1)
			wantError(t, err, Panicked, append(words, "unit 1")...)
			wantNoChild(t, r)
			if strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error can steer a terminal: %q", err)
			}
			wantUnit(t, r, 0)
		})
	}
}

// What is known of the episode in which a process died is kept, and no other file.
func TestCrash(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	r := runnerOf(t, this(t), "ours", "panics")
	_, err := r.Unit(t.Context(), 1)
	wantError(t, err, Panicked, "in episode 0")
	var crash sim.Counterexample
	if err := json.Unmarshal(err.(*failure).Crash, &crash); err != nil {
		t.Fatal(err)
	}
	if crash.Format != sim.CounterexampleFormat || crash.Recipe != "panics" || crash.Property != replay.PropertyCrash {
		t.Errorf("the file is of %+v", crash)
	}
	wantUnit(t, r, 0)
	if left := contents(t, r.scratch.Path()); len(left) != 1 {
		t.Errorf("there are %v, and one child", left)
	}
	r.Close()
	if left := contents(t, folder); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func contents(t testing.TB, folder string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// What a recipe prints is no answer, and costs nothing.
func TestPrints(t *testing.T) {
	r := runnerOf(t, this(t), "prints")
	wantUnit(t, r, 0)
	wantUnit(t, r, 1)
	if said := r.child(t).process.said(); !strings.Contains(said, "garbage") {
		t.Errorf("standard error has %q, and not what was printed", said)
	}
}

// What is no answer to the question is not taken for one.
func TestNoAnswer(t *testing.T) {
	file, plan := planOf(t, "ours")
	result := func(n int, digest string) string {
		u, _ := plan.Unit(n)
		return asJSON(t, campaign.UnitResult{Format: campaign.UnitFormat, Plan: digest, Unit: u, Part: &tally.Part{}})
	}
	for says, word := range map[string]string{
		"garbage":                         `"garbage"`,
		"7":                               `"7"`,
		`{"format": "other"}`:             `its format is "other"`,
		result(5, plan.Digest()):          "it is of another unit",
		result(4, "0123"):                 "it is of another plan",
		"x" + result(4, plan.Digest()):    "what is not an answer",
		`{"error": "there is no recipe"}`: "unit 4: failed: there is no recipe",
	} {
		p := this(t, scriptVariable+"=ready\nask\nsay "+says+"\nwait")
		r := New(Config{Plan: plan, File: file, Programs: []Program{p}})
		_, err := r.Unit(t.Context(), 4)
		wantError(t, err, Failed, word)
		wantNoChild(t, r)
		r.Close()
	}
}

// An answer may come in pieces; the bytes after it are another line.
func TestSlowAnswer(t *testing.T) {
	file, variable := fifo(t)
	_, plan := planOf(t, "ours")
	u, _ := plan.Unit(4)
	answer := asJSON(t, campaign.UnitResult{
		Format: campaign.UnitFormat, Plan: plan.Digest(), Unit: u, Part: &tally.Part{Counts: tally.Counts{Episodes: 17}}})
	r := scripted(t, "ready\nask\nprint "+answer[:100]+"\nevent\nsay "+answer[100:]+"\nwait", variable)
	go os.ReadFile(file)
	if got := wantUnit(t, r, 4); got.Part.Episodes != 17 {
		t.Errorf("%+v", got)
	}
}

// A line that does not end does not take the worker's memory.
func TestEndlessAnswer(t *testing.T) {
	r := scripted(t, "ready\nask\nendless\nwait")
	_, err := r.Unit(t.Context(), 0)
	wantError(t, err, Failed, "its answer is longer than 64 MB")
	wantNoChild(t, r)
}

// What a child says before it is asked is not taken for an answer: another child is asked.
func TestSaysUnasked(t *testing.T) {
	file, variable := fifo(t)
	r := scripted(t, "ready\nanswer\nsay garbage\nevent\nwait", variable)
	wantUnit(t, r, 0)
	first := r.pid(t)
	event(t, file)
	for r.child(t).waits() {
		runtime.Gosched()
	}
	wantUnit(t, r, 1)
	if r.pid(t) == first {
		t.Error("the same child was asked")
	}
	gone(t, first)
	event(t, file)
}

// A child that ends between units costs none.
func TestEndsBetweenUnits(t *testing.T) {
	r := scripted(t, "ready\nanswer\nexit 1")
	wantUnit(t, r, 0)
	<-r.child(t).process.ended
	wantUnit(t, r, 1)
}

func TestClosesItsOutput(t *testing.T) {
	r := scripted(t, "ready\nask\nclose\nwait")
	after := r.clock.after
	r.clock.after = func(d time.Duration) (<-chan time.Time, func() bool) {
		fires, fire := alarm()
		if d == graceMax {
			fire()
			return fires, func() bool { return true }
		}
		return after(d)
	}
	_, err := r.Unit(t.Context(), 0)
	wantError(t, err, Failed, "closed its standard output")
	wantNoChild(t, r)
}

// A program that cannot be started, or is not ready, says nothing about the unit.
func TestNoProgram(t *testing.T) {
	for script, word := range map[string]string{
		"err I am lost\nexit 2":    "I am lost",
		"say garbage\nwait":        `"garbage"`,
		"say {}\nwait":             "did not say that it was ready",
		`say {"ready": true}`:      "is for , and this is",
		"ready other\nwait":        "has changed: it was mine, and is other",
		`say {"error": "no such"}`: "no such",
	} {
		r := scripted(t, script)
		r.builds[variant{}] = "mine"
		_, err := r.Unit(t.Context(), 0)
		wantError(t, err, NoProgram, "unit 0: no program", word)
		wantNoChild(t, r)
	}
	r := runnerOf(t, Program{Path: "/no/such/program"}, "ours")
	_, err := r.Unit(t.Context(), 0)
	wantError(t, err, NoProgram, "/no/such/program cannot be started")
	r = runnerOf(t, Program{Program: campaign.Program{Go: "go1.2"}}, "ours")
	_, err = r.Unit(t.Context(), 0)
	wantError(t, err, NoProgram, `no program for Go ""`)
}

// A process that somebody kills says nothing about the unit.
func TestKilled(t *testing.T) {
	for _, sent := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(sent.String(), func(t *testing.T) {
			if signal.Ignored(sent) {
				t.Skip("this process ignores it, and so do its children")
			}
			file, variable := fifo(t)
			r := runnerOf(t, this(t, variable, "GOMAXPROCS=2"), "spins")
			go func() {
				text, _ := os.ReadFile(file)
				if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
					syscall.Kill(pid, sent)
				}
			}()
			_, err := r.Unit(t.Context(), 0)
			wantError(t, err, Killed, "unit 0: killed", "signal")
			wantNoChild(t, r)
		})
	}
}

// A context that ends ends the unit and its process at once.
func TestCancelled(t *testing.T) {
	file, variable := fifo(t)
	r := runnerOf(t, this(t, variable), "spins")
	why := errors.New("we have enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	pid := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(file)
		pid <- strings.TrimSpace(string(text))
		cancel(why)
	}()
	_, err := r.Unit(ctx, 0)
	wantError(t, err, Killed, "we have enough")
	if !errors.Is(err, why) {
		t.Errorf("the cause of %v is not that of the context", err)
	}
	n, _ := strconv.Atoi(<-pid)
	gone(t, n)
	_, err = r.Unit(ctx, 0)
	wantError(t, err, Killed, "we have enough")
}

// A context ends a child that is not ready yet, too.
func TestCancelledBeforeReady(t *testing.T) {
	file, variable := fifo(t)
	r := scripted(t, "event\nwait", variable)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		os.ReadFile(file)
		cancel()
	}()
	_, err := r.Unit(ctx, 0)
	wantError(t, err, Killed, "canceled")
}

// Questions are asked one after the other, and a context that ends while another question is asked ends at once.
func TestTurns(t *testing.T) {
	file, variable := fifo(t)
	r := runnerOf(t, this(t, variable), "spins")
	first := make(chan error, 1)
	go func() {
		_, err := r.Unit(t.Context(), 0)
		first <- err
	}()
	event(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := r.Unit(ctx, 1)
		second <- err
	}()
	cancel()
	wantError(t, <-second, Killed, "unit 1", "canceled")
	r.Close()
	wantError(t, <-first, Killed, "unit 0", "the runner is closed")
	_, err := r.Unit(t.Context(), 2)
	wantError(t, err, Killed, "the runner is closed")
	err = r.taking(t.Context(), func() error { return errors.New("a question was asked") })
	wantError(t, err, Killed, "the runner is closed")
}

// Another child takes the place of one that has run many units.
func TestSpent(t *testing.T) {
	r := scripted(t, "ready\nanswers")
	wantUnit(t, r, 0)
	first := r.pid(t)
	for n := range unitsMax - 1 {
		wantUnit(t, r, n)
	}
	wantNoChild(t, r)
	gone(t, first)
	wantUnit(t, r, 0)
}

// The Go runtime may be the first that finds no more memory.
func TestRuntimeOutOfMemory(t *testing.T) {
	for _, says := range []string{
		"runtime: out of memory: cannot allocate 4194304-byte block (123 in use)\nerr fatal error: out of memory",
		"fatal error: runtime: cannot allocate memory",
	} {
		r := scripted(t, "ready\nask\nerr "+says+"\nexit 2")
		_, err := r.Unit(t.Context(), 0)
		wantError(t, err, OutOfMemory, "unit 0", says[:20])
	}
}

// What a child writes to its standard error is kept as far as it is short, and its ends else.
func TestSaid(t *testing.T) {
	r := scripted(t, "ready\nask\nerr the beginning\nflood\nerr the end \x1b[2J\nexit 1")
	_, err := r.Unit(t.Context(), 0)
	wantError(t, err, Panicked, "the beginning", "the end \\u001b[2J", "bytes …")
	if e := err.(*failure); len(e.Said) > 3*briefMax || len(e.Error()) > 3*briefMax {
		t.Errorf("%d bytes are kept of what it said, and the error has %d", len(e.Said), len(e.Error()))
	}
}

// The ends of what is written are kept, however it is cut, and no more.
func TestEnds(t *testing.T) {
	first, last := strings.Repeat("a", endMax), strings.Repeat("c", endMax)
	for _, size := range []int{1000, endMax - 1, endMax + 1, 10 * endMax} {
		var e ends
		text := first + strings.Repeat("b", 3*endMax) + last
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			e.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if want := fmt.Sprintf("%s\n… %d bytes …\n%s", first, 3*endMax, last); e.String() != want {
			t.Errorf("in pieces of %d bytes: %d bytes are kept, want %d, or they are others", size, len(e.String()), len(want))
		}
		if kept := cap(e.first) + cap(e.last); size == 1000 && kept > 5*endMax {
			t.Errorf("%d bytes are held for it", kept)
		}
	}
	var e ends
	e.Write([]byte("short"))
	if e.String() != "short" {
		t.Errorf("%q", e.String())
	}
}

// child is the only child.
func (r *Runner) child(t testing.TB) *child {
	t.Helper()
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	for _, c := range r.children {
		return c
	}
	t.Fatal("there is no child")
	return nil
}

func (r *Runner) pid(t testing.TB) int { return r.child(t).process.cmd.Process.Pid }

func wantNoChild(t testing.TB, r *Runner) {
	t.Helper()
	if len(r.children) > 0 {
		t.Error("there is a child still")
	}
}

func asJSON(t testing.TB, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What a unit of no episodes costs beyond the protocol.
func BenchmarkUnit(b *testing.B) {
	r := scripted(b, "ready\nanswers")
	for n := range b.N {
		wantUnit(b, r, n%10000)
	}
}
