// Pace runs a campaign of a correct recipe on one core. `go run ./results/generate faster` runs that of two commits in
// turns, so it uses nothing in which commits differ.
//
//	go run ./results/pace KIND[:RECIPE] EPISODES SEED
//
// It prints a JSON object: how many episodes, steps, allocations, bytes and seconds that were. The processor time is
// seen by who runs it. Exit status 2: an error.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

func main() {
	memory.RelaxGC()
	runtime.GOMAXPROCS(1)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pace:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments: want KIND[:RECIPE] EPISODES SEED", len(args))
	}
	kind, recipe, _ := strings.Cut(args[0], ":")
	w, err := workload.Find(kind, cmp.Or(recipe, workload.Ours))
	if err != nil {
		return err
	}
	episodes, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	begin := time.Now()
	runtime.ReadMemStats(&before)
	r, err := sim.Run(context.Background(), w, sim.Config{Episodes: episodes, Seed: seed, Faults: world.AllFaults, Workers: 1})
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	if r.Verdict != sim.VerdictOK {
		return fmt.Errorf("%s (%s): %s %s", r.Workload, r.Recipe, r.Verdict, r.Reason)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"episodes": r.Episodes, "steps": r.Steps, "seconds": time.Since(begin).Seconds(),
		"allocations": after.Mallocs - before.Mallocs, "bytes": after.TotalAlloc - before.TotalAlloc,
	})
}
