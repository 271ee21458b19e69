package workload

// The two-phase commit workload.
//
// One user begins transactions of some sites; the others, some with two on one session, play the sites: each votes
// once in each transaction, to commit or to abort, and asks for the outcome. Some do not want to wait and abort, some
// die or come too late. The coordinator may die at any moment. When all have finished, one forgets the transactions.
//
// No outcome is told before the calls that it rests on, and a vote to commit is refused as aborted only if the outcome is
// abort. While a vote is missing a call for the outcome may wait for ever: that is the blocking that the recipe documents.
// Without Forget znodes are not judged.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// twoPhaseKind is the table's line for this kind, see [Kind].
var twoPhaseKind = Kind{
	Name:     "twophase",
	optional: optionally[twoPhaseRecipe](),
	Promises: []Promise{
		{Names: []string{"atomicity"}, Text: "all that learn the outcome of a transaction learn the same one"},
		{
			Names: []string{"validity"},
			Text:  "the outcome is commit only if every site voted for it, and abort only if somebody asked for it",
		},
		{
			Names: []string{"progress"},
			Text:  "a call for the outcome returns once all votes are cast or one is to abort",
			Also:  []string{"lost-wakeup"},
		},
		tidy, noLeaks,
	},
	Recipes: []Entry{
		twoPhaseEntry(Ours, "recipes.TwoPhase: two-phase commit that anybody can end",
			func(c recipes.Conn, path string) Committer { return committer{recipes.NewTwoPhase(c, path)} }),
	},
	Spared: map[string]string{
		"reap": "the directory is empty only when the workload has forgotten its transactions, at the end",
	},
}

var twoPhaseEntry = entries("twophase", TwoPhase)

// Committer is two-phase commit as the workload uses it. Outcome waits until the outcome is decided.
// A recipe may also have
//
//	Abort(ctx context.Context, tx string) (commit bool, err error) // ends the waiting
//	Forget(ctx context.Context, tx string) error                   // removes what is left
//
// Optional methods are tested, too.
type Committer interface {
	Begin(ctx context.Context, tx string, sites []string) error
	Vote(ctx context.Context, tx, site string, commit bool) error
	Outcome(ctx context.Context, tx string) (commit bool, err error)
}

type aborter interface {
	Abort(ctx context.Context, tx string) (bool, error)
}
type forgetter interface {
	Forget(ctx context.Context, tx string) error
}

// twoPhaseRecipe is a two-phase commit with what it can do, see [able].
type twoPhaseRecipe struct {
	Committer
	Aborter   aborter
	Forgetter forgetter
}

// TwoPhase is the workload of two-phase commit for a recipe. new is called once for each user of a
// session; all that it returns must be about the same transactions.
func TwoPhase(new func(c recipes.Conn, path string) Committer, opts ...Option) *Workload {
	return workloadOf("twophase", linearizability.Model{}, new, planTransactions, opts)
}

// committer is this project's own recipe as a Committer.
type committer struct{ *recipes.TwoPhase }

func (c committer) Begin(ctx context.Context, tx string, sites []string) error {
	return c.TwoPhase.Begin(ctx, tx, []byte("query of "+tx), sites...)
}

// transactions is one planned episode. The first user is the coordinator and a site too.
type transactions struct {
	Script[string] // names of operations with the transaction
	new            maker[Committer]
	count          int
}

func planTransactions(p *world.Plan, path string, new maker[Committer]) *transactions {
	e := &transactions{Script: NewScript[string](p, path), new: new}
	e.Whole, e.Drains = true, true
	e.count = p.Turns(min(p.Ops, 3), "transactions")
	for s := range slot(e.layout, len(e.layout), 0) {
		e.turns = append(e.turns, e.script(p, s, world.PlanLabel(s)))
	}
	return e
}

// script is what one user does in all transactions.
func (e *transactions) script(p *world.Plan, s int, label string) (script []string) {
	for n := range e.count {
		if s == 0 {
			script = append(script, fmt.Sprintf("begin t%d", n+1))
		}
		for _, name := range strings.Fields(siteScripts[p.Part(len(siteScripts), label)]) {
			script = append(script, fmt.Sprintf("%s t%d", name, n+1))
		}
	}
	return script
}

// siteScripts are what a site may do in a transaction.
var siteScripts = [...]string{
	"commit outcome", "commit abort outcome", "commit outcome outcome",
	"veto outcome", "outcome commit outcome", "commit",
}

// sites names the sites of every transaction: one for each user.
func (e *transactions) sites() (names []string) {
	for s := range e.turns {
		names = append(names, siteName(s))
	}
	return names
}

func siteName(s int) string { return "s" + strconv.Itoa(s+1) }

func (e *transactions) Run(u User) {
	s := e.Slot(u)
	c := able[twoPhaseRecipe](&e.terms, e.new(u.Conn(), e.Path))
	e.AtDeath(u, func() { e.Over(u, c.Committer) })
	for turn := range e.Turns(u) {
		name, tx, _ := strings.Cut(turn, " ")
		e.operate(u, c, name, tx, siteName(s))
	}
	if c.Forgetter != nil && e.Last(u) {
		for n := range e.count {
			forget(u, c.Forgetter, fmt.Sprintf("t%d", n+1))
		}
	}
	e.Over(u, c.Committer)
}

func (e *transactions) operate(u User, c twoPhaseRecipe, name, tx, site string) {
	switch name {
	case "begin":
		ctx, op := u.Begin("begin", tx, true)
		err := c.Begin(ctx, tx, e.sites())
		u.End(op, mutationOutcome(err), "", err)
	case "commit", "veto":
		vote(u, c, name, tx, site)
	case "abort":
		if c.Aborter != nil {
			learn(u, "abort", tx, c.Aborter.Abort)
		}
	default:
		learn(u, "outcome", tx, c.Outcome)
	}
}

// vote votes. A site that has not heard yet that the transaction has begun tries a few times more.
func vote(u User, c Committer, name, tx, site string) {
	for range 4 {
		ctx, op := u.Begin(name, tx+" "+site, true)
		err := c.Vote(ctx, tx, site, name == "commit")
		u.End(op, voteOutcome(err), "", err)
		if !errors.Is(err, recipes.ErrNoTransaction) {
			return
		}
	}
}

// voteOutcome: a vote to commit that was refused as too late has surely not been cast.
func voteOutcome(err error) world.Outcome {
	if errors.Is(err, recipes.ErrAborted) || errors.Is(err, recipes.ErrNoTransaction) {
		return world.Fail
	}
	return mutationOutcome(err)
}

// learn runs an operation that returns the outcome.
func learn(u User, name, tx string, f func(context.Context, string) (bool, error)) {
	ctx, op := u.Begin(name, tx, true)
	commit, err := f(ctx, tx)
	result := "abort"
	switch {
	case err != nil:
		u.End(op, world.Unknown, "", err)
		return
	case commit:
		result = "commit"
	}
	u.End(op, world.OK, result, nil)
}

// forget removes a transaction, for which it has as many tries as it takes.
func forget(u User, f forgetter, tx string) {
	for range 20 {
		ctx, op := u.Begin("forget", tx, false)
		err := f.Forget(ctx, tx)
		u.End(op, mutationOutcome(err), "", err)
		if err == nil {
			return
		}
	}
}

// MayWaitForever: one may wait for ever for an outcome if a vote is missing.
func (e *transactions) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	return where(still(waiting, "outcome"), func(op *world.Op) bool { return !e.decided(all, op.Arg) })
}

// decided reports whether the outcome of a transaction is surely decided.
func (e *transactions) decided(all []*world.Op, tx string) bool {
	votes := 0
	for _, op := range all {
		switch {
		case op.Outcome != world.OK:
		case op.Arg == tx && (op.Name == "abort" || op.Name == "outcome"), op.Name == "veto" && transactionOf(op) == tx:
			return true
		case op.Name == "commit" && transactionOf(op) == tx:
			votes++
		}
	}
	return votes >= len(e.sites())
}

// transactionOf returns the transaction of a vote, or of another operation.
func transactionOf(op *world.Op) string {
	tx, _, _ := strings.Cut(op.Arg, " ")
	return tx
}

// transactionsOf lists the transactions, in the order of the calls.
func transactionsOf(v *View) (all []string) {
	for _, op := range v.Ops {
		if tx := transactionOf(op); !slices.Contains(all, tx) {
			all = append(all, tx)
		}
	}
	return all
}

// sitesOf returns the sites that a transaction was begun with, as a history has them; by default those of the plan.
func (e *transactions) sitesOf(v *View, tx string) []string {
	i := slices.IndexFunc(v.Ops, func(op *world.Op) bool {
		return op.Name == "begin" && transactionOf(op) == tx && len(strings.Fields(op.Arg)) > 1
	})
	if i < 0 {
		return e.sites()
	}
	return strings.Fields(v.Ops[i].Arg)[1:]
}

func (e *transactions) Judge(v *View) Judgement {
	j := e.Judging(v)
	j.History = e.History(v)
	for _, tx := range transactionsOf(v) {
		j.Add(atomicity(v, tx)...)
		j.Add(e.validity(v, tx)...)
		j.Add(lateRefusals(v, tx)...)
	}
	j.Add(e.stuck(v)...)
	j.Add(v.UnexpectedErrors(e.explained)...)
	if len(j.Violations) == 0 {
		v.Left.Values = !slices.ContainsFunc(v.Ops, func(op *world.Op) bool { return op.Name == "forget" })
		j.Add(v.Leaks()...)
	}
	return j
}

// explained are the errors that this kind of recipe may return at any time.
func (e *transactions) explained(op *world.Op) bool {
	return errors.Is(op.Err, recipes.ErrAborted) || errors.Is(op.Err, recipes.ErrNoTransaction) ||
		errors.Is(op.Err, recipes.ErrTransactionExists) || errors.Is(op.Err, recipes.ErrUnknownOutcome)
}

// told returns the operations that were told the outcome of a transaction.
func told(v *View, tx string) []*world.Op {
	return where(v.Ops, func(op *world.Op) bool {
		return (op.Name == "outcome" || op.Name == "abort") && op.Arg == tx && op.Outcome == world.OK
	})
}

func atomicity(v *View, tx string) []sim.Violation {
	ops := told(v, tx)
	for _, op := range ops {
		if op.Result != ops[0].Result {
			return broken("atomicity", []*world.Op{ops[0], op}, "the outcome of %s was %s to %s, and %s to %s", tx,
				ops[0].Result, v.call(ops[0]), op.Result, v.call(op))
		}
	}
	return nil
}

// validity: an outcome rests on calls that were made before it was told.
func (e *transactions) validity(v *View, tx string) []sim.Violation {
	sites := e.sitesOf(v, tx)
	for _, op := range told(v, tx) {
		missing := ""
		if op.Result == "abort" && !called(v, tx, "veto", "", op) && !called(v, tx, "abort", "", op) {
			missing = "nobody had called for an abort or a vote to abort"
		}
		for _, site := range sites {
			switch {
			case op.Result != "commit":
			case !called(v, tx, "commit", site, op):
				missing = "site " + site + " had not called for a vote to commit"
			case vetoed(v, tx, site):
				missing = "site " + site + " voted to abort"
			}
		}
		if missing != "" {
			return broken("validity", []*world.Op{op},
				"%s's %s of %s at %s returned %s although %s", Who(op), op.Name, tx, v.When(op), op.Result, missing)
		}
	}
	return nil
}

// called reports whether an operation that may have had its effect was called before by returned.
func called(v *View, tx, name, site string, by *world.Op) bool {
	return slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
		return op.Name == name && transactionOf(op) == tx && (site == "" || op.Arg == tx+" "+site) &&
			op.Outcome != world.Fail && op.Call < by.Return
	})
}

func vetoed(v *View, tx, site string) bool {
	return slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
		return op.Name == "veto" && op.Arg == tx+" "+site && op.Outcome == world.OK
	})
}

// lateRefusals: a vote to commit is refused as aborted only if the transaction is.
func lateRefusals(v *View, tx string) []sim.Violation {
	committed := slices.IndexFunc(told(v, tx), func(op *world.Op) bool { return op.Result == "commit" })
	for _, op := range v.Ops {
		if committed >= 0 && op.Name == "commit" && transactionOf(op) == tx && errors.Is(op.Err, recipes.ErrAborted) {
			other := told(v, tx)[committed]
			return broken("atomicity", []*world.Op{op, other},
				"%s's vote to commit %s at %s failed with %q, and %s returned commit",
				Who(op), tx, v.When(op), op.Err, v.call(other))
		}
	}
	return nil
}

// stuck explains what still waits although all faults were healed.
func (e *transactions) stuck(v *View) []sim.Violation {
	found := v.Stuck()
	if len(found) > 0 && found[0].Ops[0].Name == "outcome" && e.decided(v.Ops, found[0].Ops[0].Arg) {
		found[0].Property = "lost-wakeup"
		found[0].Message += fmt.Sprintf(", although the outcome of %s is decided", found[0].Ops[0].Arg)
	}
	return found
}

// History has a begin with its sites, and a vote that was refused with the outcome.
func (e *transactions) History(v *View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) {
		o := textOf(op)
		if op.Name == "begin" {
			o.Arg = linearizability.Str(op.Arg + " " + strings.Join(e.sites(), " "))
		} else if errors.Is(op.Err, recipes.ErrAborted) {
			o.Result = linearizability.Str("abort")
		}
		add(o)
	})
}
