package live

import (
	"errors"
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
	Sessions []int64 // that own ephemeral znodes below: live clients, sorted
	nodes    []leftNode
	parents  []string // that the run made, the highest first
	czxid    int64    // of the root
	older    bool     // the root was there before its mark
}

// leftNode is a znode as it was seen.
type leftNode struct {
	path    string
	version int32
	czxid   int64
	owner   int64 // 0 if it is not ephemeral
}

// Nodes is how many znodes there are, the root and all below it.
func (r LeftRoot) Nodes() int { return len(r.nodes) }

// leftMax is how many znodes a root may have so that it is listed.
const leftMax = 1 << 20

// FindLeftRoots returns the marked roots directly below a path, by path. What may not be read is none. The error is for
// all that are marked and cannot be removed; the others are returned all the same.
func FindLeftRoots(conn recipes.Conn, above string) (found []LeftRoot, err error) {
	names, _, err := conn.Children(above)
	if err != nil {
		return nil, fmt.Errorf("live: %s: %w", above, err)
	}
	slices.Sort(names)
	var all error
	for _, name := range names {
		at := path.Join(above, name)
		data, _, err := conn.Get(at)
		if _, marked := parseMark(data); err == zk.ErrNoNode || err == zk.ErrNoAuth || err == nil && !marked {
			continue
		}
		if r, err := ReadLeftRoot(conn, at); err == nil {
			found = append(found, r)
		} else {
			all = errors.Join(all, err)
		}
	}
	return found, all
}

// ReadLeftRoot returns the root at a path. It is an [ErrRoot] if no run has marked it.
func ReadLeftRoot(conn recipes.Conn, root string) (LeftRoot, error) {
	data, stat, err := conn.Get(root)
	if err != nil {
		return LeftRoot{}, fmt.Errorf("live: %s: %w", root, err)
	}
	mark, marked := parseMark(data)
	if !marked {
		return LeftRoot{}, fmt.Errorf("%w: %s has no mark of a run", ErrRoot, root)
	}
	r := LeftRoot{Mark: mark, Path: root, czxid: stat.Czxid}
	if r.nodes, err = walk(conn, root); err != nil {
		return LeftRoot{}, err
	}
	if len(r.nodes) == 0 {
		return LeftRoot{}, fmt.Errorf("live: %s: %w", root, zk.ErrNoNode)
	}
	for _, n := range r.nodes {
		if n.owner != 0 {
			r.Sessions = append(r.Sessions, n.owner)
		}
		if n.path != root && n.czxid < stat.Mzxid {
			return LeftRoot{}, fmt.Errorf("%w: %s is older than the mark of %s: no run has made it", ErrRoot, n.path, root)
		}
	}
	if r.older = stat.Mzxid != stat.Czxid; !r.older {
		if r.parents, err = madeWith(conn, mark.Parents, stat); err != nil {
			return LeftRoot{}, err
		}
	}
	slices.Sort(r.Sessions)
	r.Sessions = slices.Compact(r.Sessions)
	return r, nil
}

// walk returns a znode and what is below it, the lowest first; none if it is not there.
func walk(conn recipes.Conn, p string) (nodes []leftNode, err error) {
	err = walkBelow(conn, p, &nodes)
	return nodes, err
}

func walkBelow(conn recipes.Conn, p string, nodes *[]leftNode) error {
	names, stat, err := conn.Children(p)
	if err == zk.ErrNoNode {
		return nil
	}
	if err != nil {
		return fmt.Errorf("live: %s: %w", p, err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := walkBelow(conn, p+"/"+name, nodes); err != nil {
			return err
		}
	}
	if *nodes = append(*nodes, leftNode{p, stat.Version, stat.Czxid, stat.EphemeralOwner}); len(*nodes) > leftMax {
		return fmt.Errorf("live: below %s there are more than %d znodes: remove some by hand", p, leftMax)
	}
	return nil
}

// Remove removes what was seen, as it was seen. A root that was there before its mark is emptied instead. It refuses a
// root with living sessions, or that is another one by now, and stops at a znode that has changed since, or has got
// another below it. Meanwhile the root is in use, so that the run, if it lives after all, knows that it has lost it.
func (r LeftRoot) Remove(conn recipes.Conn) error {
	if len(r.Sessions) > 0 {
		return fmt.Errorf("%w: %s is in use by %d sessions", ErrRoot, r.Path, len(r.Sessions))
	}
	lock := r.Path + "/" + inUse
	_, err := conn.Create(lock, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err == zk.ErrNodeExists {
		return fmt.Errorf("%w: %s is in use again", ErrRoot, r.Path)
	}
	if err != nil {
		return fmt.Errorf("live: %s: %w", lock, err)
	}
	err = r.remove(conn, lock)
	if err != nil {
		conn.Delete(lock, -1)
	}
	return err
}

func (r LeftRoot) remove(conn recipes.Conn, lock string) error {
	there, stat, err := conn.Exists(r.Path)
	if err != nil {
		return fmt.Errorf("live: %s: %w", r.Path, err)
	}
	root := r.nodes[len(r.nodes)-1]
	if !there || stat.Czxid != r.czxid || stat.Version != root.version {
		return fmt.Errorf("%w: %s is not the one that was looked at: another program has made it again", ErrRoot, r.Path)
	}
	nodes := r.nodes[:len(r.nodes)-1]
	// The sign goes first, so that the run, if it lives after all, knows that something may be missing.
	if i := slices.IndexFunc(nodes, func(n leftNode) bool { return n.path == r.sign(r.Path) }); i >= 0 {
		nodes = slices.Concat(nodes[i:i+1], nodes[:i], nodes[i+1:])
	}
	for _, n := range nodes {
		if err := conn.Delete(n.path, n.version); err != nil && err != zk.ErrNoNode {
			return fmt.Errorf("live: %s: another client uses it: %w", n.path, err)
		}
	}
	_, err = conn.Multi(&zk.DeleteRequest{Path: lock, Version: -1}, unmarking(r.Path, root.version, r.older))
	if err != nil {
		return fmt.Errorf("live: %s: another client uses it: %w", r.Path, err)
	}
	return nil
}

// RemoveParents removes the empty znodes that runs had made above their roots, when the roots are gone: one may be
// above several roots.
func RemoveParents(conn recipes.Conn, of []LeftRoot) {
	var parents []string
	for _, r := range of {
		parents = append(parents, r.parents...)
	}
	slices.Sort(parents)
	for _, parent := range slices.Backward(parents) { // the lowest first
		conn.Delete(parent, 0) // refused if another client has begun to use it
	}
}

// madeWith returns those of the paths that came to be in the same transaction as a root: a mark is only
// data, and proves nothing about other znodes.
func madeWith(conn recipes.Conn, paths []string, root *zk.Stat) (made []string, err error) {
	for _, p := range paths {
		exists, stat, err := conn.Exists(p)
		if err != nil {
			return nil, fmt.Errorf("live: %s: %w", p, err)
		}
		if exists && stat.Czxid == root.Czxid {
			made = append(made, p)
		}
	}
	return made, nil
}
