package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// TestMain is this command, too, with bad locks: tests start it as processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"start", "work", "status", "report", "part", "merge"}, os.Args[1]) {
		Main(badLocks)
	}
	if err := workload.Register(badLocks); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// process is this command as a process.
type process struct {
	cmd   *exec.Cmd
	said  said
	ended chan struct{} // closed
	err   error         // once it has ended
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

// command starts this command.
func command(t *testing.T, args ...string) *process {
	t.Helper()
	return commandOf(t, os.Args[0], args...)
}

// commandOf starts a copy of this command.
func commandOf(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
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

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends a process like a power failure.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// exit waits for the exit status.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(4 * patience):
		p.signal(syscall.SIGQUIT)
		t.Fatalf("%v did not end:\n%s", p.cmd.Args[1:], p.said.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// patience is how long a test waits for what has to happen. A starved machine is slow; four times that is for campaigns.
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

// planFile writes a plan.
func planFile(t *testing.T, fields string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.json")
	text := `{"format": "zktorture plan 1", "name": "test", ` + fields + `}`
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// outcome is what a campaign that has ended left in its folder.
func outcome(t *testing.T, dir string) (o page.Outcome) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report", outcomeFile))
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// serverOf is the address of the coordinator of a folder, once it has one.
func serverOf(t *testing.T, dir string) string {
	t.Helper()
	var text []byte
	until(t, "the server listens", func() bool {
		text, _ = os.ReadFile(filepath.Join(dir, "address"))
		return len(text) > 0
	})
	return strings.Fields(string(text))[0]
}

// asJSON is a value as indented JSON.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// oneMachines is what one machine reports of the jobs of a plan.
func oneMachines(t *testing.T, p *campaign.Plan) (jobs []campaign.JobReport) {
	t.Helper()
	list, err := p.List()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		j, err := oneMachine(t.Context(), p, i)
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func oneMachine(ctx context.Context, p *campaign.Plan, job int) (campaign.JobReport, error) {
	w, config, err := p.Config(job)
	if err != nil {
		return campaign.JobReport{}, err
	}
	result, err := sim.Run(ctx, w, config)
	if err != nil {
		return campaign.JobReport{}, err
	}
	return p.ReportOf(ctx, job, result)
}
