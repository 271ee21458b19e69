package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Names and contents of the znodes of a transaction.
const (
	sitePrefix    = "site-"
	outcomePrefix = "outcome-"
)

var (
	voteCommit = []byte("commit")
	voteAbort  = []byte("abort")
)

var (
	// ErrNoTransaction is returned for a transaction that has not been begun, or has been forgotten, and for a site
	// that takes no part in it.
	ErrNoTransaction = errors.New("recipes: there is no such transaction or no such site in it")

	// ErrTransactionExists is returned by Begin when there is a transaction of that name.
	ErrTransactionExists = errors.New("recipes: a transaction of that name exists already")

	// ErrAborted is returned by a vote to commit that comes too late: the site's vote to abort has been cast, by
	// itself or on its behalf.
	ErrAborted = errors.New("recipes: the transaction is aborted")
)

// TwoPhase lets several sites commit transactions atomically: all commit or all abort. After ZooKeeper's recipe
// "Two-phased Commit" (ZooKeeper Recipes and Solutions), with the changes below.
//
// # Znodes
//
// A transaction is the znode dir/<tx>, whose data is the query, with a child site-<name> for each site and a child
// outcome-<guid>. The coordinator creates all of them in one multi, so that a transaction is never seen with some of
// its sites missing. A site's child is empty until its vote is cast, which is "commit" or "abort"; it is written on
// condition that it is still empty, so a vote is cast once. A vote to abort is a multi that also writes "abort" to
// the outcome. All znodes are persistent: a vote must outlive the site that has cast it.
//
// The votes are the decision. It is abort as soon as one of them is, commit as soon as all are, and can never change.
// A client that sees that all are writes "commit" to the outcome, to spare others the reading. Nothing depends on the
// coordinator after Begin.
//
// # Promises
//
// Atomicity: all that learn an outcome learn the same. Validity: it is commit only if every site has voted to commit;
// abort only if a site has voted to abort, or Abort was called. Stability: it never changes.
//
// Blocking: Outcome returns when all votes are cast or one is to abort. While a site's vote is missing the others
// wait; in ordinary two-phase commit they would have to, for ever if the site or the coordinator has died. Here
// anybody may end that, at any time, by [TwoPhase.Abort], which casts the missing votes' first as abort: the site
// that was merely slow then gets [ErrAborted] and must abort. A site that has voted to commit and cannot reach
// ZooKeeper must wait until it can: that is the whole of the blocking. A coordinator that dies in Begin has begun the
// transaction entirely or not at all.
//
// # Cost
//
// With n sites: Begin takes one request (a multi of n+2 creates) and a vote two (list, write). Outcome takes a list,
// a read of the outcome, and a read of each site in turn, all but the list with a watch; it waits at the first site
// whose vote is missing, and for the outcome: up to n wake-ups, n² for all sites together, as in the published
// recipe. The client that reads the last vote adds a write. Abort takes what Outcome does, and a write and two reads
// instead of the waiting; each vote that is cast at the same time adds three. Forget takes three (sync, list, multi).
// A wait keeps two watches.
//
// # Errors
//
// The context's error when that ended. Begin, Vote and Abort then return an [*UnknownOutcomeError] if the change was
// under way; all may be called again, with the same result as if the first had succeeded, but for Begin, which cannot
// know whether a transaction of that name is its own and returns [ErrTransactionExists]. (Abort is the safe way on,
// or a new name.) A lost reply is no error. [ErrNoTransaction], [ErrAborted]: see there.
//
// A site must act on an outcome that it has been told, never on an error; after a restart it asks again. The
// coordinator calls [TwoPhase.Forget] when all sites have acted.
//
// # Wrong versions that tempt
//
//   - Sites that create their own znode when they vote: a site that has not come yet cannot be told from one that
//     does not take part.
//   - Ephemeral votes: a site that dies after its vote to commit takes it along, and who counts afterwards aborts
//     what others have committed.
//   - Votes that can be written twice: a site that gives up waiting and changes its mind, or an abort on behalf of a
//     slow site, which is then overwritten.
//   - Deciding by whoever writes the outcome first, without the votes: two deciders.
//   - Taking "bad version" after a lost reply for another's vote: it may be one's own.
//
// A TwoPhase may be used from several goroutines.
type TwoPhase struct {
	retryConn
	dir string
}

// NewTwoPhase returns the transactions in the directory dir. Names of transactions and sites must be good for znodes:
// not empty, without a slash.
func NewTwoPhase(conn Conn, dir string, opts ...Option) *TwoPhase {
	return &TwoPhase{newRetryConn(conn, opts...), dir}
}

// Begin begins a transaction of these sites, which is what a coordinator does. Each site has to vote once.
func (t *TwoPhase) Begin(ctx context.Context, tx string, query []byte, sites ...string) error {
	return t.change(ctx, "begin", tx, func(op *operation) error {
		if len(sites) == 0 || len(slices.Compact(slices.Sorted(slices.Values(sites)))) != len(sites) {
			return fmt.Errorf("recipes: transaction %s: its sites %q must be at least one and all different", tx, sites)
		}
		return t.begin(ctx, op, t.creation(tx, query, sites))
	})
}

// creation is the multi that creates a transaction: the parent first, the outcome second.
func (t *TwoPhase) creation(tx string, query []byte, sites []string) (ops []any) {
	names := []string{"", "/" + outcomePrefix + NewGUID(t.conn)}
	for _, site := range sites {
		names = append(names, "/"+sitePrefix+site)
	}
	for _, name := range names {
		ops = append(ops, &zk.CreateRequest{Path: join(t.dir, tx) + name, Acl: t.acl, Flags: zk.FlagPersistent})
	}
	ops[0].(*zk.CreateRequest).Data = query
	return ops
}

// begin creates a transaction. When a reply is lost the guid in the name of the outcome reports whether a transaction
// that is there is this one.
func (t *TwoPhase) begin(ctx context.Context, op *operation, ops []any) error {
	path, outcome := ops[0].(*zk.CreateRequest).Path, ops[1].(*zk.CreateRequest).Path
	for range vanishMax {
		if !op.begin(UnknownOutcomeError{Op: "begin", Path: path}) {
			return ctx.Err()
		}
		unsure, err := t.persist(ctx, func() error { _, err := t.conn.Multi(ops...); return err })
		switch {
		case errors.Is(err, zk.ErrNodeExists) && unsure:
			_, _, err := t.syncedGet(ctx, outcome)
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			if err == nil {
				return nil // the transaction that is there is this one
			}
			op.refused()
			return ErrTransactionExists
		case errors.Is(err, zk.ErrNodeExists):
			op.refused()
			return ErrTransactionExists
		case !errors.Is(err, zk.ErrNoNode):
			return op.answered(err)
		}
		op.refused()
		if err := t.ensure(ctx, t.dir); err != nil {
			return err
		}
	}
	return errVanishing(t.dir)
}

// Query returns what Begin was given: the query and the sites, sorted.
func (t *TwoPhase) Query(ctx context.Context, tx string) (query []byte, sites []string, err error) {
	query, err = carryOut(ctx, func(*operation) ([]byte, error) {
		all, err := t.list(ctx, tx)
		if err != nil {
			return nil, err
		}
		for _, name := range all.sites {
			sites = append(sites, strings.TrimPrefix(name, sitePrefix))
		}
		query, _, err := t.get(ctx, join(t.dir, tx))
		return query, err
	})
	if err != nil {
		return nil, nil, t.explain("query", tx, err)
	}
	return query, sites, nil
}

// Vote casts the vote of a site. Only the site itself may vote to commit; casting the same vote again is no error.
// After a vote to commit the site must be able to do either.
func (t *TwoPhase) Vote(ctx context.Context, tx, site string, commit bool) error {
	return t.change(ctx, "vote", tx, func(op *operation) error {
		all, err := t.list(ctx, tx)
		if err != nil {
			return err
		}
		path := join(t.dir, tx) + "/" + sitePrefix + site
		cast, err := t.cast(ctx, op, "vote", path, all.outcome, commit)
		if err == nil && commit && !cast {
			return ErrAborted
		}
		return err
	})
}

// cast casts a vote, and says whether the site's vote is now that one.
func (t *TwoPhase) cast(ctx context.Context, op *operation, name, path, outcome string, commit bool) (bool, error) {
	if !op.begin(UnknownOutcomeError{Op: name, Path: path}) {
		return false, ctx.Err()
	}
	vote := voteAbort
	if commit {
		vote = voteCommit
	}
	_, err := t.persist(ctx, func() error { return t.write(path, outcome, vote) })
	if !errors.Is(err, zk.ErrBadVersion) {
		return err == nil, op.answered(err)
	}
	op.refused() // a vote is there; which one, a server that lags behind that answer may not know
	was, _, err := t.syncedGet(ctx, path)
	return bytes.Equal(was, vote), err
}

func (t *TwoPhase) write(path, outcome string, vote []byte) error {
	ops := []any{&zk.SetDataRequest{Path: path, Data: vote, Version: 0}}
	if bytes.Equal(vote, voteAbort) {
		ops = append(ops, &zk.SetDataRequest{Path: outcome, Data: vote, Version: -1})
	}
	_, err := t.conn.Multi(ops...)
	return err
}

// Outcome waits until the outcome is decided, and returns whether it is to commit.
func (t *TwoPhase) Outcome(ctx context.Context, tx string) (commit bool, err error) {
	return t.decide(ctx, "wait for", tx, func(*operation, *transaction) (retry bool, err error) { return false, nil })
}

// Abort aborts the transaction unless its outcome is decided already, and returns whether that is to commit. Any
// client may call it to end the waiting.
func (t *TwoPhase) Abort(ctx context.Context, tx string) (commit bool, err error) {
	return t.decide(ctx, "abort", tx, func(op *operation, all *transaction) (retry bool, err error) {
		_, err = t.cast(ctx, op, "abort", all.missing, all.outcome, false)
		all.site.event = nil
		return true, err
	})
}

// decide follows a transaction to its outcome. undecided is called when a vote is missing; unless it wants to look
// again at once, the next event is awaited.
func (t *TwoPhase) decide(ctx context.Context, name, tx string,
	undecided func(*operation, *transaction) (bool, error)) (bool, error) {
	outcome, err := carryOut(ctx, func(op *operation) ([]byte, error) {
		all, err := t.list(ctx, tx)
		for err == nil {
			var outcome []byte
			if outcome, err = t.outcome(ctx, all); len(outcome) > 0 || err != nil {
				return outcome, err
			}
			var again bool
			if again, err = undecided(op, all); !again && err == nil {
				err = awaitEither(ctx, &all.end, &all.site)
			}
		}
		return nil, err
	})
	return bytes.Equal(outcome, voteCommit), t.explain(name, tx, err)
}

// transaction is what is known of a transaction.
type transaction struct {
	path    string
	outcome string   // the path of the outcome
	sites   []string // the names of the sites' znodes, sorted; those whose vote is known to be to commit are taken out
	missing string   // the first site whose vote is missing

	end, site lookout // the outcome and the missing site
}

// list finds the znodes of a transaction. Their names never change.
func (t *TwoPhase) list(ctx context.Context, tx string) (*transaction, error) {
	path := join(t.dir, tx)
	names, err := t.children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		names, err = t.syncedChildren(ctx, path) // the server may not know of it yet
	}
	if err != nil {
		return nil, err
	}
	all := &transaction{path: path, sites: names[:0]}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case strings.HasPrefix(name, outcomePrefix):
			all.outcome = join(path, name)
		case strings.HasPrefix(name, sitePrefix):
			all.sites = append(all.sites, name)
		}
	}
	if all.outcome == "" || len(all.sites) == 0 {
		return nil, ErrNoTransaction
	}
	return all, nil
}

// outcome returns the outcome, or nothing if a vote is missing. Votes and outcome are written once, so what is read
// is true even if it is old.
func (t *TwoPhase) outcome(ctx context.Context, all *transaction) (outcome []byte, err error) {
	if all.end, err = t.look(ctx, all.end, all.outcome); err != nil || len(all.end.data) > 0 {
		return all.end.data, err
	}
	for len(all.sites) > 0 {
		if all.site, err = t.look(ctx, all.site, join(all.path, all.sites[0])); err != nil {
			return nil, err
		}
		switch {
		case all.site.missing() || all.end.missing():
			return nil, ErrNoTransaction
		case bytes.Equal(all.site.data, voteAbort):
			return voteAbort, nil
		case len(all.site.data) == 0:
			all.missing = all.site.path
			return nil, nil
		}
		all.sites = all.sites[1:]
	}
	_, err = t.persist(ctx, func() error { _, err := t.conn.Set(all.outcome, voteCommit, -1); return err })
	if errors.Is(err, zk.ErrNoNode) {
		err = nil // it has been forgotten meanwhile, and was decided all the same
	}
	return voteCommit, err
}

// Forget removes a transaction. It is for the coordinator, after all sites have acted on the outcome: later calls
// return ErrNoTransaction. It is no error if there is none.
func (t *TwoPhase) Forget(ctx context.Context, tx string) error {
	return t.change(ctx, "forget", tx, func(*operation) error {
		for {
			names, err := t.syncedChildren(ctx, join(t.dir, tx))
			if err != nil || len(names) == 0 {
				return err
			}
			err = t.removeAll(ctx, join(t.dir, tx), names)
			if !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
	})
}

func (t *TwoPhase) removeAll(ctx context.Context, path string, names []string) error {
	var ops []any
	for _, name := range names {
		ops = append(ops, &zk.DeleteRequest{Path: join(path, name), Version: -1})
	}
	ops = append(ops, &zk.DeleteRequest{Path: path, Version: -1})
	_, err := t.persist(ctx, func() error { _, err := t.conn.Multi(ops...); return err })
	return err
}

func (t *TwoPhase) change(ctx context.Context, name, tx string, body func(*operation) error) error {
	return t.explain(name, tx, perform(ctx, body))
}

// explain adds to an answer of ZooKeeper what was asked for. A znode that was missing is one that Forget has removed,
// or a site that takes no part.
func (t *TwoPhase) explain(what, tx string, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("recipes: cannot %s transaction %s: %w", what, join(t.dir, tx), ErrNoTransaction)
	}
	return explain(err, "cannot %s transaction %s", what, join(t.dir, tx))
}
