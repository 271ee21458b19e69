//go:build unix

package command

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/page"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// chaos is a campaign whose processes are killed.
type chaos struct {
	*testing.T
	random      *rand.Rand
	plan        string
	dir         string
	token       string
	coordinator *process
	workers     []*process
	url         string
}

// Of a campaign of which coordinator and workers are killed and stopped at random moments, and whose folder is moved,
// the report is what one machine reports, byte for byte.
//
// ZKTORTURE_CHAOS is how often they are killed (default 2); ZKTORTURE_CHAOS_SEED says when.
func TestChaos(t *testing.T) {
	kills, seed := number(t, "ZKTORTURE_CHAOS", 2), number(t, "ZKTORTURE_CHAOS_SEED", 1)
	episodes := 80 * (kills + 1)
	c := &chaos{T: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), dir: filepath.Join(t.TempDir(), "campaign")}
	c.begin(`"jobs": [
		{"kinds": ["lock"], "recipes": ["ours", "published/WriteLock"], "strategies": ["mix", "patterns"]},
		{"kinds": ["queue"], "recipes": ["ours", "published/DistributedQueue"], "strategies": ["mix", "patterns"]},
		{"kinds": ["counter", "barrier"], "strategies": ["mix", "patterns"]}
		], "unit": 10, "canary": "none", "episodes": ` + strconv.Itoa(episodes))
	c.workers = append(c.workers, c.work(), c.work(), c.work(), c.work())
	c.done(1)
	for range kills {
		c.strike()
	}
	c.end(1)
}

// What a worker had that was stopped is done by another; when it goes on, its units are done twice, and counted once.
func TestTwice(t *testing.T) {
	c := &chaos{T: t, dir: filepath.Join(t.TempDir(), "campaign")}
	c.begin(`"jobs": [{"kinds": ["lock", "queue"], "recipes": ["ours"]}], "unit": 10, "canary": "none", "episodes": 800`)
	c.workers = append(c.workers, c.work(), c.work())
	tasks := c.tasks()
	until(t, "a unit is done twice", func() bool {
		until(t, "both have units", func() bool {
			c.signal(syscall.SIGSTOP, c.workers...)
			if taken(t, tasks) == 2 {
				return true
			}
			c.signal(syscall.SIGCONT, c.workers...)
			return false
		})
		time.Sleep(ackWait) // what goes wrong is that they are silent for so long
		c.signal(syscall.SIGCONT, c.workers[0])
		until(t, "both units are done", func() bool { return taken(t, tasks) <= 1 })
		c.signal(syscall.SIGCONT, c.workers[1])
		c.done(1)
		s := c.status()
		if s.Twice == 0 && s.State != status.Running {
			t.Fatal("all units are done, and none twice")
		}
		return s.Twice > 0
	})
	if o := c.end(0); o.Status.Twice == 0 || len(o.Status.Unequal) > 0 {
		t.Errorf("%d units were done twice, not equal: %v", o.Status.Twice, o.Status.Unequal)
	}
}

// tasks is what the workers of a campaign have of its tasks.
func (c *chaos) tasks() jetstream.Consumer {
	c.Helper()
	nc, err := engine.Access{URL: c.url, TokenFile: c.token}.Dial(c.Context(), patience)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		c.Fatal(err)
	}
	var tasks jetstream.Consumer
	until(c.T, "there are tasks", func() bool {
		tasks, err = js.Consumer(c.Context(), "torture-tasks-"+engine.ID(c.status().Digest), "workers")
		return !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound)
	})
	if err != nil {
		c.Fatal(err)
	}
	return tasks
}

// taken is how many tasks workers have taken that are not done.
func taken(t *testing.T, tasks jetstream.Consumer) int {
	t.Helper()
	info, err := tasks.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.NumAckPending
}

// begin starts the coordinator of a plan.
func (c *chaos) begin(plan string) {
	c.Helper()
	c.plan = planFile(c.T, plan)
	c.start()
	c.token = filepath.Join(c.TempDir(), "token")
	text, err := os.ReadFile(coordinator.Folder(c.dir).TokenFile())
	if err == nil {
		err = os.WriteFile(c.token, text, 0o600)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// end waits for the end of coordinator and workers, and compares the report with that of one machine.
func (c *chaos) end(code int) page.Outcome {
	c.Helper()
	if is := c.coordinator.exit(c.T); is != code {
		c.Fatalf("exit status %d, not %d, of the campaign:\n%s", is, code, c.coordinator.said.String())
	}
	for _, w := range c.workers {
		if code := w.exit(c.T); code != 0 {
			c.Errorf("a worker ended with status %d:\n%s", code, w.said.String())
		}
	}
	o := outcome(c.T, c.dir)
	c.Logf("%d units, %d of them done twice", o.Status.Done, o.Status.Twice)
	if o.Report.Units != o.Status.Done || len(o.Report.Unknown) > 0 {
		c.Errorf("%d units, done %d, unknown %v", o.Report.Units, o.Status.Done, o.Report.Unknown)
	}
	is, want := asJSON(c.T, o.Report.Jobs), asJSON(c.T, oneMachines(c.T, o.Report.Plan))
	if is != want {
		c.Errorf("the report is not one machine's:\n%s", firstDifference(is, want))
	}
	return o
}

// signal sends a signal to workers.
func (c *chaos) signal(s syscall.Signal, workers ...*process) {
	for _, w := range workers {
		w.signal(s)
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (c *chaos) start() {
	c.Helper()
	c.coordinator = command(c.T, "start", c.plan, "--dir", c.dir, "--workers", "0", "--page", "",
		"--ack-wait", ackWait.String())
	c.url = serverOf(c.T, c.dir)
}

// ackWait is how long a worker may not be heard of before its task is given to another.
const ackWait = time.Second

func (c *chaos) work() *process {
	c.Helper()
	return command(c.T, "work", c.url, "--token-file", c.token, "--workers", "1")
}

// strike kills the coordinator and two workers when a random number of units more are done, moves the folder, and
// starts others.
func (c *chaos) strike() {
	c.Helper()
	c.done(1 + c.random.IntN(20))
	c.coordinator.kill()
	for _, i := range c.random.Perm(len(c.workers))[:2] {
		c.workers[i].kill()
		c.workers[i] = c.work()
	}
	moved := filepath.Join(c.TempDir(), "moved")
	if err := os.Rename(c.dir, moved); err != nil {
		c.Fatal(err)
	}
	c.dir = moved
	c.start()
}

// done waits until so many units more are done, or all.
func (c *chaos) done(more int) {
	c.Helper()
	begin := c.status().Done
	until(c.T, "units are done", func() bool {
		s := c.status()
		return s.Done >= begin+more || s.State != status.Running
	})
}

// status is how far the campaign is, by its books.
func (c *chaos) status() status.Status {
	c.Helper()
	s, err := coordinator.Folder(c.dir).Status()
	if err != nil {
		c.Fatal(err)
	}
	return s
}

// firstDifference shows the first lines that differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}
