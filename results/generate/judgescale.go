package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	lin "github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/results/internal/correct"
	"github.com/zktorture/zktorture/results/internal/longhistory"
)

// The promised limits for a history of any shape that a workload can produce.
const (
	scaleOperations = 100_000
	scaleSeconds    = 5.0
	scaleMB         = 500
)

// scaleShape is a shape of histories, hard to judge or ordinary.
type scaleShape struct {
	Name, Model string
	flags       []string
	want        string // the verdict; unknown for shapes known to be too hard
	history     func(n int) lin.History
}

// scaleShapes are those of all models, and those that were once too hard.
func scaleShapes() (all []scaleShape) {
	sizes := map[string][]string{"semaphore": {"--permits", "3"}, "doublebarrier": {"--parties", "3"}}
	for _, model := range correct.Models {
		all = append(all, scaleShape{"busy, 1 ‰ of unknown outcome", model, sizes[model], "ok", busy(model, 0.001)})
	}
	return append(all,
		scaleShape{"of 1, 10 and −3 as in the workload, 0.1 ‰ of unknown outcome", "counter", nil, "ok",
			busyAmounts(0.0001, -3)},
		scaleShape{"of 1, 10 and −3 as in the workload, 1 ‰ of unknown outcome", "counter", nil, "ok",
			busyAmounts(0.001, -3)},
		scaleShape{"of 1, 10 and −3 as in the workload, 1 % of unknown outcome", "counter", nil, "ok",
			busyAmounts(0.01, -3)},
		scaleShape{"of 1, 2 and 5, 1 % of unknown outcome", "counter", nil, "ok", busyAmounts(0.01, 5)},
		scaleShape{"of 1, 2 and 5, 10 % of unknown outcome", "counter", nil, "ok", busyAmounts(0.1, 5)},
		scaleShape{"busy, 1 % of unknown outcome", "priorityqueue", nil, "ok", busy("priorityqueue", 0.01)},
		scaleShape{"busy, 10 % of unknown outcome", "priorityqueue", nil, "ok", busy("priorityqueue", 0.1)},
		scaleShape{"n offers and polls at once, lost polls, two overtaken", "priorityqueue", nil,
			"violation", hardPriorities},
		scaleShape{"k+1 clients hold k permits at once", "semaphore",
			[]string{"--permits", strconv.Itoa(scaleOperations/2 - 1)}, "violation", overdrawn},
		scaleShape{"offers that overlap their neighbours, one lost poll too few", "queue", nil,
			"violation", passedOver},
		scaleShape{"all at once", "barrier", nil, "ok", allAtOnce},
		scaleShape{"all at once, one wait too early", "barrier", nil, "violation", func(n int) lin.History {
			return append(allAtOnce(n), lin.Operation{Client: n, Op: "wait", Call: 11, Return: 19})
		}},
		scaleShape{"lost additions of 2, a get of 1", "counter", nil, "violation",
			lostAdditions(func(int) int64 { return 2 }, 1)},
		scaleShape{"12 lost additions of −1, two told −2", "counter", nil, "violation", toldTwice},
		scaleShape{"lost additions of n amounts, a get", "counter", nil, "unknown",
			lostAdditions(func(i int) int64 { return int64(i + 1) }, 1_000_000)},
	)
}

func busy(model string, unknown float64) func(n int) lin.History {
	return func(n int) lin.History {
		s := correct.Shape{Operations: n, Clients: 16, Early: 30, Late: 30, Unknown: unknown, Tick: 1}
		return correct.Draw(rand.New(rand.NewPCG(5, 0)), model, lin.Parameters{Permits: 3, Parties: 3}, s)
	}
}

// busyAmounts draws until the amount is added.
func busyAmounts(unknown float64, amount int64) func(n int) lin.History {
	return func(n int) lin.History {
		for seed := uint64(0); ; seed++ {
			s := correct.Shape{Operations: n, Clients: 16, Early: 30, Late: 30, Unknown: unknown, Tick: 1}
			h := correct.Draw(rand.New(rand.NewPCG(5, seed)), "counter", lin.Parameters{}, s)
			if slices.ContainsFunc(h, func(o lin.Operation) bool { return o.Op == "add" && o.Arg.Int() == amount }) {
				return h
			}
		}
	}
}

func hardPriorities(n int) lin.History {
	var text strings.Builder
	if err := longhistory.WriteHard(&text, n/3); err != nil {
		return nil
	}
	h, _ := histories.Read(strings.NewReader(text.String()))
	return h
}

func overdrawn(n int) (h lin.History) {
	for i := range n {
		op := lin.Operation{Client: i % (n / 2), Op: "acquire", Call: 0, Return: 10}
		if i >= n/2 {
			op.Op, op.Call, op.Return = "release", 20, 30
		}
		h = append(h, op)
	}
	return h
}

func passedOver(n int) (h lin.History) {
	k := n / 4
	for i := range 2 * k {
		h = append(h, lin.Operation{Client: i, Op: "offer", Arg: lin.Int(int64(i)), Call: int64(10 * i),
			Return: int64(10*i + 12)})
	}
	after := int64(20*k + 20)
	for i := range k - 1 {
		h = append(h, lin.Operation{Client: 2*k + i, Op: "poll", Outcome: lin.Unknown, Call: after,
			Return: lin.Forever})
	}
	for i := range k {
		at := after + 10*int64(i)
		h = append(h, lin.Operation{Client: 4 * k, Op: "poll", Result: lin.Int(int64(k + i)), Call: at, Return: at + 1})
	}
	return h
}

func allAtOnce(n int) (h lin.History) {
	for i := range n {
		op := lin.Operation{Client: i, Op: []string{"shut", "open", "wait"}[i%3], Call: int64(20 + i),
			Return: int64(20 + 2*i)}
		switch op.Op {
		case "shut":
			op.Call, op.Return = 0, 10
		case "open":
			op.Outcome, op.Return = lin.Unknown, lin.Forever
		}
		h = append(h, op)
	}
	return h
}

func lostAdditions(amount func(i int) int64, get int64) func(n int) lin.History {
	return func(n int) (h lin.History) {
		for i := range n - 1 {
			h = append(h, lin.Operation{Client: i, Op: "add", Arg: lin.Int(amount(i)), Outcome: lin.Unknown, Call: 1,
				Return: lin.Forever})
		}
		return append(h, lin.Operation{Client: n, Op: "get", Result: lin.Int(get), Call: 5, Return: 6})
	}
}

func toldTwice(int) lin.History {
	h := lostAdditions(func(int) int64 { return -1 }, 0)(13)[:12]
	for i := range 2 {
		h = append(h, lin.Operation{Client: 20 + i, Op: "add", Arg: lin.Int(-1), Result: lin.Int(-2),
			Call: 2, Return: 9})
	}
	return h
}

// scaled is the result of a history of some shape.
type scaled struct {
	scaleShape
	checked
	Operations int
}

// measureScale judges every shape with the command, on one core.
func measureScale(ctx context.Context) (any, error) {
	j, err := newJudging(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(j.dir)
	var all []scaled
	for _, s := range scaleShapes() {
		c, err := j.shape(s)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, problem := range j.problems {
		fmt.Fprintln(os.Stderr, problem)
	}
	return facts{"Operations": scaleOperations, "Seconds": scaleSeconds, "MB": scaleMB, "Checks": all},
		errors.Join(j.problems...)
}

// shape measures one.
func (j *judging) shape(s scaleShape) (scaled, error) {
	h := s.history(scaleOperations)
	n := len(h)
	file, err := j.file("shape.jsonl", func(w io.Writer) error { return histories.Write(w, h) })
	if err != nil {
		return scaled{}, err
	}
	h = nil
	debug.FreeOSMemory() // memory of this process counts as the command's at its start
	c, err := j.check(nil, append([]string{file, "--model", s.Model, "--timeout", "10s"}, s.flags...)...)
	fmt.Fprintf(os.Stderr, "%s, %s: %s, %.2f s, %d MB\n", s.Model, s.Name, c.Verdict, c.Processor, c.MB)
	within := s.want == "unknown" || c.Processor <= scaleSeconds && c.MB <= scaleMB
	j.keep(c.Verdict == s.want && within, "%s, %s: %.2f s, %d MB, %.300s", s.Model, s.Name, c.Processor, c.MB, c.output)
	return scaled{s, c, n}, err
}
