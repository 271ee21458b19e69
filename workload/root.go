package workload

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ErrRoot is the error of a root path that must not be used.
var ErrRoot = errors.New("workload: the root path cannot be used")

// claimRoot makes the root path, and refuses one that holds something already. It returns what it
// had to make.
func claimRoot(conn recipes.Conn, root string) (made []string, err error) {
	if root == "/" || path.Clean(root) != root || !strings.HasPrefix(root, "/") {
		return nil, fmt.Errorf("%w: %q is not a clean absolute path below /", ErrRoot, root)
	}
	children, _, err := conn.Children(root)
	switch {
	case err == nil && len(children) > 0:
		return nil, fmt.Errorf("%w: %s exists and is not empty: choose another", ErrRoot, root)
	case err != nil && err != zk.ErrNoNode:
		return nil, fmt.Errorf("%w: %s: %w", ErrRoot, root, err)
	}
	made, err = makeAll(conn, root)
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be made: %w", ErrRoot, root, err)
	}
	return made, nil
}

// makeAll makes a znode and those above it, and returns those that were not there.
func makeAll(conn recipes.Conn, p string) (made []string, err error) {
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		switch _, err := conn.Create(p[:i], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err {
		case nil:
			made = append(made, p[:i])
		case zk.ErrNodeExists:
		default:
			return made, err
		}
	}
	return made, nil
}

// removeAll removes a znode and what is below it; it is not an error if it is not there.
func removeAll(conn recipes.Conn, p string) error {
	for range removeTries {
		children, _, err := conn.Children(p)
		if err == zk.ErrNoNode {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range children {
			if err := removeAll(conn, p+"/"+name); err != nil {
				return err
			}
		}
		if err := conn.Delete(p, -1); err != zk.ErrNotEmpty {
			if err == zk.ErrNoNode {
				return nil
			}
			return err
		}
	}
	return fmt.Errorf("%s: somebody keeps adding to it", p)
}

const removeTries = 20
