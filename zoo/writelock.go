package zoo

import (
	"context"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

const (
	republishedLock = "Apache ZooKeeper 3.4.6, recipes/lock, WriteLock"
	headLock        = "Apache ZooKeeper, recipes/lock, WriteLock"
)

// The animals that are Apache's lock.
var writeLocks = []Animal{
	writeLock("W1", "the predecessor vanishes between list and watch, and nobody wakes the waiter", republishedLock, "lost-wakeup", "none", asRepublished),
	writeLock("W2", "names are compared by session before sequence: a later client is first too", "ZOOKEEPER-2931", "exclusion", "none", asRepublished),
	writeLock("W3", "two locks of one session adopt each other's znode", republishedLock, "exclusion-in-session", "none", asRepublished),
	writeLock("W4", "a waiter that has given up is woken and queues again", "CURATOR-3 (the same family)", "progress", "cancel", asRepublished),
	writeLock("W5", "a delete that fails is forgotten, and the znode stays", republishedLock, "orphan", "loss", asRepublished),
	writeLock("W6", "each change of the connection registers one more watcher, and all of them report the lock", republishedLock, "callback", "loss", inJava),
	writeLock("W7", "an owner is not told that its session has expired", republishedLock, "belief", "expiry", asRepublished),
	writeLock("W8", "the search after a lost create reads a stale server: the client queues behind itself", "CURATOR-264", "self-block", "loss,lag", asRepublished).with(1),
	writeLock("W9", "the search after a lost delete reads a stale server, and finds the znode that is gone", republishedLock, "exclusion", "loss,lag", asRepublished, "W5", "W8"),
	writeLock("W10", "after close nothing is deleted: the znode of a lock that is closed before it is unlocked stays", republishedLock, "orphan", "none", closedFirst).with(2),
	writeLock("W11", "lock gives up after so many losses, its znode stays in the queue, and nobody watches it", republishedLock, "orphan", "loss", oneAttempt),
	writeLock("W12", "a watcher's error is only logged: the waiter is never looked at again", republishedLock, "lost-wakeup", "loss", oneAttempt),
	writeLock("W13", "the own znode is gone but others are there: no watch and no new znode", republishedLock, "progress", "expiry", asRepublished, "W7"),
	writeLock("W14", "numbers after the wrap are misread: a later client is first too", "ZOOKEEPER-4372", "exclusion", "wrap", asRepublished),
	writeLock("W15", "before the first connection all clients have the session 0 in their names, and adopt each other's", republishedLock, "exclusion", "loss", oneAttempt, "W7").with(2),
	writeLock("W16", "two users of one object both hold the lock", republishedLock, "exclusion-in-session", "none", sharedByUsers).with(1),
	writeLock("L1", "a znode that is found again is remembered by its bare name, which is no path", headLock+", 3.2.0 to date", "lost-wakeup", "loss", asRepublished).with(1),
	writeLock("L2", "negative numbers are read, and sort first: after the wrap a newcomer is first too", headLock+" since ZOOKEEPER-4372", "exclusion", "wrap", asRepublished),
	writeLock("W0", "the directory is removed by others before the znode is made, and Lock fails", republishedLock, "unexpected-error", "reap", asRepublished),
}

// writeLockUse is how users use a WriteLock: what makes a Locker, for whose client.
type writeLockUse struct {
	name      string
	new       func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker
	semantics fakezk.ClientSemantics
	option    func(published.Bugs) workload.Option // nil: none
}

var (
	asRepublished = writeLockUse{new: newWriteLock}
	inJava        = writeLockUse{name: ", Java's client", new: newWriteLock, semantics: fakezk.SemanticsJava}

	// oneAttempt: an operation is tried once, as no episode has faults for ten times.
	oneAttempt = writeLockUse{name: ", one attempt", new: func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		l := published.NewLocker(c, path, bugs)
		l.SetRetryCount(1)
		return l
	}}

	// closedFirst: a user closes the WriteLock when it is done, and then unlocks it.
	closedFirst = writeLockUse{name: ", closed first", new: func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		return &closing{new: func() *published.Locker { return published.NewLocker(c, path, bugs) }}
	}}

	// sharedByUsers: those of one process share one WriteLock.
	sharedByUsers = writeLockUse{name: ", shared by users", new: newWriteLock, option: func(bugs published.Bugs) workload.Option {
		return workload.Statics(nil, func(one **published.Locker, c recipes.Conn, path string) workload.Locker {
			if *one == nil {
				*one = published.NewLocker(c, path, bugs)
			}
			return (*one).Other()
		})
	}}
)

func newWriteLock(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
	return published.NewLocker(c, path, bugs)
}

// closing is a user that makes a WriteLock for each time, and closes it before it unlocks it.
type closing struct {
	*published.Locker
	new func() *published.Locker
}

func (c *closing) Lock(ctx context.Context) error {
	c.Locker = c.new()
	return c.Locker.Lock(ctx)
}

func (c *closing) Unlock(ctx context.Context) error {
	c.Close()
	return c.Locker.Unlock(ctx)
}

// writeLock is an animal with one bug, and with those without which it cannot show.
func writeLock(id, title, source, property, needs string, use writeLockUse, with ...string) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, use.workload, with...)
}

func (use writeLockUse) workload(bugs published.Bugs) *workload.Workload {
	name := "published/WriteLock" + use.name + ", bugs: " + bugs.String()
	opt := workload.JudgeCallbacks()
	if use.option != nil {
		opt = use.option(bugs) // whose grant a shared object tells of is not known
	}
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return use.new(c, path, bugs) }, as(name, workload.ForClient(use.semantics), opt)...)
}
