package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// TestMain is the command torture, too, with bad locks, and a server of NATS: tests start them as processes.
func TestMain(m *testing.M) {
	ackWait, askEvery = time.Second, 2*time.Second
	switch {
	case len(os.Args) > 1 && os.Args[1] == "campaign":
		torture()
	case len(os.Args) > 3 && os.Args[1] == "nats":
		port, _ := strconv.Atoi(os.Args[3])
		if err := (&embedded{dir: os.Args[2], host: "127.0.0.1", port: port}).start(); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		select {}
	}
	err := errors.Join(workload.Register(badLocks), flag.Set("rapid.checks", testkit.Sized("30", "100"))) // unless it is given
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// torture is the command torture, as far as tests of this package need it.
func torture() {
	ctx, s := console.Begin("")
	if err := workload.Register(badLocks); err != nil {
		panic(err)
	}
	var c struct {
		Campaign Command `cmd:""`
	}
	parsed, err := kong.Must(&c).Parse(os.Args[1:])
	s.Args = os.Args[1:]
	s, _ = s.Guarded()
	if err == nil {
		err = parsed.Run(&console.Context{Context: ctx, Streams: s})
	}
	os.Exit(console.Status(s, err))
}

// badLocks do what a unit must not do.
var badLocks = &workload.Kind{Name: "lock", Recipes: []workload.Entry{
	bad("good", func() {}),
	bad("freezes", func() {
		for spun := 0; ; spun++ {
		}
	}),
	bad("panics", func() { go panic("a mistake"); select {} }),
	bad("eats", func() {
		for {
			eaten = append(eaten, bytes.Repeat([]byte{1}, 1<<20))
		}
	}),
}}

var eaten [][]byte

// bad is a lock that does something each time before it is locked.
func bad(name string, does func()) workload.Entry {
	return workload.Entry{Recipe: name, Help: "for tests", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return badLock{recipes.NewLock(c, path), does}
		}, workload.Named(name))
	}}
}

type badLock struct {
	workload.Locker
	does func()
}

func (b badLock) Lock(ctx context.Context) error {
	b.does()
	return b.Locker.Lock(ctx)
}

// process is a process of a test.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  said
	ended chan struct{} // closed
}

// said is what a process has written so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(data)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start starts this program, or another one.
func start(t *testing.T, args ...string) *process { return startCopy(t, os.Args[0], args...) }

func startCopy(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%v said:\n%s", args, p.said.String())
		}
	})
	return p
}

// kill ends a process by SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// exit waits for the end of a process, which has to have this status.
func (p *process) exit(status int) string {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(4 * patience):
		p.kill()
		p.t.Fatalf("%v did not end:\n%s", p.cmd.Args[1:], p.said.String())
	}
	if is := p.cmd.ProcessState.ExitCode(); is != status {
		p.t.Fatalf("%v ended with status %d, not %d:\n%s", p.cmd.Args[1:], is, status, p.said.String())
	}
	return p.said.String()
}

// word waits until the process has said something, and returns what follows in the same line.
func (p *process) word(begin string) (rest string) {
	p.t.Helper()
	line := regexp.MustCompile(regexp.QuoteMeta(begin) + `(.*)\n`)
	until(p.t, "it says "+begin, func() bool {
		if m := line.FindStringSubmatch(p.said.String()); m != nil {
			rest = m[1]
			return true
		}
		select {
		case <-p.ended:
			p.t.Fatalf("%v has ended:\n%s", p.cmd.Args[1:], p.said.String())
		default:
		}
		return false
	})
	return rest
}

// metric is a number of a coordinator's page; -1: its process has ended, or is just ending.
func (p *process) metric(name string) int {
	p.t.Helper()
	r, err := http.Get(p.word("Page: ") + "/metrics")
	if err != nil {
		return -1
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	m := regexp.MustCompile(`(?m)^torture_campaign_` + name + ` (.*)$`).FindSubmatch(text)
	if m == nil {
		return -1
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return int(n)
}

// patience is how long a test waits for what has to happen. A starved machine is slow.
const patience = 5 * time.Minute

// until waits until something is the case.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("%s: not after %v", what, patience)
		}
	}
}

// fataler is a test, or one of a property.
type fataler interface {
	Helper()
	Fatal(...any)
}

const planBegin = `{"format": "zktorture plan 1", "name": "test", `

// plan reads a plan from its fields.
func plan(t fataler, fields string) *Plan {
	t.Helper()
	return must[*Plan](t)(ParsePlan([]byte(planBegin + fields + "}")))
}

// planIn writes a plan into a file.
func planIn(t *testing.T, fields string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(name, []byte(planBegin+fields+"}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func must[T any](t fataler) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// throughJSON is the value as it comes out of a file.
func throughJSON[T any](t fataler, v T) (read T) {
	t.Helper()
	if err := json.Unmarshal([]byte(asJSON(t, v)), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func asJSON(t fataler, v any) string {
	t.Helper()
	return string(must[[]byte](t)(json.MarshalIndent(v, "", " ")))
}

// reported is the report of a campaign that has ended, in its folder.
func reported(t *testing.T, dir string) *Report {
	t.Helper()
	r := &Report{}
	if err := json.Unmarshal(must[[]byte](t)(os.ReadFile(filepath.Join(dir, "report", "report.json"))), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// isOneMachines compares the report in a folder, byte for byte, with what one process says of the jobs.
func isOneMachines(t *testing.T, dir string) {
	t.Helper()
	r := reported(t, dir)
	if len(r.Unknown) > 0 || len(r.Unequal) > 0 {
		t.Errorf("unknown are %v, unequal %v", r.Unknown, r.Unequal)
	}
	if err := r.Plan.ready(); err != nil {
		t.Fatal(err)
	}
	for i := range r.Plan.list {
		w, cfg, err := r.Plan.Config(i)
		if err != nil {
			t.Fatal(err)
		}
		whole := must[sim.Result](t)(sim.Run(t.Context(), w, cfg))
		is, want := asJSON(t, r.Jobs[i]), asJSON(t, must[JobReport](t)(r.Plan.ReportOf(t.Context(), i, whole)))
		if is != want {
			a, b := strings.Split(is, "\n"), strings.Split(want, "\n")
			for n := range min(len(a), len(b)) {
				if a[n] != b[n] {
					t.Fatalf("%v: it says %s, and one process %s", r.Jobs[i].Job, a[n], b[n])
				}
			}
			t.Fatalf("%v: one report is longer", r.Jobs[i].Job)
		}
	}
}
