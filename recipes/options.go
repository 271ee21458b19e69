package recipes

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// LockOption changes how a [Lock] works.
type LockOption interface{ applyToLock(*Lock) }

// QueueOption changes how a [Queue] or a [PriorityQueue] works.
type QueueOption interface{ applyToStore(*store) }

// Option suits every recipe.
type Option func(*retryConn)

func (o Option) applyToLock(l *Lock)   { o(&l.retryConn) }
func (o Option) applyToStore(s *store) { o(&s.retryConn) }

type lockOption func(*Lock)

func (o lockOption) applyToLock(l *Lock) { o(l) }

type queueOption func(*store)

func (o queueOption) applyToStore(s *store) { o(s) }

// WithACL gives every znode that the recipe creates this access control list. The default allows everything to all.
// Users of one recipe must be able to read, create and delete each other's znodes.
func WithACL(acl []zk.ACL) Option {
	acl = slices.Clone(acl)
	return func(l *retryConn) { l.acl = acl }
}

// WithRetry sets the pauses between attempts after connection losses.
func WithRetry(policy RetryPolicy) Option {
	return func(l *retryConn) { l.retry = policy }
}

// WithContainers creates missing parents as container znodes, which the servers remove when they have become empty,
// instead of plain ones, which stay. It needs ZooKeeper 3.5.1 or later.
func WithContainers() Option {
	return func(l *retryConn) { l.containers = true }
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
