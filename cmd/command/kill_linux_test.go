package command

import (
	"bytes"
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/story/index"
)

// killsVar sets how many times a run is killed; unset, only a few.
const killsVar = "ZKTORTURE_KILLS"

const killsDefault = 5

// victim is a run of the command in a process of its own that will be killed. Its processes carry a tag in their
// environment and have a folder for temporary files to themselves.
type victim struct {
	t              *testing.T
	cmd            *exec.Cmd
	out, temporary string
	tag            string
	printed        bytes.Buffer
}

func newVictim(t *testing.T, args ...string) *victim {
	t.Helper()
	v := prepareVictim(t, args...)
	v.start()
	return v
}

func prepareVictim(t *testing.T, args ...string) *victim {
	t.Helper()
	dir := t.TempDir()
	v := &victim{t: t, out: filepath.Join(dir, "out"), temporary: filepath.Join(dir, "tmp"),
		tag: "ZKTORTURE_TEST_TAG=" + crand.Text()}
	if err := os.Mkdir(v.temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	v.cmd = exec.Command("torture", append([]string{"live", "lock", "--start", "3",
		"--duration", "1h", "--out", v.out}, args...)...)
	v.cmd.Env = append(os.Environ(), v.tag, "TMPDIR="+v.temporary)
	v.cmd.Stdout, v.cmd.Stderr = &v.printed, &v.printed
	v.cmd.WaitDelay = time.Second
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return v
}

func (v *victim) start() {
	v.t.Helper()
	if err := v.cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(v.end)
}

// end makes sure that a failed test leaves nothing running.
func (v *victim) end() {
	if v.cmd.ProcessState == nil {
		v.cmd.Process.Kill()
		v.cmd.Wait()
	}
}

// kill kills the run, alone or with its process group, as a shell or a job runner does.
func (v *victim) kill(group bool) error {
	whom := v.cmd.Process.Pid
	if group {
		whom = -whom
	}
	return syscall.Kill(whom, syscall.SIGKILL)
}

// processes are those of the run by number, with their command lines, whether still its children or orphaned.
func (v *victim) processes() map[int]string {
	found := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range all {
		environment, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(environment, []byte(v.tag)) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return found
}

// leavesNothing checks that nothing of the run is left: no process, and when servers have been started again no file.
func (v *victim) leavesNothing() {
	v.t.Helper()
	v.eventually("no process of it lives", func() bool { return len(v.processes()) == 0 })
	next, err := proc.NewFolder(v.temporary, "zktorture-servers-") // as a start does
	if err == nil {
		err = next.Remove()
	}
	if err != nil {
		v.t.Error(err)
	}
	for _, dir := range []string{v.temporary, v.out} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			v.t.Error(err)
		}
		for _, entry := range entries {
			if dir == v.temporary || entry.IsDir() {
				v.t.Errorf("left: %s", filepath.Join(dir, entry.Name()))
			}
		}
	}
}

func (v *victim) eventually(what string, so func() bool) {
	v.t.Helper()
	deadline := time.After(testkit.Hang)
	for tick := time.NewTicker(10 * time.Millisecond); !so(); {
		select {
		case <-tick.C:
		case <-deadline:
			v.t.Fatalf("not within %v: %s; its processes are %v; it said:\n%s", testkit.Hang, what,
				v.processes(), &v.printed)
		}
	}
}

// hasRound waits until the run has written the history of a round.
func (v *victim) hasRound() {
	v.t.Helper()
	v.eventually("a round has ended", func() bool { return v.written() > 0 })
}

// judged judges what the run has left, and returns the number of its rounds and operations: 0 if there is no history.
func (v *victim) judged() (rounds, operations int) {
	v.t.Helper()
	if _, err := os.Stat(v.out); err != nil {
		return 0, 0 // killed before it made its folder
	}
	status, said, messages := command(v.t, "check", v.out)
	if status != console.ExitOK && status != console.ExitUnknown {
		v.t.Errorf("torture check: exit status %d\n%s%s", status, said, messages)
	}
	counts := regexp.MustCompile(`(?m): (\d+) operations on (\d+) objects, judged as lock`)
	if m := counts.FindStringSubmatch(said); m != nil {
		operations, _ = strconv.Atoi(m[1])
		rounds, _ = strconv.Atoi(m[2])
	} else if status == console.ExitOK || !strings.Contains(said+messages, "there is nothing to judge") &&
		!strings.Contains(messages, index.BeginName) {
		v.t.Errorf("torture check: exit status %d\n%s%s", status, said, messages)
	}
	if status, said, messages := command(v.t, "explain", v.out); status != console.ExitOK ||
		!strings.Contains(said, ", no violations") {
		v.t.Errorf("torture explain: exit status %d\n%s%s", status, said, messages)
	}
	return rounds, operations
}

// when says how far the run had got.
func (v *victim) when(rounds int) string {
	if _, err := os.Stat(v.out); err != nil {
		return "before it made its folder"
	}
	if rounds == 0 {
		return "before its first round ended"
	}
	return "later"
}

// written returns how many rounds the run had written whole: an empty line follows each.
func (v *victim) written() int {
	history, err := os.ReadFile(filepath.Join(v.out, index.HistoryName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.t.Error(err)
	}
	return bytes.Count(history, []byte("\n\n"))
}

// instant draws when a run is killed: in its first instants as often as in its first seconds.
func instant(draw *rand.Rand) time.Duration {
	if draw.IntN(2) == 0 {
		return time.Duration(draw.Int64N(int64(10 * time.Second)))
	}
	shortest, longest := math.Log(float64(time.Millisecond)), math.Log(float64(4*time.Second))
	return time.Duration(math.Exp(shortest + draw.Float64()*(longest-shortest)))
}

// kills is how many times a run is killed.
func kills(t *testing.T) int {
	t.Helper()
	ensembletest.Need(t)
	given := os.Getenv(killsVar)
	if given == "" {
		return killsDefault
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q: a number of kills is needed", killsVar, given)
	}
	return n
}

// A run killed at any moment leaves no process or file but those of --out. The history up to
// then can be judged: at most the rounds under way are lost.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	judged, all := 0, 0
	n := kills(t)
	draw := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range n {
		args := []string{"--seed", strconv.Itoa(i)}
		calm := i%3 == 1
		if calm {
			args = append(args, "--faults", "none")
		}
		moment := instant(draw)
		t.Run(fmt.Sprintf("%d after %v", i, moment.Round(time.Millisecond)), func(t *testing.T) {
			v := newVictim(t, args...)
			if i%5 == 0 {
				v.hasRound() // a history must exist on a busy machine too
			}
			<-time.After(moment)
			if err := v.kill(i%2 == 0); err != nil {
				t.Fatalf("it had ended: %v\n%s", err, &v.printed)
			}
			v.cmd.Wait()
			v.leavesNothing()
			rounds, operations := v.judged()
			if written := v.written(); i%5 == 0 && rounds == 0 || calm && rounds < written {
				t.Errorf("%d rounds are judged of %d that it had written", rounds, written)
			}
			t.Logf("killed %s: %d operations in %d rounds are judged", v.when(rounds), operations, rounds)
			all += operations
			if operations > 0 {
				judged++
			}
		})
	}
	t.Logf("%d runs were killed, %d of them with a history: %d operations are judged", n, judged, all)
}

// A run that is told to end reports what it has found, with the exit status of no pass, and leaves nothing; also when
// it is told before it has begun.
func TestRunToldToEnd(t *testing.T) {
	t.Parallel()
	kills(t)
	draw := rand.New(rand.NewPCG(1, 2))
	ends := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM}
	for i, signal := range testkit.Sized(ends[1:3], ends) {
		begun := i < testkit.Sized(1, 2)
		t.Run(fmt.Sprintf("%v %v", signal, begun), func(t *testing.T) {
			v := newVictim(t, "--seed", "1")
			if begun {
				v.hasRound()
			}
			<-time.After(instant(draw) / 4)
			if err := v.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			v.cmd.Wait()
			v.leavesNothing()
			status := v.cmd.ProcessState.ExitCode()
			data, err := os.ReadFile(filepath.Join(v.out, output.ResultName))
			var result output.Summary
			if err == nil {
				err = json.Unmarshal(data, &result)
			}
			switch {
			case begun && (err != nil || !result.Interrupted || result.Episodes == 0):
				t.Errorf("the result is %s, %v", data, err)
			case status == console.ExitUnknown && err == nil &&
				!strings.Contains(v.printed.String(), "unknown: no violation in the "):
				t.Errorf("it says nothing of what it has found: %s", &v.printed)
			case status != console.ExitUnknown && (begun || status != -1): // -1: it had not reached its first line
				t.Errorf("exit status %d: %s", status, &v.printed)
			}
			v.judged()
		})
	}
}

// The run goes on when its workers are killed, and reports no violation for it.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	kills(t)
	v := newVictim(t, "--recipe", "exec:torture worker", "--faults", "none", "--seed", "1")
	v.hasRound() // a worker that never answers is an error that ends the run
	ended := make(chan struct{})
	go func() {
		v.cmd.Wait()
		close(ended)
	}()
	draw := rand.New(rand.NewPCG(1, 3))
	killed, told := 0, 0
	for going := true; going; {
		select {
		case <-ended:
			going = false
		case <-time.After(time.Duration(draw.Int64N(int64(time.Second)))):
			if worker := v.worker(draw); killed < 8 && worker != 0 && syscall.Kill(worker, syscall.SIGKILL) == nil {
				killed++
				told = v.written()
			} else if killed == 8 && v.written() > told { // it has gone on
				killed++
				v.cmd.Process.Signal(syscall.SIGINT)
			}
		}
	}
	v.leavesNothing()
	rounds, operations := v.judged()
	status := v.cmd.ProcessState.ExitCode()
	reason := regexp.MustCompile(`(?m)^(unknown|torture): .`)
	if status != console.ExitUnknown || !reason.MatchString(v.printed.String()) {
		t.Errorf("exit status %d: %s", status, &v.printed)
	}
	if killed == 0 || rounds == 0 {
		t.Errorf("%d workers were killed, %d rounds were judged: %s", killed, rounds, &v.printed)
	}
	t.Logf("%d workers were killed; %d operations in %d rounds are judged; exit status %d: %s", killed, operations,
		rounds, status, &v.printed)
}

// worker draws a worker of the run; 0 if there is none.
func (v *victim) worker(draw *rand.Rand) int {
	var workers []int
	for pid, line := range v.processes() {
		if strings.HasPrefix(line, "torture worker") {
			workers = append(workers, pid)
		}
	}
	if len(workers) == 0 {
		return 0
	}
	slices.Sort(workers)
	return workers[draw.IntN(len(workers))]
}
