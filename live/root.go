package live

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ErrRoot is the error of a root path that must not be used.
var ErrRoot = errors.New("live: the root path cannot be used")

// ErrRootLost is the error of a run whose root was removed or made anew by others before its end.
// Nothing was judged from then on, and nothing removed.
var ErrRootLost = errors.New("live: the root path no longer belongs to this run")

// Mark is what a run writes into its root znode when it makes it, so that it is known as the run's own.
type Mark struct {
	Run   string    `json:"run"`
	Began time.Time `json:"began"`
}

// markFormat is the first line of a mark.
const markFormat = "zktorture root 1\n"

func newMark() Mark {
	return Mark{Run: rand.Text(), Began: time.Now().UTC().Truncate(time.Second)}
}

func (m Mark) data() []byte {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // a text and a time of today
	}
	return slices.Concat([]byte(markFormat), line, []byte("\n"))
}

// parseMark returns false for data that no run has written.
func parseMark(data []byte) (m Mark, ok bool) {
	line, ok := bytes.CutPrefix(data, []byte(markFormat))
	if !ok {
		return Mark{}, false
	}
	err := json.Unmarshal(line, &m)
	return m, err == nil && m.Run != ""
}

// inUse is the ephemeral znode that marks a root as in use: by the run, or by a removal.
const inUse = "in-use"

// sign is a znode that is in the root as long as it is this run's, since nobody else makes one of that name: a
// transaction that checks it changes nothing of anybody else's.
func (m Mark) sign(root string) string { return root + "/run-" + m.Run }

// ownRoot is a root that a run has made.
type ownRoot struct {
	Mark
	root string

	mu       sync.Mutex
	sessions map[int64]bool // in which the run has put it in use
}

// ofServers has the servers' quotas and configuration below it, some of which they refuse to delete.
const ofServers = "/zookeeper"

// claimRoot makes a root, with its mark, below a znode that is there. It refuses one that is there already, or that
// would be among the servers' own.
func claimRoot(conn recipes.Conn, root string) (*ownRoot, error) {
	switch {
	case root == "/" || path.Clean(root) != root || !strings.HasPrefix(root, "/"):
		return nil, fmt.Errorf("%w: %q is not a clean absolute path below /", ErrRoot, root)
	case root == ofServers || strings.HasPrefix(root, ofServers+"/"):
		return nil, fmt.Errorf("%w: %s is the servers' own, as all of %s is: choose another", ErrRoot, root, ofServers)
	}
	c := &ownRoot{Mark: newMark(), root: root, sessions: map[int64]bool{}}
	c.note(conn.SessionID())
	_, err := conn.Multi(creation(root, c.data(), zk.FlagPersistent), creation(c.sign(), nil, zk.FlagPersistent),
		creation(c.inUse(), nil, zk.FlagEphemeral))
	switch err {
	case zk.ErrNoNode:
		return nil, fmt.Errorf("%w: there is no %s to make it in: make that first, or choose another", ErrRoot, path.Dir(root))
	case zk.ErrNodeExists:
		err = c.refusal(conn)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRoot, root, err)
	}
	return c, nil
}

// refusal says why a root that is there is not the run's; nil if it is, and the reply was lost.
func (c *ownRoot) refusal(conn recipes.Conn) error {
	data, _, err := conn.Get(c.root)
	mark, marked := parseMark(data)
	switch {
	case err != nil:
		return err
	case mark.Run == c.Run:
		return nil
	case marked:
		return fmt.Errorf("it is that of run %s, begun %s: choose another, or remove it by torture clean",
			mark.Run, mark.Began.Format(time.RFC3339))
	}
	return errors.New("it is there already: choose another")
}

func (c *ownRoot) sign() string { return c.Mark.sign(c.root) }

func (c *ownRoot) inUse() string { return c.root + "/" + inUse }

// check is the first request of every transaction of the run's own.
func (c *ownRoot) check() any { return &zk.CheckVersionRequest{Path: c.sign(), Version: -1} }

// lost is the error for a root without the sign.
func (c *ownRoot) lost() error {
	return fmt.Errorf("%w: another program has removed %s, or made it again", ErrRootLost, c.root)
}

// held returns an error unless the root is the run's.
func (c *ownRoot) held(conn recipes.Conn) error {
	there, _, err := conn.Exists(c.sign())
	if err == nil && !there {
		return c.lost()
	}
	return err
}

// note notes a session in which the root is put in use.
func (c *ownRoot) note(session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[session] = true
}

func (c *ownRoot) noted(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[session]
}

// triesMax is how often other clients may change a root while it is held or removed.
const triesMax = 20

func changedMeanwhile(err error) bool {
	return err == zk.ErrNodeExists || err == zk.ErrNoNode || err == zk.ErrBadVersion || err == zk.ErrNotEmpty
}

// hold sees that the root is the run's, and in use by the present session, also when that is another one than
// before. Whoever removes a root removes its sign first, so nobody has removed anything of one that is the run's.
func (c *ownRoot) hold(conn recipes.Conn) error {
	for range triesMax {
		there, stat, err := conn.Exists(c.inUse())
		if err != nil {
			return err
		}
		ops := []any{c.check()}
		if there {
			switch owner := stat.EphemeralOwner; {
			case owner == conn.SessionID():
				return nil
			case !c.noted(owner): // another run removes the root, or uses it
				return c.lost()
			}
			ops = append(ops, &zk.DeleteRequest{Path: c.inUse(), Version: -1})
		}
		c.note(conn.SessionID())
		_, err = conn.Multi(append(ops, creation(c.inUse(), nil, zk.FlagEphemeral))...)
		if err != nil && !changedMeanwhile(err) {
			return err
		}
		if err := c.held(conn); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %s: another program keeps changing %s", ErrRoot, c.root, inUse)
}

// make makes znodes below the root that nobody has made, and those above them.
func (c *ownRoot) make(conn recipes.Conn, paths []string) error {
	ops, made := []any{c.check()}, map[string]bool{}
	for _, p := range paths {
		for _, at := range below(c.root, p) {
			if !made[at] {
				made[at] = true
				ops = append(ops, creation(at, nil, zk.FlagPersistent))
			}
		}
	}
	_, err := conn.Multi(ops...)
	switch err {
	case zk.ErrNoNode:
		return c.lost()
	case zk.ErrNodeExists: // it was done, and the reply was lost
		return c.held(conn)
	}
	return err
}

// below returns the paths from the one right below root to p.
func below(root, p string) (paths []string) {
	for ; len(p) > len(root); p = path.Dir(p) {
		paths = append(paths, p)
	}
	slices.Reverse(paths)
	return paths
}

func creation(path string, data []byte, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: data, Flags: flags, Acl: zk.WorldACL(zk.PermAll)}
}

// removeMax is how many znodes are removed in one transaction.
const removeMax = 200

// remove removes a znode below the root and what is below it, as it is seen, if the root is still the run's; it
// is not an error if it is not there.
func (c *ownRoot) remove(conn recipes.Conn, p string) error {
	for range triesMax {
		nodes, err := walk(conn, p)
		if err != nil || len(nodes) == 0 {
			return err
		}
		if err := c.removeNodes(conn, nodes); !changedMeanwhile(err) {
			return err
		}
		if err := c.held(conn); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: another program keeps adding to it", p)
}

func (c *ownRoot) removeNodes(conn recipes.Conn, nodes []leftNode) error {
	for some := range slices.Chunk(nodes, removeMax) {
		ops := []any{c.check()}
		for _, n := range some {
			ops = append(ops, &zk.DeleteRequest{Path: n.path, Version: n.version})
		}
		if _, err := conn.Multi(ops...); err != nil {
			return err
		}
	}
	return nil
}

// release removes the root, if it is still the run's.
func (c *ownRoot) release(conn recipes.Conn) error {
	err := errors.New("another program keeps adding to it")
	for range triesMax {
		released := c.releaseOnce(conn)
		if !changedMeanwhile(released) {
			err = released
			break
		}
		if there, _, gone := conn.Exists(c.root); gone == nil && !there { // it was done, and the reply was lost
			return nil
		}
	}
	if err != nil && !errors.Is(err, ErrRootLost) {
		return fmt.Errorf("live: the root path %s could not be removed: %w: do it later by torture clean", c.root, err)
	}
	return err
}

// releaseOnce empties the root, and removes it.
func (c *ownRoot) releaseOnce(conn recipes.Conn) error {
	if err := c.hold(conn); err != nil {
		return err
	}
	names, _, err := conn.Children(c.root)
	if err != nil {
		return err
	}
	for _, name := range names {
		if at := c.root + "/" + name; at != c.sign() && at != c.inUse() {
			if err := c.remove(conn, at); err != nil {
				return err
			}
		}
	}
	_, err = conn.Multi(&zk.DeleteRequest{Path: c.inUse(), Version: -1}, &zk.DeleteRequest{Path: c.sign(), Version: 0},
		&zk.DeleteRequest{Path: c.root, Version: 0})
	if err == zk.ErrBadVersion {
		return errors.New("another program has written to it")
	}
	return err
}

// LeftRoot is a root that a run has made, and what is below it. Runs remove theirs when they end; one that was killed
// could not.
type LeftRoot struct {
	Mark
	Path     string
	Sessions []int64    // that own ephemeral znodes below: live clients, sorted
	nodes    []leftNode // the root is the last
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

// ReadLeftRoot returns the root at a path. It is an [ErrRoot] if no run has made it: a run's root has had its mark from
// the beginning, so that what is below is younger.
func ReadLeftRoot(conn recipes.Conn, root string) (LeftRoot, error) {
	data, stat, err := conn.Get(root)
	if err != nil {
		return LeftRoot{}, fmt.Errorf("live: %s: %w", root, err)
	}
	mark, marked := parseMark(data)
	switch {
	case !marked:
		return LeftRoot{}, fmt.Errorf("%w: %s has no mark of a run", ErrRoot, root)
	case stat.Mzxid != stat.Czxid:
		return LeftRoot{}, fmt.Errorf("%w: %s is older than its mark: no run has made it", ErrRoot, root)
	}
	r := LeftRoot{Mark: mark, Path: root}
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

// Remove removes what was seen, as it was seen. It refuses a root with living sessions, or that is another one by now,
// and stops at a znode that has changed since, or has got another below it. Meanwhile the root is in use, so that the
// run, if it lives after all, knows that it has lost it.
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
	nodes, root := r.nodes[:len(r.nodes)-1], r.nodes[len(r.nodes)-1]
	if !there || stat.Czxid != root.czxid || stat.Version != root.version {
		return fmt.Errorf("%w: %s is not the one that was looked at: another program has made it again", ErrRoot, r.Path)
	}
	// The sign goes first, so that the run, if it lives after all, knows that something may be missing.
	if i := slices.IndexFunc(nodes, func(n leftNode) bool { return n.path == r.sign(r.Path) }); i >= 0 {
		nodes = slices.Concat(nodes[i:i+1], nodes[:i], nodes[i+1:])
	}
	for _, n := range nodes {
		if err := conn.Delete(n.path, n.version); err != nil && err != zk.ErrNoNode {
			return fmt.Errorf("live: %s: another client uses it: %w", n.path, err)
		}
	}
	_, err = conn.Multi(&zk.DeleteRequest{Path: lock, Version: -1}, &zk.DeleteRequest{Path: r.Path, Version: root.version})
	if err != nil {
		return fmt.Errorf("live: %s: another client uses it: %w", r.Path, err)
	}
	return nil
}
