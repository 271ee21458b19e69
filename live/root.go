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

// Mark is what a run writes into its root znode, so that it is known as the run's own. Parents are the
// znodes above that the run had to make, the highest first.
type Mark struct {
	Run     string    `json:"run"`
	Began   time.Time `json:"began"`
	Parents []string  `json:"parents,omitempty"`
}

// markFormat is the first line of a mark.
const markFormat = "zktorture root 1\n"

// inUse is the ephemeral znode that marks a root as in use: by the run, or by a removal.
const inUse = "in-use"

func newMark(parents []string) Mark {
	return Mark{Run: rand.Text(), Began: time.Now().UTC().Truncate(time.Second), Parents: parents}
}

func (m Mark) data() []byte {
	line, err := json.Marshal(m)
	if err != nil {
		panic(err) // texts and a time of today
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

// ownRoot is a root that a run has made its own.
type ownRoot struct {
	Mark
	root    string
	version int32    // of the root's data, the mark
	was     *zk.Stat // of the root before it was marked; nil if it was not there

	mu       sync.Mutex
	sessions map[int64]bool // in which the run has put it in use
}

// claimTries is how often other clients may change a root while it is claimed or held.
const claimTries = 5

// ofServers has the servers' quotas and configuration below it, some of which they refuse to delete.
const ofServers = "/zookeeper"

// claimRoot makes and marks the root path, and what is missing above, all at once or not at all. It refuses
// a root that holds something already, or is the servers' own.
func claimRoot(conn recipes.Conn, root string) (c *ownRoot, err error) {
	switch {
	case root == "/" || path.Clean(root) != root || !strings.HasPrefix(root, "/"):
		return nil, fmt.Errorf("%w: %q is not a clean absolute path below /", ErrRoot, root)
	case root == ofServers || strings.HasPrefix(root, ofServers+"/"):
		return nil, fmt.Errorf("%w: %s is the servers' own, as all of %s is: choose another", ErrRoot, root, ofServers)
	}
	c = &ownRoot{Mark: newMark(nil), root: root, sessions: map[int64]bool{}}
	for range claimTries {
		if err = c.try(conn); !changedMeanwhile(err) {
			break
		}
	}
	if err != nil && !errors.Is(err, ErrRoot) {
		err = fmt.Errorf("%w: %s: %w", ErrRoot, root, err)
	}
	return c, err
}

func changedMeanwhile(err error) bool {
	return err == zk.ErrNodeExists || err == zk.ErrNoNode || err == zk.ErrBadVersion
}

// try makes and marks the root, unless an earlier try has done so and its reply was lost.
func (c *ownRoot) try(conn recipes.Conn) (err error) {
	data, stat, err := conn.Get(c.root)
	switch mark, marked := parseMark(data); {
	case err == zk.ErrNoNode:
		stat = nil
	case err != nil:
		return err
	case marked && mark.Run == c.Run:
		c.Mark, c.version = mark, stat.Version
		return nil
	}
	if c.Parents, err = missingAbove(conn, c.root); err != nil {
		return err
	}
	ops, err := c.ops(data, stat)
	if err != nil {
		return err
	}
	c.note(conn.SessionID())
	_, err = conn.Multi(ops...)
	return err
}

// ops is the transaction that makes a root, over what is there: nothing, if stat is nil.
func (c *ownRoot) ops(data []byte, stat *zk.Stat) (ops []any, err error) {
	for _, parent := range c.Parents {
		ops = append(ops, creation(parent, nil, zk.FlagPersistent))
	}
	if c.was = stat; stat == nil {
		ops = append(ops, creation(c.root, c.data(), zk.FlagPersistent))
		c.version = 0
	} else {
		if err := unused(c.root, data, stat); err != nil {
			return nil, err
		}
		ops = append(ops, &zk.SetDataRequest{Path: c.root, Data: c.data(), Version: stat.Version})
		c.version = stat.Version + 1
	}
	return append(ops, creation(c.sign(), nil, zk.FlagPersistent), creation(c.inUse(), nil, zk.FlagEphemeral)), nil
}

// sign is a znode that is in the root as long as it is this run's, since nobody else makes one of that name: a
// transaction that checks it changes nothing of anybody else's.
func (c *ownRoot) sign() string { return c.Mark.sign(c.root) }

func (m Mark) sign(root string) string { return root + "/run-" + m.Run }

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

// hold sees that the root is the run's, and in use by the present session, also when that is another one than
// before. Whoever removes a root removes its sign first, so nobody has removed anything of one that is the run's.
func (c *ownRoot) hold(conn recipes.Conn) error {
	for range claimTries {
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

// missingAbove returns the znodes above a path that do not exist, the highest first.
func missingAbove(conn recipes.Conn, root string) (missing []string, err error) {
	for above := path.Dir(root); above != "/"; above = path.Dir(above) {
		exists, _, err := conn.Exists(above)
		if err != nil {
			return nil, err
		}
		if exists {
			break
		}
		missing = append(missing, above)
	}
	slices.Reverse(missing)
	return missing, nil
}

func creation(path string, data []byte, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: data, Flags: flags, Acl: zk.WorldACL(zk.PermAll)}
}

// unused returns an error for a znode that holds something.
func unused(root string, data []byte, stat *zk.Stat) error {
	mark, marked := parseMark(data)
	switch {
	case marked:
		return fmt.Errorf("%w: %s is that of run %s, begun %s: choose another, or remove it by torture clean",
			ErrRoot, root, mark.Run, mark.Began.Format(time.RFC3339))
	case stat.NumChildren > 0 || len(data) > 0:
		return fmt.Errorf("%w: %s exists and is not empty: choose another", ErrRoot, root)
	}
	return nil
}

// removeTries is how often other clients may add to a tree during its removal, or change it.
const removeTries = 20

// removeMax is how many znodes are removed in one transaction.
const removeMax = 200

// remove removes a znode below the root and what is below it, as it is seen, if the root is still the run's; it
// is not an error if it is not there.
func (c *ownRoot) remove(conn recipes.Conn, p string) error {
	for range removeTries {
		nodes, err := walk(conn, p)
		if err != nil || len(nodes) == 0 {
			return err
		}
		err = c.removeNodes(conn, nodes)
		if err != zk.ErrNotEmpty && !changedMeanwhile(err) {
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

// release removes the root, if it is still the run's, and the znodes that were made above it, if nobody else has begun
// to use them. A root that was there before is emptied.
func (c *ownRoot) release(conn recipes.Conn) error {
	err := c.tryRelease(conn)
	if err != nil && !errors.Is(err, ErrRootLost) {
		return fmt.Errorf("live: the root path %s could not be removed: %w: do it later by torture clean", c.root, err)
	}
	return err
}

func (c *ownRoot) tryRelease(conn recipes.Conn) error {
	parents := c.Parents // that may go with it
	for range removeTries {
		err := c.releaseOnce(conn, parents)
		if err == nil || err != zk.ErrNotEmpty && !changedMeanwhile(err) {
			return err
		}
		there, stat, err := conn.Exists(c.root)
		switch {
		case err != nil:
			return err
		case !there || c.was != nil && errors.Is(c.held(conn), ErrRootLost): // it was done, and the reply was lost
			return nil
		case stat.NumChildren <= signs && len(parents) > 0:
			parents = parents[1:] // another client may have begun to use it
		}
	}
	return errors.New("another program keeps adding to it")
}

// signs is the number of znodes of a root that name its owner.
const signs = 2

// releaseOnce empties the root, and removes it with some of its parents.
func (c *ownRoot) releaseOnce(conn recipes.Conn, parents []string) error {
	if err := c.hold(conn); err != nil {
		return err
	}
	if err := c.empty(conn); err != nil {
		return err
	}
	ops := []any{
		&zk.DeleteRequest{Path: c.inUse(), Version: -1}, &zk.DeleteRequest{Path: c.sign(), Version: 0},
		unmarking(c.root, c.version, c.was != nil),
	}
	for _, parent := range slices.Backward(parents) {
		ops = append(ops, &zk.DeleteRequest{Path: parent, Version: 0})
	}
	_, err := conn.Multi(ops...)
	return err
}

// unmarking is the request that ends a root: one that was there before its mark is kept, without data as it was.
func unmarking(root string, version int32, keep bool) any {
	if keep {
		return &zk.SetDataRequest{Path: root, Version: version}
	}
	return &zk.DeleteRequest{Path: root, Version: version}
}

// empty removes the znodes below the root, except those that name its owner.
func (c *ownRoot) empty(conn recipes.Conn) error {
	names, stat, err := conn.Children(c.root)
	if err != nil {
		return err
	}
	if stat.Version != c.version {
		return errors.Join(errors.New("another program has written to it"), c.held(conn))
	}
	for _, name := range names {
		if at := c.root + "/" + name; at != c.sign() && at != c.inUse() {
			if err := c.remove(conn, at); err != nil {
				return err
			}
		}
	}
	return nil
}
