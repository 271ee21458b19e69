package workload

import (
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// LeftRoot is a root that a run has marked as its own, and what is below it. Runs remove theirs when they end;
// one that was killed could not.
type LeftRoot struct {
	Mark
	Path     string
	Sessions []int64 // that own ephemeral znodes below: somebody lives there, sorted
	nodes    []leftNode
	parents  []string // that the run made, the highest first
}

// leftNode is a znode as it was seen.
type leftNode struct {
	path    string
	version int32
}

// Nodes is how many znodes there are, the root and all below it.
func (r LeftRoot) Nodes() int { return len(r.nodes) }

// leftMax is how many znodes a root may have so that it is listed.
const leftMax = 1 << 20

// FindLeftRoots returns the marked roots directly below a path, by path. What may not be read is none.
func FindLeftRoots(conn recipes.Conn, above string) (found []LeftRoot, err error) {
	names, _, err := conn.Children(above)
	if err != nil {
		return nil, fmt.Errorf("workload: %s: %w", above, err)
	}
	slices.Sort(names)
	for _, name := range names {
		at := path.Join(above, name)
		data, _, err := conn.Get(at)
		if _, marked := parseMark(data); err == zk.ErrNoNode || err == zk.ErrNoAuth || err == nil && !marked {
			continue
		}
		r, err := ReadLeftRoot(conn, at)
		if err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, nil
}

// ReadLeftRoot returns the root at a path. It is an [ErrRoot] if no run has marked it.
func ReadLeftRoot(conn recipes.Conn, root string) (LeftRoot, error) {
	data, stat, err := conn.Get(root)
	if err != nil {
		return LeftRoot{}, fmt.Errorf("workload: %s: %w", root, err)
	}
	mark, marked := parseMark(data)
	if !marked {
		return LeftRoot{}, fmt.Errorf("%w: %s bears no mark of a run", ErrRoot, root)
	}
	r := LeftRoot{Mark: mark, Path: root}
	if err := r.walk(conn, root); err != nil {
		return LeftRoot{}, err
	}
	if r.parents, err = madeWith(conn, mark.Parents, stat); err != nil {
		return LeftRoot{}, err
	}
	slices.Sort(r.Sessions)
	r.Sessions = slices.Compact(r.Sessions)
	return r, nil
}

// walk notes a znode and what is below it, the lowest first.
func (r *LeftRoot) walk(conn recipes.Conn, p string) error {
	names, stat, err := conn.Children(p)
	if err == zk.ErrNoNode {
		return nil
	}
	if err != nil {
		return fmt.Errorf("workload: %s: %w", p, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := r.walk(conn, p+"/"+name); err != nil {
			return err
		}
	}
	if stat.EphemeralOwner != 0 {
		r.Sessions = append(r.Sessions, stat.EphemeralOwner)
	}
	if r.nodes = append(r.nodes, leftNode{p, stat.Version}); len(r.nodes) > leftMax {
		return fmt.Errorf("workload: %s holds more than %d znodes: remove some by hand", r.Path, leftMax)
	}
	return nil
}

// Remove removes what was seen, as it was seen, and the empty znodes above that the run had made. It refuses
// a root with living sessions, and stops at a znode that has changed since, or has got another below it.
func (r LeftRoot) Remove(conn recipes.Conn) error {
	if len(r.Sessions) > 0 {
		return fmt.Errorf("%w: %s is in use by %d sessions", ErrRoot, r.Path, len(r.Sessions))
	}
	for _, n := range r.nodes {
		if err := conn.Delete(n.path, n.version); err != nil && err != zk.ErrNoNode {
			return fmt.Errorf("workload: %s: somebody uses it after all: %w", n.path, err)
		}
	}
	for _, parent := range slices.Backward(r.parents) {
		if conn.Delete(parent, 0) != nil {
			break // somebody else has begun to use it
		}
	}
	return nil
}

// madeWith returns those of the paths that came to be in the same transaction as a root: a mark is only
// data, and proves nothing about other znodes.
func madeWith(conn recipes.Conn, paths []string, root *zk.Stat) (made []string, err error) {
	for _, p := range paths {
		exists, stat, err := conn.Exists(p)
		if err != nil {
			return nil, fmt.Errorf("workload: %s: %w", p, err)
		}
		if exists && stat.Czxid == root.Czxid {
			made = append(made, p)
		}
	}
	return made, nil
}
