package sim_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/workload/cluster"
)

// childEnv names what this test binary does instead of running tests: some worlds cannot be
// stopped once they spin, and some claims are about another process.
const childEnv = "ZKTORTURE_CHILD"

// children are the things that a child process may do; each prints to standard output.
var children = map[string]func(args []string) error{
	"replay": childReplay,
	"run":    childRun,
	"again":  childAgain,
	"judge":  childJudge,
	"stops":  childStops,
}

func TestMain(m *testing.M) {
	if testkit.RaceDetector { // worlds are ten times as slow then, and it needs no second processor to see a race
		runtime.GOMAXPROCS(1)
	}
	words := strings.Fields(os.Getenv(childEnv))
	switch {
	case len(words) > 1 && frozen[words[1]].new != nil:
		sim.SetFreezeAfter(250 * time.Millisecond) // it will freeze
	case len(words) > 0:
		sim.SetFreezeAfter(time.Second)
	}
	if len(words) == 0 || words[0] == "test" {
		os.Exit(m.Run())
	}
	if err := children[words[0]](words[1:]); err != nil {
		fmt.Println("error:", err)
		os.Exit(2)
	}
}

// child runs this test binary again and returns what it prints and its exit status.
func child(t *testing.T, what string, env ...string) (output string, status int) {
	t.Helper()
	return childWith(t, what, nil, env...)
}

// childWith is child with flags of the test binary's.
func childWith(t *testing.T, what string, flags []string, env ...string) (output string, status int) {
	t.Helper()
	return childIn(t, t.TempDir(), what, flags, env...)
}

// childIn is childWith in a folder: counterexamples are written below it.
func childIn(t *testing.T, dir, what string, flags []string, env ...string) (output string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0],
		append([]string{"-test.run=^TestAsChild$", "-test.v"}, flags...)...)
	cmd.Env = append(append(os.Environ(), childEnv+"="+what), env...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func find(t *testing.T, kind, recipe string) *workload.Workload {
	t.Helper()
	w, err := workload.Find(kind, recipe)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func run(t *testing.T, w sim.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	r, err := sim.Run(context.Background(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
