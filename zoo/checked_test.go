package zoo_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// checkedVar names in a child process what it checks: a known bug and seeds.
const checkedVar = "ZKTORTURE_CHECKED"

func broken(t *testing.T, id string) zoo.KnownBug {
	t.Helper()
	bugs, err := zoo.Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	return bugs[0]
}

// TestAsChild is a test only in a child process: it checks one recipe with each of some seeds.
func TestAsChild(t *testing.T) {
	words := strings.Fields(os.Getenv(checkedVar))
	if len(words) == 0 {
		t.Skip("only in a child process")
	}
	for _, word := range words[1:] {
		t.Run(word, func(t *testing.T) {
			seed, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sim.Check(t, broken(t, words[0]).Broken(), sim.WithSeed(seed))
		})
	}
}

// checked are known bugs that are found in each of twenty times two thousand episodes.
var checked = strings.Fields(`
	W1 W2 W3 W5 W10 W11 W14 W15 W16 W17 W19 L1 L2 L15 L19 LK1 LK5 LK7 LK8 LK9 LK11
	DQ1 DQ2 DQ5 DQ6 DQ7 ZL14 ZL15 ZL16 P1 P3 B4`)

// Whatever is checked, with whatever seed: a test of a known bug ends with a story. ZKTORTURE_THOROUGH=all has all of them,
// with 20 seeds each.
func TestCheckEndsWithAStory(t *testing.T) {
	ids, seeds := checked, "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"
	if !testkit.Thorough() {
		ids, seeds = []string{"LK9", "DQ1"}, "21 22"
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAsChild$", "-test.v")
			cmd.Env, cmd.Dir = append(os.Environ(), checkedVar+"="+id+" "+seeds), t.TempDir()
			out, _ := cmd.CombinedOutput()
			tests := regexp.MustCompile(`(?m)^ *=== RUN +TestAsChild/.*\n`).Split(string(out), -1)[1:]
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 || len(tests) != len(strings.Fields(seeds)) {
				t.Fatalf("%v after %d tests:\n%s", cmd.ProcessState, len(tests), out)
			}
			for _, text := range tests {
				if problem := testkit.NoStory("checked_test.go", text); problem != "" {
					t.Errorf("%s:\n%s", problem, text)
				}
			}
		})
	}
}
