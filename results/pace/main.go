// Pace runs a campaign of a correct recipe on one core. `go run ./results/generate faster` runs that of two commits in
// turns, so it uses nothing in which commits differ.
//
//	go run ./results/pace KIND EPISODES SEED
//
// It prints a JSON object: how many episodes, steps, allocations and bytes that were. The processor time is seen by who
// runs it. Exit status 2: an error.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"github.com/zktorture/zktorture/internal/gc"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func main() {
	gc.Relax()
	runtime.GOMAXPROCS(1)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pace:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("%d arguments: want KIND EPISODES SEED", len(args))
	}
	w, err := workload.Find(args[0], workload.Ours)
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
	runtime.ReadMemStats(&before)
	r, err := sim.Run(context.Background(), w, sim.Config{Episodes: episodes, Seed: seed, Faults: sim.AllFaults, Workers: 1})
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	if r.Verdict != sim.VerdictOK {
		return fmt.Errorf("%s (%s): %s %s", r.Workload, r.Recipe, r.Verdict, r.Reason)
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"episodes": int64(r.Episodes), "steps": r.Steps,
		"allocations": int64(after.Mallocs - before.Mallocs), "bytes": int64(after.TotalAlloc - before.TotalAlloc),
	})
}
