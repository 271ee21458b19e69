package recipes

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// valueName is the name of the znode that holds a counter's value.
const valueName = "value"

// Counter is a number that several processes add to, and that starts at 0. There is no recipe for it in ZooKeeper's own
// documentation; widespread ones read the number, write the sum on condition that the version has not changed, and
// start again when it has (kazoo's Counter, Curator's DistributedAtomicLong). This is that, with the changes below.
//
// # Znodes
//
// dir/value holds the number in decimal, for people and other programs to read. It and dir are created by the first
// Add and never removed; without it the number is 0. Beside it lies an ephemeral dir/claim-<guid> for each Counter
// value and session that has added something: it holds the identity of the last addition made through it. An addition
// is one multi, thus one transaction, that writes both. dir/value must not be removed while the counter is in use.
//
// # Promises
//
// The counter is linearizable: an Add that returns a number took effect once, and a Get that returns one saw it, at one
// moment between call and return. An Add that returns another error than an [*UnknownOutcomeError] has added nothing.
//
// After a lost reply the claim reports whether the addition was made, whatever others have added since. Only when the
// session ended at that moment, and took the claim along, or when the caller leaves during the request, does Add
// return an [*UnknownOutcomeError]; its Data is the sum, in decimal, that stands if the addition was made. Repeating
// such an Add may count twice.
//
// # Cost
//
// Get is two requests (sync, which is a transaction unless [WithSync] is given, and read). Add is two (read, multi),
// and one more the first time in a session for the claim; two more each time that another client was faster. Among n
// processes that add at once one succeeds at each try, so n additions cost up to n² requests: that is for counters that
// are changed some tens of times a second, not for statistics. Additions through one Counter value take turns. It uses
// no watches.
//
// # Errors
//
// The context's error, if no change was under way: nothing was added. [ErrUnknownOutcome]: see above. [ErrOverflow]:
// the sum does not fit 64 bits. [ErrNotNumber]: dir/value holds something else.
//
// # Wrong versions that tempt
//
//   - Taking "bad version" after a lost reply for another client's work, and adding again: the version may be bad
//     because the first try was carried out. The same goes for "node exists" when the counter is created.
//   - Comparing the number after a lost reply with the one that was to be written: another client may have written
//     the same, or gone beyond it.
//   - Get without sync: a server that lags returns a number from before the last addition.
//   - Counting by the version of a znode, or by the number of a sequential one: both have 32 bits, and neither tells
//     who was counted.
//
// A Counter may be used from several goroutines.
type Counter struct {
	store    store
	receipts *receipts
}

var (
	// ErrOverflow is returned by Add when the sum would not fit 64 bits. Nothing was added.
	ErrOverflow = errors.New("recipes: the sum does not fit 64 bits")

	// ErrNotNumber is returned when the znode of a counter holds something else than a number.
	ErrNotNumber = errors.New("recipes: the counter's znode does not hold a decimal number of 64 bits")
)

// NewCounter returns a counter in the directory dir.
func NewCounter(conn Conn, dir string, opts ...Option) *Counter {
	c := &Counter{store: store{retryConn: newRetryConn(conn, opts...), dir: dir}}
	c.receipts = newReceipts(&c.store)
	return c
}

// Add adds delta, which may be negative, and returns the sum. It takes effect when ZooKeeper carries out the multi,
// which it does only if the version of the number is the one that was read.
func (c *Counter) Add(ctx context.Context, delta int64) (int64, error) {
	sum, err := carryOut(ctx, func(op *operation) (sum int64, err error) {
		for {
			if sum, err = c.try(ctx, op, delta); err != errFaster {
				return sum, err
			}
		}
	})
	return sum, c.explain("add to", err)
}

// Get returns the number as it was at a moment during the call: that of the server which answered, after it had
// caught up with everything committed before the call.
func (c *Counter) Get(ctx context.Context) (int64, error) {
	number, err := carryOut(ctx, func(*operation) (int64, error) {
		data, _, err := c.store.getAfter(ctx, c.store.sync, c.path())
		return parseNumber(data, err)
	})
	return number, c.explain("get", err)
}

func (c *Counter) path() string { return join(c.store.dir, valueName) }

// errFaster: another client has changed the number after it was read.
var errFaster = errors.New("faster")

// try reads the number and writes the sum. The read may be old; then the write is refused, and by the time of that
// answer the server has caught up, so that the next read is newer.
func (c *Counter) try(ctx context.Context, op *operation, delta int64) (int64, error) {
	data, stat, err := c.store.get(ctx, c.path())
	missing := errors.Is(err, zk.ErrNoNode)
	number, err := parseNumber(data, err)
	if err != nil {
		return 0, err
	}
	sum, err := plus(number, delta)
	if err != nil {
		return 0, err
	}
	change := UnknownOutcomeError{Op: "add", Path: c.path(), Data: strconv.AppendInt(nil, sum, 10)}
	err = c.receipts.apply(ctx, op, change, c.request(missing, stat, change.Data))
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrNoNode) {
		return 0, errFaster
	}
	return sum, err
}

// request writes the sum unless another client is faster.
func (c *Counter) request(missing bool, stat *zk.Stat, sum []byte) any {
	if missing {
		return &zk.CreateRequest{Path: c.path(), Data: sum, Acl: c.store.settings.ACL, Flags: zk.FlagPersistent}
	}
	return &zk.SetDataRequest{Path: c.path(), Data: sum, Version: stat.Version}
}

func plus(n, delta int64) (int64, error) {
	sum := n + delta
	if (sum > n) != (delta > 0) {
		return 0, fmt.Errorf("%w: %d and %d", ErrOverflow, n, delta)
	}
	return sum, nil
}

// parseNumber reads the data of the counter's znode, or the error of the request for it; a missing znode is 0.
func parseNumber(data []byte, err error) (int64, error) {
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, nil
	case err != nil:
		return 0, err
	}
	n, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w, but %.40q", ErrNotNumber, data)
	}
	return n, nil
}

func (c *Counter) explain(what string, err error) error {
	if errors.Is(err, ErrOverflow) || errors.Is(err, ErrNotNumber) {
		return fmt.Errorf("recipes: %s counter %s: %w", what, c.store.dir, err)
	}
	return explain(err, "%s counter %s", what, c.store.dir)
}
