package torturecli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/zktorture/zktorture/internal/ensembletest"
	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// The progress log of a run ends with the counts of its result.
func TestCourseEndsWithTheResult(t *testing.T) {
	t.Chdir(t.TempDir())
	object(t, exitViolation, "run", "lock", "--recipe", "published/WriteLock", "--seed", "1", "--episodes", "300",
		"--faults", "loss,crash", "--out", "out")
	last := endsWithTheResult(t, "out")
	if last.Faults["loss"] == 0 || last.Violations == 0 {
		t.Errorf("the course ends with %+v", last)
	}
}

func TestCourseOnRealServers(t *testing.T) {
	servers := ensembletest.Start(t, 1).ConnectString()
	t.Chdir(t.TempDir())
	object(t, exitOK, "run", "lock", "--backend", "live", "--servers", servers, "--episodes", "20", "--out", "out")
	endsWithTheResult(t, "out")
}

// endsWithTheResult compares the end of a run's progress log with its result.
func endsWithTheResult(t *testing.T, dir string) progresslog.Point {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var result summary
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, progresslog.Name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	points, err := progresslog.Read(file)
	if err != nil || len(points) == 0 {
		t.Fatalf("%d moments: %v", len(points), err)
	}
	last := points[len(points)-1]
	if last.Episodes != int64(result.Episodes) || last.Operations != result.Operations ||
		last.Time > result.Elapsed+0.001 || last.Time == 0 {
		t.Errorf("the course ends with %+v, the result has %d episodes, %d operations in %g s", last, result.Episodes,
			result.Operations, result.Elapsed)
	}
	if len(last.Faults) != len(result.Faults) {
		t.Errorf("faults of the course are %v, those of the result %v", last.Faults, result.Faults)
	}
	for kind, n := range result.Faults {
		if last.Faults[kind] != int64(n) {
			t.Errorf("%s struck %d times, and %d times in the course", kind, n, last.Faults[kind])
		}
	}
	return last
}

// Without a folder there is no progress log. A run that failed to start leaves no folder.
func TestNoCourseWithoutARun(t *testing.T) {
	t.Chdir(t.TempDir())
	object(t, exitOK, "run", "lock", "--seed", "1", "--episodes", "20")
	if status, _, _ := command(t, "run", "lock", "--backend", "live", "--servers", "127.0.0.1:notaport",
		"--out", "out"); status != exitUnknown {
		t.Errorf("exit status %d", status)
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("left are %v: %v", entries, err)
	}
}
