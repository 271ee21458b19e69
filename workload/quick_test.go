package workload

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
)

func TestQuick(t *testing.T) {
	w, err := Find(os.Getenv("QK"), os.Getenv("QR"))
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(os.Getenv("QN"))
	wk, _ := strconv.Atoi(os.Getenv("QW"))
	seed, _ := strconv.Atoi(os.Getenv("QS"))
	f, err := sim.ParseFaults(os.Getenv("QF"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Run(context.Background(), w, sim.Config{Episodes: n, Seed: uint64(seed), Faults: f, NoFaultsAtAll: true, Workers: wk, Strategy: os.Getenv("QT")})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s %s: %s %s episodes %d steps %d ops %d struck %v hash %x in %v = %.0f ep/s %.0f steps/s\n", r.Workload, r.Recipe, r.Verdict, r.Reason, r.Episodes, r.Steps, r.Operations, r.Struck, r.Hash, r.Elapsed, float64(r.Episodes)/r.Elapsed.Seconds(), float64(r.Steps)/r.Elapsed.Seconds())
	for _, f := range r.Violations {
		fmt.Println("==", f.Property, f.Message, "ep", f.Episode, "times", f.Times, "clients", f.Clients, "faults", f.Faults, "steps", f.Steps, len(f.Choices))
		fmt.Println(strings.Join(sim.Lines(f.Trace), "\n"))
	}
}
