package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/results/internal/correct"
)

const (
	correctHistories = 10_000                 // of all models
	correctTime      = 200 * time.Millisecond // for one
)

// innocent is the result of correct histories of one model.
type innocent struct {
	Model                     string
	Histories, Operations     int
	Doubtful, Stale           int // histories with operations of unknown outcome, and with stale reads
	OK, Undetermined, Accused int
	Slowest                   time.Duration
}

func (n *innocent) add(m innocent) {
	n.Histories, n.Operations = n.Histories+m.Histories, n.Operations+m.Operations
	n.Doubtful, n.Stale = n.Doubtful+m.Doubtful, n.Stale+m.Stale
	n.OK, n.Undetermined, n.Accused = n.OK+m.OK, n.Undetermined+m.Undetermined, n.Accused+m.Accused
	n.Slowest = max(n.Slowest, m.Slowest)
}

func measureCorrect(ctx context.Context) (data any, problem error) {
	var models []innocent
	total := innocent{Model: "all"}
	for _, model := range correct.Models {
		n, err := judgeInnocents(ctx, model, correctHistories/len(correct.Models)+1)
		if err != nil {
			return nil, err
		}
		models = append(models, n)
		total.add(n)
		fmt.Fprintf(os.Stderr, "%s: %d of %d accused\n", model, n.Accused, n.Histories)
	}
	if total.Accused > 0 {
		problem = fmt.Errorf("%w: %d correct histories were accused", errUnexpected, total.Accused)
	}
	return facts{"Histories": correctHistories, "Time": correctTime, "Models": append(models, total)}, problem
}

// judgeInnocents judges the first cases of a model.
func judgeInnocents(ctx context.Context, model string, cases int) (n innocent, err error) {
	n.Model = model
	for i := range cases {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		c, err := correct.New(model, uint64(i))
		if err != nil {
			return n, err
		}
		n.add(judgeInnocent(c))
	}
	return n, nil
}

func judgeInnocent(c *correct.Case) innocent {
	begin := time.Now()
	v := linearizability.Check(c.Model, c.History, linearizability.Options{Timeout: correctTime})[0]
	accused := v.Outcome == linearizability.Violation || v.Checker == "disagreement" // by one checker
	if accused {
		fmt.Fprintf(os.Stderr, "%s, shape %+v: %v\n", c.Model.Name, c.Shape, v)
	}
	return innocent{
		Histories: 1, Operations: len(c.History), Doubtful: count(c.Shape.Unknown > 0), Stale: count(c.Stale()),
		OK:           count(v.Outcome == linearizability.Ok),
		Undetermined: count(v.Outcome == linearizability.Undetermined && !accused),
		Accused:      count(accused), Slowest: time.Since(begin),
	}
}
