package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/internal/correct"
	"github.com/zktorture/zktorture/linearizability"
)

const (
	correctHistories = 10_000                 // of all models
	correctTime      = 200 * time.Millisecond // for one
)

// innocent is what came of correct histories of one model.
type innocent struct {
	histories, operations     int
	doubtful, stale           int // histories with operations of unknown outcome, and with stale reads
	ok, undetermined, accused int
	slowest                   time.Duration
}

func (n *innocent) add(m innocent) {
	n.histories, n.operations, n.doubtful, n.stale = n.histories+m.histories, n.operations+m.operations, n.doubtful+m.doubtful, n.stale+m.stale
	n.ok, n.undetermined, n.accused = n.ok+m.ok, n.undetermined+m.undetermined, n.accused+m.accused
	n.slowest = max(n.slowest, m.slowest)
}

func measureCorrect(ctx context.Context, p *page) error {
	p.line("## Correct histories")
	p.line("")
	p.line("%s histories of 1,000 to 5,000 operations by 8 to 32 clients, correct by construction (`internal/correct`), with up", number(correctHistories))
	p.line("to 10 %% of unknown outcome (half of these took effect), equal stamps, and, where there are reads, in half of them reads")
	p.line("from servers that lag, judged with `StaleReads`. None may be *accused*. A history may take %v.", correctTime)
	p.line("")
	p.table("model", "histories", "operations", "with unknown outcomes", "with stale reads", "ok", "undetermined", "accused", "slowest")
	var total innocent
	for _, model := range correct.Models {
		n, err := judgeInnocents(ctx, model, correctHistories/len(correct.Models)+1)
		if err != nil {
			return err
		}
		n.row(p, model)
		total.add(n)
		fmt.Fprintf(os.Stderr, "%s: %d of %d accused\n", model, n.accused, n.histories)
	}
	total.row(p, "all")
	if total.accused > 0 {
		return fmt.Errorf("%w: %d correct histories were accused", errUnexpected, total.accused)
	}
	return nil
}

// judgeInnocents judges the first so many cases of a model.
func judgeInnocents(ctx context.Context, model string, cases int) (n innocent, err error) {
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
	accused := v.Outcome == linearizability.Violation || v.Checker == "disagreement" // by one checker, that is
	if accused {
		fmt.Fprintf(os.Stderr, "%s, shape %+v: %v\n", c.Model.Name, c.Shape, v)
	}
	return innocent{
		histories: 1, operations: len(c.History), doubtful: count(c.Shape.Unknown > 0), stale: count(c.Stale()),
		ok: count(v.Outcome == linearizability.Ok), undetermined: count(v.Outcome == linearizability.Undetermined && !accused),
		accused: count(accused), slowest: time.Since(begin),
	}
}

func (n *innocent) row(p *page, name string) {
	p.row(name, number(n.histories), number(n.operations), number(n.doubtful), number(n.stale), number(n.ok), number(n.undetermined), number(n.accused), n.slowest.Round(time.Millisecond))
}
