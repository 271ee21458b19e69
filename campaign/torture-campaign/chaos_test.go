//go:build unix

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/campaign/torture-campaign/status"
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
// the report is what one machine reports, byte for byte. Units that were done twice are counted once.
//
// ZKTORTURE_CHAOS is how often they are killed (default 2); ZKTORTURE_CHAOS_SEED says when.
func TestChaos(t *testing.T) {
	kills, seed := number(t, "ZKTORTURE_CHAOS", 2), number(t, "ZKTORTURE_CHAOS_SEED", 1)
	episodes := 80 * (kills + 1)
	c := &chaos{T: t, random: rand.New(rand.NewPCG(uint64(seed), 1)), dir: filepath.Join(t.TempDir(), "campaign")}
	c.plan = planFile(t, `"jobs": [
		{"kinds": ["lock"], "recipes": ["ours", "published/WriteLock"], "strategies": ["mix", "patterns"]},
		{"kinds": ["queue"], "recipes": ["ours", "published/DistributedQueue"], "strategies": ["mix", "patterns"]},
		{"kinds": ["counter", "barrier"], "strategies": ["mix", "patterns"]}
		], "unit": 10, "canary": "none", "episodes": `+strconv.Itoa(episodes))
	c.start()
	c.token = filepath.Join(t.TempDir(), "token")
	text, err := os.ReadFile(coordinator.Folder(c.dir).TokenFile())
	if err == nil {
		err = os.WriteFile(c.token, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		c.workers = append(c.workers, c.work())
	}
	c.done(1)
	c.stop()
	for range kills {
		c.strike()
	}
	if code := c.coordinator.exit(t); code != 1 {
		t.Fatalf("exit status %d of a campaign with broken recipes:\n%s", code, c.coordinator.said.String())
	}
	for _, w := range c.workers {
		if code := w.exit(t); code != 0 {
			t.Errorf("a worker ended with status %d:\n%s", code, w.said.String())
		}
	}
	c.check()
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
	c.coordinator = command(c.T, "start", c.plan, "--dir", c.dir, "--workers", "0", "--page", "", "--ack-wait", "1s")
	c.url = serverOf(c.T, c.dir)
}

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

// stop stops all workers but one, until what they did was given to that one and was done twice.
func (c *chaos) stop() {
	c.Helper()
	until(c.T, "a unit is done twice", func() bool {
		for _, w := range c.workers[1:] {
			w.signal(syscall.SIGSTOP)
		}
		time.Sleep(3 * time.Second) // what goes wrong is that they are silent for so long
		for _, w := range c.workers[1:] {
			w.signal(syscall.SIGCONT)
		}
		c.done(1)
		s := c.status()
		return s.Twice > 0 || s.State != status.Running
	})
}

// check compares the report with that of one machine.
func (c *chaos) check() {
	c.Helper()
	o := outcome(c.T, c.dir)
	c.Logf("%d units, %d of them done twice", o.Status.Done, o.Status.Twice)
	if o.Status.Twice == 0 || len(o.Status.Unequal) > 0 {
		c.Errorf("%d units were done twice, not equal: %v", o.Status.Twice, o.Status.Unequal)
	}
	if o.Report.Units != o.Status.Done || len(o.Report.Unknown) > 0 {
		c.Errorf("%d units, done %d, unknown %v", o.Report.Units, o.Status.Done, o.Report.Unknown)
	}
	is, want := asJSON(c.T, o.Report.Jobs), asJSON(c.T, oneMachines(c.T, o.Report.Plan))
	if is != want {
		c.Errorf("the report is not one machine's:\n%s", firstDifference(is, want))
	}
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
