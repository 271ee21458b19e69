package foreign

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// goZookeeper is go-zookeeper's zk.Lock. A Lock that waits cannot be interrupted.
type goZookeeper struct{ lock *zk.Lock }

func newGoZookeeper(c *zk.Conn, path string) any {
	return goZookeeper{zk.NewLock(c, path, zk.WorldACL(zk.PermAll))}
}

func (l goZookeeper) Lock(context.Context) error { return l.lock.Lock() }
func (l goZookeeper) Unlock(context.Context) error {
	return lost(l.lock.Unlock(), zk.ErrNotLocked, zk.ErrNoNode)
}

// lost is the error of a release in the words of package recipes: those errors say that there was nothing to release.
func lost(err error, nothing ...error) error {
	if slices.ContainsFunc(nothing, func(n error) bool { return errors.Is(err, n) }) {
		return fmt.Errorf("%w: %w", recipes.ErrLost, err)
	}
	return err
}
