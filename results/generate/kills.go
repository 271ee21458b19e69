package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// kills is how often a run is killed.
const kills = 50

// killed is what came of the runs that were killed in one part of their lives.
type killed struct{ runs, rounds, operations int }

func measureKills(ctx context.Context, p *page) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./torturecli", "-run", "^TestKilledRun$", "-count=1", "-timeout", "60m", "-v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("ZKTORTURE_KILLS=%d", kills))
	out, failed := cmd.CombinedOutput()
	when, by := readKills(string(out))
	if len(when) == 0 {
		return fmt.Errorf("nothing was killed: %w\n%s", failed, out)
	}
	p.line("# Runs that are killed")
	p.line("")
	p.line("`make kills`: `torture run lock --backend ensemble --nodes 3 --out DIR` is killed by SIGKILL at random moments, some of")
	p.line("them right at its beginning; a third of the runs have no faults, the others all. Each time then: no process of it lives,")
	p.line("its temporary folder is empty, no network namespace is named or mounted that was not before, no table of nftables is there that was")
	p.line("not before, and `torture check DIR` accuses nobody.")
	p.line("")
	p.table("killed", "runs", "rounds judged", "operations judged")
	for _, w := range when {
		p.row(w, by[w].runs, number(by[w].rounds), number(by[w].operations))
	}
	p.line("")
	wrong := strings.Count(string(out), "--- FAIL: TestKilledRun/")
	p.line("Of %d runs %d left something behind, or a history that cannot be judged.", kills, wrong)
	if failed != nil {
		return fmt.Errorf("%w: %d runs: %w\n%s", errUnexpected, wrong, failed, out)
	}
	return nil
}

// killedLine is what the test says of each run.
var killedLine = regexp.MustCompile(`: killed (.+): (\d+) operations in (\d+) rounds are judged`)

// readKills sums up what a test says, by when the runs were killed; when is in the order of a run's life.
func readKills(out string) (when []string, by map[string]*killed) {
	by = map[string]*killed{}
	for _, m := range killedLine.FindAllStringSubmatch(out, -1) {
		if by[m[1]] == nil {
			by[m[1]] = &killed{}
		}
		operations, _ := strconv.Atoi(m[2])
		rounds, _ := strconv.Atoi(m[3])
		k := by[m[1]]
		k.runs, k.rounds, k.operations = k.runs+1, k.rounds+rounds, k.operations+operations
	}
	for _, w := range []string{"before it made its folder", "before its first round ended", "later"} {
		if by[w] != nil {
			when = append(when, w)
		}
	}
	return when, by
}
