package published

import (
	"context"
	"strings"

	"github.com/zktorture/zktorture/recipes"
)

// KazooRWLock is a read/write lock. After kazoo.recipe.lock.ReadLock and WriteLock, kazoo 2.8
// (python-zk/kazoo, kazoo/recipe/lock.py), and, where R1 is in force, before commit 9bb8499. The
// names have a hyphen more.
type KazooRWLock struct {
	client recipes.Conn
	path   string
	node   contender
	bugs   Bugs
}

const (
	kazooWriter = "__lock__-"
	kazooReader = "__rlock__-"
)

// NewKazooRWLock returns a lock; nothing is sent before it is used.
func NewKazooRWLock(client recipes.Conn, path string, bugs Bugs) *KazooRWLock {
	return &KazooRWLock{client: client, path: path, bugs: bugs}
}

// RLock waits until the lock is held for reading.
func (l *KazooRWLock) RLock(ctx context.Context) error {
	return l.acquire(ctx, kazooReader, kazooWriter)
}

// Lock waits until the lock is held for writing.
func (l *KazooRWLock) Lock(ctx context.Context) error {
	return l.acquire(ctx, kazooWriter, kazooWriter, kazooReader)
}

// acquire waits until none of the excluded is before the own znode.
func (l *KazooRWLock) acquire(ctx context.Context, nodeName string, excludeNames ...string) error {
	l.node = newContender(l.client, l.path, "")
	l.node.infix = nodeName
	err := l.node.waitTurn(ctx, func(children []string, index int) string {
		if l.bugs.Has("R1") && nodeName == kazooReader { // BUG: R1 a reader looks for its own znode among the writers', and never finds where to stop
			index = len(children)
		}
		return predecessor(children[:index], excludeNames)
	})
	return l.node.orWithdraw(err)
}

// predecessor is the last of the children that are excluded, "" if there is none.
func predecessor(children, excludeNames []string) (last string) {
	for _, c := range children {
		for _, n := range excludeNames {
			if strings.Contains(c, n) {
				last = c
			}
		}
	}
	return last
}

// RUnlock ends the reading.
func (l *KazooRWLock) RUnlock(context.Context) error { return l.node.withdraw() }

// Unlock ends the writing.
func (l *KazooRWLock) Unlock(context.Context) error { return l.node.withdraw() }
