package recipes

import (
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// LockOption changes how a [Lock] works.
type LockOption interface{ applyToLock(*Lock) }

// QueueOption changes how a [Queue] or a [PriorityQueue] works.
type QueueOption interface{ applyToStore(*store) }

// Option suits every recipe.
type Option func(*call.Settings)

func (o Option) applyToLock(l *Lock)   { o(&l.settings) }
func (o Option) applyToStore(s *store) { o(&s.settings) }

type lockOption func(*Lock)

func (o lockOption) applyToLock(l *Lock) { o(l) }

type queueOption func(*store)

func (o queueOption) applyToStore(s *store) { o(s) }

// WithACL gives every znode that the recipe creates this access control list. The default allows everything to all.
// Users of one recipe must be able to read, create and delete each other's znodes.
func WithACL(acl []zk.ACL) Option {
	acl = slices.Clone(acl)
	return func(s *call.Settings) { s.ACL = acl }
}

// RetryPolicy says how long to pause after a lost request before the next: DelayMin, then twice as long each time, up
// to DelayMax. Each pause is drawn between half of that and the whole, so that clients that have lost their connections
// at the same moment come back one after the other. How often is not limited: the context of the caller does that.
type RetryPolicy struct {
	DelayMin, DelayMax time.Duration
}

// DefaultRetry is the policy unless [WithRetry] sets another.
var DefaultRetry = RetryPolicy(call.DefaultRetry)

// WithRetry sets the pauses between attempts after connection losses.
func WithRetry(policy RetryPolicy) Option {
	return func(s *call.Settings) { s.Retry = call.Policy(policy) }
}

// WithSync has reads that are to be current begin with [Conn.Sync], where a transaction that changes nothing is the
// default. That spares the servers an agreement of their majority and an entry in their logs for each: [Counter.Get],
// [Group.Members] and Changed, [Candidate.Leader], [Barrier.Wait], the queues' Peek and [ErrEmpty], [PriorityQueue.Poll]
// and Take, [LockingQueue.Claim] and TryClaim.
//
// The price: a leader that has been deposed and has not noticed answers a Sync, too (ZOOKEEPER-1675), so for up to
// syncLimit ticks after that these may tell of an old state. What changes something, and what is looked for after a lost
// reply, is as without.
func WithSync() Option {
	return func(s *call.Settings) { s.Sync = true }
}

// WithContainers creates missing parents as container znodes, which the servers remove when they have become empty,
// instead of plain ones, which stay. It needs ZooKeeper 3.5.1 or later.
func WithContainers() Option {
	return func(s *call.Settings) { s.Containers = true }
}

// WithData puts data, such as a host name, into the lock's znodes, for people who look.
func WithData(data []byte) LockOption {
	data = slices.Clone(data)
	return lockOption(func(l *Lock) { l.data = data })
}

// WithListener has the lock call listener.
func WithListener(listener LockListener) LockOption {
	return lockOption(func(l *Lock) { l.listener = listener })
}

// WithReceipts makes the outcome of every change known, unless the session ends or the caller gives up at the wrong
// moment, see [Queue].
func WithReceipts() QueueOption {
	return queueOption(func(s *store) { s.ledger = newReceipts(s) })
}
