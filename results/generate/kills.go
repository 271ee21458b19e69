package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// kills is how many times a run is killed.
const kills = 50

// killed is the result of the runs killed in one phase.
type killed struct {
	When                     string
	Runs, Rounds, Operations int
}

func measureKills(ctx context.Context) (data any, problem error) {
	cmd := exec.CommandContext(ctx, "go", "test", "./torturecli", "-run", "^TestKilledRun$", "-count=1",
		"-timeout", "60m", "-v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("ZKTORTURE_KILLS=%d", kills))
	out, failed := cmd.CombinedOutput()
	all := readKills(string(out))
	if len(all) == 0 {
		return nil, fmt.Errorf("nothing was killed: %w\n%s", failed, out)
	}
	wrong := strings.Count(string(out), "--- FAIL: TestKilledRun/")
	if failed != nil {
		problem = fmt.Errorf("%w: %d runs: %w\n%s", errUnexpected, wrong, failed, out)
	}
	return facts{"Killed": all, "Kills": kills, "Wrong": wrong}, problem
}

// killedLine matches the test's line about each run.
var killedLine = regexp.MustCompile(`: killed (.+): (\d+) operations in (\d+) rounds are judged`)

// readKills sums up the test's output by phase, in the order of a run.
func readKills(out string) []killed {
	all := []killed{{When: "before it made its folder"}, {When: "before its first round ended"}, {When: "later"}}
	for _, m := range killedLine.FindAllStringSubmatch(out, -1) {
		operations, _ := strconv.Atoi(m[2])
		rounds, _ := strconv.Atoi(m[3])
		for i := range all {
			if k := &all[i]; k.When == m[1] {
				k.Runs, k.Rounds, k.Operations = k.Runs+1, k.Rounds+rounds, k.Operations+operations
			}
		}
	}
	return slices.DeleteFunc(all, func(k killed) bool { return k.Runs == 0 })
}
