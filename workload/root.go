package workload

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ErrRoot is the error of a root path that must not be used.
var ErrRoot = errors.New("workload: the root path cannot be used")

// Mark is what a run writes into its root znode, so that it is known as the run's own. Parents are the
// znodes above that the run had to make, the highest first.
type Mark struct {
	Run     string    `json:"run"`
	Began   time.Time `json:"began"`
	Parents []string  `json:"parents,omitempty"`
}

// markFormat is the first line of a mark.
const markFormat = "zktorture root 1\n"

// inUse is the ephemeral znode below a root that lives as long as the run's own session.
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

// claimTries is how often somebody else may change what is there while a root is claimed.
const claimTries = 5

// claimRoot makes and marks the root path, and what is missing above, all at once or not at all. It refuses
// a root that holds something already. It returns what it had to make above.
func claimRoot(conn recipes.Conn, root string) (parents []string, err error) {
	if root == "/" || path.Clean(root) != root || !strings.HasPrefix(root, "/") {
		return nil, fmt.Errorf("%w: %q is not a clean absolute path below /", ErrRoot, root)
	}
	for range claimTries {
		if parents, err = tryClaim(conn, root); !changedMeanwhile(err) {
			break
		}
	}
	if err != nil && !errors.Is(err, ErrRoot) {
		err = fmt.Errorf("%w: %s: %w", ErrRoot, root, err)
	}
	return parents, err
}

func changedMeanwhile(err error) bool {
	return err == zk.ErrNodeExists || err == zk.ErrNoNode || err == zk.ErrBadVersion
}

func tryClaim(conn recipes.Conn, root string) ([]string, error) {
	parents, err := missingAbove(conn, root)
	if err != nil {
		return nil, err
	}
	mark := newMark(parents)
	ops, err := claimOps(conn, root, mark)
	if err != nil {
		return nil, err
	}
	_, err = conn.Multi(ops...)
	if err != nil && !changedMeanwhile(err) && isMarked(conn, root, mark) {
		return parents, nil // done, and the reply was lost
	}
	return parents, err
}

func isMarked(conn recipes.Conn, root string, mark Mark) bool {
	data, _, err := conn.Get(root)
	return err == nil && bytes.Equal(data, mark.data())
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

// claimOps returns the transaction that makes a root.
func claimOps(conn recipes.Conn, root string, mark Mark) (ops []any, err error) {
	for _, parent := range mark.Parents {
		ops = append(ops, creation(parent, nil, zk.FlagPersistent))
	}
	data, stat, err := conn.Get(root)
	switch {
	case err == zk.ErrNoNode:
		ops = append(ops, creation(root, mark.data(), zk.FlagPersistent))
	case err != nil:
		return nil, err
	default:
		if err := unused(root, data, stat); err != nil {
			return nil, err
		}
		ops = append(ops, &zk.SetDataRequest{Path: root, Data: mark.data(), Version: stat.Version})
	}
	return append(ops, creation(root+"/"+inUse, nil, zk.FlagEphemeral)), nil
}

func creation(path string, data []byte, flags int32) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: data, Flags: flags, Acl: zk.WorldACL(zk.PermAll)}
}

// unused returns an error for a znode that holds something.
func unused(root string, data []byte, stat *zk.Stat) error {
	mark, marked := parseMark(data)
	switch {
	case marked:
		return fmt.Errorf("%w: %s is that of run %s, begun %s: choose another, or remove it by torture clean", ErrRoot, root, mark.Run, mark.Began.Format(time.RFC3339))
	case stat.NumChildren > 0 || len(data) > 0:
		return fmt.Errorf("%w: %s exists and is not empty: choose another", ErrRoot, root)
	}
	return nil
}

// releaseMax is how long the removal of a root may take before it is given up; without servers it would
// wait for ever.
const releaseMax = time.Minute

// releaseRoot removes a root and, if nobody else has begun to use them, the znodes that were made above it.
func releaseRoot(conn recipes.Conn, root string, parents []string) error {
	released := make(chan error, 1)
	go func() {
		err := removeAll(conn, root)
		for _, parent := range slices.Backward(parents) {
			conn.Delete(parent, 0)
		}
		released <- err
	}()
	patience := time.NewTimer(releaseMax)
	defer patience.Stop()
	var err error
	select {
	case err = <-released:
	case <-patience.C:
		err = fmt.Errorf("the servers did not do it within %v", releaseMax)
	}
	if err != nil {
		return fmt.Errorf("workload: the root path %s could not be removed: %w: do it later by torture clean", root, err)
	}
	return nil
}

// makeAll makes a znode and those above it, if they are not there.
func makeAll(conn recipes.Conn, p string) error {
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		_, err := conn.Create(p[:i], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		if err != nil && err != zk.ErrNodeExists {
			return err
		}
	}
	return nil
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
