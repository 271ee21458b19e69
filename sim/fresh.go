package sim

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

const (
	freshTimes = 3                 // a run is run so often in a process of its own …
	freshTime  = 30 * time.Second  // … for so long at most
	firstEnv   = "ZKTORTURE_FIRST" // what tells such a process that the run is not to be tried again
)

// passesFirst reports whether a counterexample breaks nothing where its run is the first of a process. Then something that
// outlives an episode, such as a package variable, has made it fail in this process.
func (c *checker) passesFirst(example *replay.Counterexample) bool {
	self, err := os.Executable()
	if err != nil || example.Divergence != nil {
		return false
	}
	dir, err := os.MkdirTemp("", "zktorture")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	name, text := filepath.Join(dir, "run.json"), bytes.Buffer{}
	if example.Write(&text) != nil || os.WriteFile(name, text.Bytes(), 0o600) != nil {
		return false
	}
	for range freshTimes {
		if !c.passesIn(self, name) {
			return false
		}
	}
	return true
}

// passesIn reports whether a run that is in a file surely breaks nothing in a process of its own.
func (c *checker) passesIn(self, name string) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), freshTime)
	defer cancel()
	args := []string{"-test.run=" + onlyTest(c.t.Name()), "-test.v", "-test.count=1", "-zktorture.replay=" + name}
	cmd := exec.CommandContext(ctx, self, append(args, ownFlags(os.Args[1:])...)...)
	cmd.Env = append(os.Environ(), storiesEnv+"=", firstEnv+"=1")
	out, err := cmd.CombinedOutput()
	return err == nil && bytes.Contains(out, []byte(name+passesNow))
}

// ownFlags are the flags of a test binary that tests read themselves.
func ownFlags(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		name := strings.TrimLeft(arg, "-")
		return strings.HasPrefix(name, "test.") && !strings.HasPrefix(name, "test.short")
	})
}

// outlives says that something has been left behind for the run of a counterexample.
const outlives = "it does not happen where this run is the first of a process: something that outlives an episode keeps what an earlier " +
	"one has left there, most likely a package variable of the recipe. " + world.Outlives
