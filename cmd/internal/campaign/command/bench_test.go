//go:build linux

package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/coordinator"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/runner"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// nothing runs units that do nothing.
type nothing struct{ plan *campaign.Plan }

func (r nothing) Unit(_ context.Context, n int) (campaign.UnitResult, error) {
	u, _ := r.plan.Unit(n)
	return campaign.UnitResult{Format: campaign.UnitFormat, Plan: r.plan.Digest(), Unit: u, Part: &tally.Part{}}, nil
}

func (r nothing) Conclude(context.Context, int, tally.Part) (campaign.JobReport, error) {
	return campaign.JobReport{Result: sim.Result{Verdict: sim.VerdictOK}}, nil
}

func (nothing) Close() {}

// emptyUnits leads a campaign of so many units that do nothing, with two workers, in this process and a folder.
func emptyUnits(t testing.TB, dir string, units int) {
	t.Helper()
	plan, err := campaign.ParsePlan(fmt.Appendf(nil, `{"format": "zktorture plan 1", "name": "empty", "canary": "none",
		"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "episodes": %d, "unit": 1}`, units))
	if err == nil {
		err = coordinator.Folder(dir).SetPlan(plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	c, err := coordinator.New(coordinator.Config{
		Folder: coordinator.Folder(dir), Plan: plan, Listen: "127.0.0.1:0", Say: func(string) {},
		Started: func(j coordinator.Joining) {
			workers.Go(func() {
				nc, err := j.Access.Dial(t.Context(), time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				never := func(error) bool { return false }
				err = worker.Work(t.Context(), nc, j.ID, worker.Config{
					Name: "w", Slots: 2, Plan: plan, Runner: func() worker.Runner { return nothing{plan} },
					Killed: never, Fatal: never, Crash: runner.CrashOf, Say: func(string) {},
				})
				if err != nil {
					t.Error(err)
				}
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Units != units || len(report.Unknown) > 0 {
		t.Errorf("%d units, unknown %d", report.Units, len(report.Unknown))
	}
}

// onDisk is how many bytes the files of a folder have.
func onDisk(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // the server removes streams in the background
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// What a campaign keeps of 10,000 units is less than 50 MB; of 500 it is less than a twentieth of that.
func TestStateIsSmall(t *testing.T) {
	dir := t.TempDir()
	emptyUnits(t, dir, 500)
	if bytes := onDisk(t, dir); bytes > 50<<20/20 {
		t.Errorf("500 units leave %d bytes", bytes)
	}
}

// BenchmarkEmptyUnits tells what a unit costs besides itself, and the most that a campaign of such has on the disk and
// in memory: go test -run ^$ -bench EmptyUnits -benchtime 10000x.
func BenchmarkEmptyUnits(b *testing.B) {
	dir, ended, most := b.TempDir(), make(chan bool), make(chan int64)
	go func() {
		var bytes int64
		for {
			select {
			case <-ended:
				most <- bytes
				return
			case <-time.After(time.Second / 10):
				bytes = max(bytes, onDisk(b, dir))
			}
		}
	}()
	emptyUnits(b, dir, b.N)
	close(ended)
	b.ReportMetric(float64(<-most)/1e6, "MB-on-disk")
	b.ReportMetric(peak(b)/1e6, "MB-in-memory")
}

// peak is the largest resident memory that this process had.
func peak(t testing.TB) (bytes float64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "VmHWM: %g kB", &bytes); n == 1 {
			return bytes * 1024
		}
	}
	t.Fatal("the system does not tell how much memory there was")
	return 0
}
