package recipes_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// decision runs Outcome or Abort.
func decision(f func(context.Context, string) (bool, error), tx string, want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		commit, err := f(ctx, tx)
		if err == nil && commit != want {
			return errors.New("the wrong outcome")
		}
		return err
	}
}

func TestTwoPhase(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, ctx := connect(t, servers), t.Context()
		tx := recipes.NewTwoPhase(c, "/tx")
		must(t, tx.Begin(ctx, "1", []byte("q"), "b", "a"))
		if err := tx.Begin(ctx, "1", nil, "a"); !errors.Is(err, recipes.ErrTransactionExists) {
			t.Errorf("Begin: %v", err)
		}
		query, sites, err := tx.Query(ctx, "1")
		if err != nil || string(query) != "q" || len(sites) != 2 || sites[0] != "a" {
			t.Errorf("Query: %s %v %v", query, sites, err)
		}
		waiting := begin(t, decision(tx.Outcome, "1", true))
		must(t, tx.Vote(ctx, "1", "b", true))
		must(t, tx.Vote(ctx, "1", "b", true))
		waiting.waits(t)
		must(t, tx.Vote(ctx, "1", "a", true))
		waiting.returns(t, nil)
		must(t, decision(tx.Abort, "1", true)(ctx)) // too late
		must(t, tx.Forget(ctx, "1"))
		must(t, tx.Forget(ctx, "1"))
		if err := tx.Vote(ctx, "1", "a", true); !errors.Is(err, recipes.ErrNoTransaction) {
			t.Errorf("Vote: %v", err)
		}
		if err := tx.Begin(ctx, "2", nil, "a", "a"); err == nil {
			t.Error("a transaction with the same site twice was begun")
		}
		if err := tx.Begin(ctx, "2", nil); err == nil {
			t.Error("a transaction without sites was begun")
		}
	})
}

// A vote to abort is known at once, whichever site it is whose vote is awaited.
func TestTwoPhaseAborts(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		tx, ctx := recipes.NewTwoPhase(connect(t, servers), "/tx"), t.Context()
		must(t, tx.Begin(ctx, "1", nil, "a", "b", "c"))
		waiting := begin(t, decision(tx.Outcome, "1", false))
		must(t, tx.Vote(ctx, "1", "c", false))
		waiting.returns(t, nil)
		must(t, tx.Begin(ctx, "2", nil, "a", "b"))
		must(t, tx.Vote(ctx, "2", "a", true))
		must(t, decision(tx.Abort, "2", false)(ctx))
		if err := tx.Vote(ctx, "2", "b", true); !errors.Is(err, recipes.ErrAborted) {
			t.Errorf("a vote that comes too late: %v", err)
		}
		if err := tx.Vote(ctx, "2", "x", true); !errors.Is(err, recipes.ErrNoTransaction) {
			t.Errorf("a vote of a site that takes no part: %v", err)
		}
	})
}

func TestTwoPhaseLosses(t *testing.T) {
	for _, op := range []string{"create", "multi", "children", "getW", "get"} {
		for name, lost := range map[string]fault{"request": loseRequest, "reply": loseReply} {
			t.Run(op+" "+name, func(t *testing.T) {
				world(t, func(t *testing.T, servers *goclient.Local) {
					c, ctx := connect(t, servers), t.Context()
					tx := recipes.NewTwoPhase(c, "/deep/tx")
					for _, step := range []func() error{
						func() error { return tx.Begin(ctx, "1", nil, "a", "b") },
						func() error { return tx.Vote(ctx, "1", "a", true) },
						func() error { return tx.Vote(ctx, "1", "b", true) },
						func() error { return decision(tx.Outcome, "1", true)(ctx) },
						func() error { return tx.Forget(ctx, "1") },
					} {
						c.plan(op, lost, lost)
						must(t, step())
					}
				})
			})
		}
	}
}

func TestTwoPhaseUnknownOutcome(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, letGo := connect(t, servers), make(chan struct{})
		policy := recipes.RetryPolicy{DelayMin: time.Second, DelayMax: time.Second}
		tx := recipes.NewTwoPhase(c, "/tx", recipes.WithRetry(policy))
		must(t, tx.Begin(t.Context(), "1", nil, "a"))
		c.plan("multi", hang(letGo))
		voting := begin(t, func(ctx context.Context) error { return tx.Vote(ctx, "1", "a", true) })
		voting.cancel()
		voting.returns(t, recipes.ErrUnknownOutcome)
		close(letGo)
		must(t, tx.Vote(t.Context(), "1", "a", true))
		must(t, decision(tx.Outcome, "1", true)(t.Context()))
	})
}
