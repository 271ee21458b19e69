// Searched searches all executions of a kind's recipe within a bound, and prints what came of it, as JSON. `go run
// ./results/generate changes` builds it with recipes that were changed.
//
//	go run ./results/searched KIND CLIENTS OPS FAULTS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/sim"
	_ "github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "searched:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("%d arguments: want KIND CLIENTS OPS FAULTS", len(args))
	}
	w, err := workload.Find(args[0], workload.Ours)
	if err != nil {
		return err
	}
	cfg := sim.Config{Strategy: sim.Exhaustive, NoFaultsAtAll: true, AtMost: 1, Plain: true, NoShrink: true, Duration: time.Minute}
	var of [3]error
	cfg.Clients, of[0] = strconv.Atoi(args[1])
	cfg.Ops, of[1] = strconv.Atoi(args[2])
	cfg.Faults, of[2] = world.ParseFaults(args[3])
	for _, err := range of {
		if err != nil {
			return err
		}
	}
	r, err := sim.Run(context.Background(), w, cfg)
	if err != nil {
		return err
	}
	said := struct {
		Extent   tally.Extent
		Property string // that broke, "" for none
	}{Extent: r.Extent}
	if len(r.Violations) > 0 {
		said.Property = r.Violations[0].Property
	}
	return json.NewEncoder(os.Stdout).Encode(said)
}
