//go:build unix

package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/badlocks"
	"github.com/zktorture/zktorture/cmd/internal/campaign/units"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/workload"
)

// The test binary is the program that runs units, too: torture-campaign part with locks that do what no recipe should.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "part" {
		if lines := os.Getenv(scriptVariable); lines != "" {
			play(lines)
			return
		}
		part()
	}
	if len(os.Args) == 3 && os.Args[1] == "worker" {
		work(os.Args[2])
	}
	if err := workload.Register(badLocks); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// part is torture-campaign part, with bad locks.
func part() {
	var line struct {
		Part units.PartCmd `cmd:""`
	}
	ctx, s := console.Begin("")
	s, _ = s.Guarded()
	err := workload.Register(badLocks)
	if err == nil {
		err = kong.Parse(&line).Run(&console.Context{Context: ctx, Streams: s})
	}
	os.Exit(console.Status(s, err))
}

// work is a worker that runs a unit.
func work(file string) {
	workload.Register(badLocks)
	plan, err := campaign.ReadPlan(context.Background(), file)
	if err != nil {
		panic(err)
	}
	r := New(Config{Plan: plan, File: file, Programs: []Program{{Path: os.Args[0]}}})
	_, err = r.Unit(context.Background(), 0)
	panic(err)
}

// eventVariable names a FIFO: a bad lock writes into it, once, when it is about to do what it does.
const eventVariable = "RUNNER_TEST_EVENT"

// badLocks do something as soon as somebody wants them.
var badLocks = &workload.Kind{Name: "lock", Recipes: []workload.Entry{
	badlocks.That("spins", spin),
	badlocks.That("blocks", block),
	badlocks.That("panics", func() { go mistake(); select {} }),
	badlocks.That("throws", func() { var m sync.Mutex; m.Unlock() }),
	badlocks.That("exits", func() { fmt.Fprintln(os.Stderr, "good bye"); os.Exit(3) }),
	badlocks.That("eats", badlocks.Eat),
	badlocks.That("prints", func() { fmt.Println("{}"); syscall.Write(1, []byte("garbage")) }),
	badlocks.That("litters", litter),
	badlocks.That("stubborn", stop),
}}

// tell writes the number of this process into the FIFO, if there is one, and more, and waits until that is read.
func tell(more ...byte) {
	if name := os.Getenv(eventVariable); name != "" {
		if err := os.WriteFile(name, append(fmt.Appendln(nil, os.Getpid()), more...), 0); err != nil {
			panic(err)
		}
	}
}

func mistake() { panic("a mistake \x1b[2J") }

func block() {
	var m sync.Mutex
	m.Lock()
	tell()
	m.Lock()
}

func spin() {
	tell()
	forever()
}

func forever() {
	for n := 0; ; n++ {
	}
}

func stop() {
	tell()
	syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	forever() // this thread may be the last that stops
}

// litter starts processes: in its group, in a session of its own, and without a parent. It tells which, and goes on
// for ever.
func litter() {
	file := os.Getenv(eventVariable) + ".pids"
	sh := exec.Command("sh", "-c", `sleep 1000 & echo $! >>"$pids"
		setsid sh -c 'echo $$ >>"$pids"; exec sleep 1000' &
		sh -c '(setsid sh -c "echo \$\$ >>\"\$pids\"; exec sleep 1000" &)'
		while [ $(wc -l <"$pids") -lt 3 ]; do :; done`)
	sh.Env = append(os.Environ(), "pids="+file)
	if err := sh.Run(); err != nil {
		panic(err)
	}
	pids, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	tell(pids...)
	forever()
}

// scriptVariable has what a child does that only speaks the protocol: steps, one in a line.
const scriptVariable = "RUNNER_TEST_SCRIPT"

// play carries out the steps of a script.
func play(lines string) {
	in := bufio.NewScanner(os.Stdin)
	for step := range strings.SplitSeq(lines, "\n") {
		word, rest, _ := strings.Cut(step, " ")
		switch word {
		case "ready":
			say(units.Readiness{Ready: true, Build: rest, System: runtime.GOOS + "/" + runtime.GOARCH})
		case "say":
			fmt.Println(rest)
		case "print":
			fmt.Print(rest)
		case "endless":
			os.Stdout.WriteString(strings.Repeat("x", 2*answerMax))
		case "ask":
			in.Scan()
		case "answer":
			answer(in)
		case "answers":
			for answer(in) {
			}
		case "err":
			fmt.Fprintln(os.Stderr, rest)
		case "flood":
			os.Stderr.WriteString(strings.Repeat("x", 4*endMax))
		case "close":
			os.Stdout.Close()
		case "event":
			os.WriteFile(os.Getenv(eventVariable), []byte(rest), 0)
		case "exit":
			var status int
			fmt.Sscan(rest, &status)
			os.Exit(status)
		case "wait":
			for in.Scan() {
			}
		default:
			panic(step)
		}
	}
}

func say(object any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", text)
}

// answer gives the result of a unit.
func answer(in *bufio.Scanner) bool {
	var q units.Question
	if !in.Scan() {
		return false
	}
	plan, err := campaign.ReadPlan(context.Background(), os.Args[3])
	if err == nil {
		err = json.Unmarshal(in.Bytes(), &q)
	}
	if err != nil {
		panic(err)
	}
	u, _ := plan.Unit(*q.Unit)
	say(campaign.UnitResult{Format: campaign.UnitFormat, Plan: plan.Digest(), Unit: u, Part: &tally.Part{}})
	return true
}

// planOf is the file of a plan for some locks.
func planOf(t testing.TB, recipes ...string) (string, *campaign.Plan) {
	t.Helper()
	names, err := json.Marshal(recipes)
	if err != nil {
		t.Fatal(err)
	}
	return writePlan(t, fmt.Sprintf(`"episodes": 10000, "unit": 1, "unit_memory": 400,
		"jobs": [{"kinds": ["lock"], "recipes": %s}]`, names))
}

func writePlan(t testing.TB, fields string) (string, *campaign.Plan) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plan.json")
	text := `{"format": "zktorture plan 1", "name": "test", "canary": "none", ` + fields + `}`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	plan, err := campaign.ReadPlan(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	return file, plan
}

// this is the test binary as a program.
func this(t testing.TB, env ...string) Program {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Program{Path: path, env: env}
}

// runnerOf is a runner for locks.
func runnerOf(t testing.TB, p Program, recipes ...string) *Runner {
	t.Helper()
	file, plan := planOf(t, recipes...)
	r := New(Config{Plan: plan, File: file, Programs: []Program{p}})
	t.Cleanup(r.Close)
	return r
}

// scripted is a runner whose children do what a script says.
func scripted(t testing.TB, script string, env ...string) *Runner {
	t.Helper()
	return runnerOf(t, this(t, append(env, scriptVariable+"="+script)...), "ours")
}

// fifo is a FIFO, and the variable by which children know it.
func fifo(t testing.TB) (name, variable string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "event")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, eventVariable + "=" + name
}

// event waits until a child has written into a FIFO.
func event(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// limitOn has the next limit of a runner fire once a child has written into a FIFO; no other timer fires.
func (r *Runner) limitOn(t testing.TB, name string) {
	t.Helper()
	over := make(chan time.Time, 1)
	go func() {
		if _, err := os.ReadFile(name); err == nil {
			over <- time.Time{}
		}
	}()
	limit := r.cfg.Plan.UnitLimit()
	r.clock.after = func(d time.Duration) (<-chan time.Time, func() bool) {
		if d == limit {
			return over, func() bool { return true }
		}
		return nil, func() bool { return true }
	}
}

// wantError fails unless an error is of a class, and says all the words.
func wantError(t testing.TB, err error, class Class, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s that says %q", class, words)
	}
	if got := ClassOf(err); got != class {
		t.Errorf("class %q, want %q", got, class)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q", word)
		}
	}
	if t.Failed() {
		t.Logf("the error:\n%v", err)
	}
}

// wantUnit fails unless a unit gives a result.
func wantUnit(t testing.TB, r *Runner, n int) campaign.UnitResult {
	t.Helper()
	result, err := r.Unit(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// gone fails unless a process is no more.
func gone(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("process %d is there still: %v", pid, err)
	}
}
