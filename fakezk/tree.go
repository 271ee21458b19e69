package fakezk

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/digest"
)

// Owners of nodes that are not ephemeral (server/EphemeralType.java). Stat shows them as 0.
const (
	ownerContainer int64 = math.MinInt64
	ownerTTLMask   int64 = -1 << 56
	ttlMax         int64 = 1<<40 - 1 // milliseconds
)

func isTTL(owner int64) bool       { return owner&ownerTTLMask == ownerTTLMask }
func isReapable(owner int64) bool  { return owner == ownerContainer || isTTL(owner) }
func isEphemeral(owner int64) bool { return owner != 0 && !isReapable(owner) }

// ownerKey is where tree.owned keeps a node: with its session, or all reapable nodes with 0.
func ownerKey(owner int64) int64 {
	if isReapable(owner) {
		return 0
	}
	return owner
}

// node is one znode. data and acl are never changed in place: replicas and replies share them.
type node struct {
	path, name string
	order      uint64 // place among its siblings
	parent     *node
	children   siblings // by order, then name
	data       []byte
	acl        []zk.ACL

	czxid, mzxid, pzxid        int64
	ctime, mtime               int64
	version, created, aversion int32 // created is ZooKeeper's internal cversion: creations below
	owner                      int64
	slot                       int // place in tree.owned
}

// stat is DataNode.copyStat. The cversion that clients see is twice the creations, less the children that are there.
func (n *node) stat() zk.Stat {
	s := zk.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.created - int32(n.children.count), Aversion: n.aversion,
		DataLength: int32(len(n.data)), NumChildren: int32(n.children.count), Pzxid: n.pzxid,
	}
	if isEphemeral(n.owner) {
		s.EphemeralOwner = n.owner
	}
	return s
}

// names lists the children in their arbitrary, stable order. The caller may keep and change it.
func (n *node) names() []string { return n.appendNames(make([]string, 0, n.children.count)) }

func (n *node) appendNames(names []string) []string {
	for child := range n.children.all() {
		names = append(names, child.name)
	}
	return names
}

// tree is the data of one replica after a prefix of the log.
//
// Invariants: nodes holds every node under its path, and the root also under ""; every node but the root is in its
// parent's children; owned[ownerKey(n.owner)][n.slot] is n if n has an owner.
type tree struct {
	nodes map[string]*node
	root  *node
	owned map[int64][]*node
	zxid  int64 // of the last transaction applied
	free  []*node
	lists [][]*node // memory for owned
	spare []siblings

	seed  uint64
	wraps bool // Config.SequenceWraps
}

// mapMax bounds the maps that a reset clears: clearing takes time in proportion to the greatest size ever.
const mapMax = 1024

func (t *tree) reset(seed uint64, wraps bool) {
	if t.root != nil {
		t.recycle(t.root)
	}
	for _, list := range t.owned {
		t.keepList(list)
	}
	t.nodes, t.owned = emptied(t.nodes), emptied(t.owned)
	t.zxid, t.seed, t.wraps = 0, seed, wraps
	t.root = t.fresh()
	t.root.path, t.root.data, t.root.acl = "/", []byte{}, openACL
	t.nodes["/"], t.nodes[""] = t.root, t.root
	for _, path := range [...]string{"/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		n := t.link(path)
		n.data, n.acl = []byte{}, openACL
	}
	config := t.nodes["/zookeeper/config"]
	config.acl, config.aversion = configACL, -1
}

func emptied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil || len(m) > mapMax {
		return make(map[K]V)
	}
	clear(m)
	return m
}

func (t *tree) recycle(n *node) {
	for child := range n.children.all() {
		t.recycle(child)
	}
	t.release(n)
}

// release keeps the memory of a node.
func (t *tree) release(n *node) {
	if len(n.children.blocks) > 0 && len(t.spare) < 16 {
		t.spare = append(t.spare, n.children.emptied())
	}
	t.free = append(t.free, n)
}

// fresh returns a zeroed node, out of the free ones if there is one.
func (t *tree) fresh() *node {
	if len(t.free) == 0 {
		for i, chunk := 0, make([]node, 16); i < len(chunk); i++ {
			t.free = append(t.free, &chunk[i])
		}
	}
	n := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	*n = node{}
	return n
}

// link makes an empty node under its parent, without touching the parent's counters.
func (t *tree) link(path string) *node {
	n, slash := t.fresh(), strings.LastIndexByte(path, '/')
	n.path, n.name, n.parent = path, path[slash+1:], t.nodes[path[:slash]] // the root's name is "" here
	n.order = hash(t.seed, n.name)
	if last := len(t.spare) - 1; n.parent.children.blocks == nil && last >= 0 {
		n.parent.children, t.spare = t.spare[last], t.spare[:last]
	}
	n.parent.children.add(n)
	t.nodes[path] = n
	return n
}

// hash orders names: FNV-1a, finished so that the seed matters to every bit.
func hash(seed uint64, name string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return digest.Mix(h ^ digest.Mix(seed))
}

// create carries out an edit that was found valid (DataTree.createNode).
func (t *tree) create(x *edit, zxid, now int64) *node {
	n := t.link(x.path)
	n.data, n.acl = x.data, x.acl
	n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = zxid, zxid, zxid, now, now
	t.own(n, x.owner)
	t.count(n.parent, zxid)
	return n
}

// count notes a creation below n. A counter at its end sticks there, and pzxid with it, unless Config.SequenceWraps.
func (t *tree) count(n *node, zxid int64) {
	if n.created == math.MaxInt32 && !t.wraps {
		return
	}
	n.created++
	n.pzxid = zxid
}

func (t *tree) own(n *node, owner int64) {
	if n.owner = owner; owner == 0 {
		return
	}
	list, known := t.owned[ownerKey(owner)]
	if last := len(t.lists) - 1; !known && last >= 0 {
		list, t.lists = t.lists[last], t.lists[:last]
	}
	n.slot = len(list)
	t.owned[ownerKey(owner)] = append(list, n)
}

func (t *tree) disown(n *node) {
	if n.owner == 0 {
		return
	}
	key := ownerKey(n.owner)
	list := t.owned[key]
	last := len(list) - 1
	list[n.slot] = list[last]
	list[n.slot].slot = n.slot
	if last == 0 {
		delete(t.owned, key)
		t.keepList(list)
		return
	}
	t.owned[key] = list[:last]
}

// keepList keeps the memory of a list of owned, unless it is much.
func (t *tree) keepList(list []*node) {
	if clear(list); cap(list) <= 16 && len(t.lists) < 16 {
		t.lists = append(t.lists, list[:0])
	}
}

// ownedBy lists the paths of a session's ephemerals, or with 0 of containers and TTL nodes, in the order of
// Config.Order.
func (t *tree) ownedBy(key int64) []string {
	list := t.owned[key]
	if len(list) == 0 {
		return []string{}
	}
	paths := make([]string, len(list))
	for i, n := range list {
		paths[i] = n.path
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(cmp.Compare(hash(t.seed, a), hash(t.seed, b)), cmp.Compare(a, b))
	})
	return paths
}

// remove deletes a node that has no children (DataTree.deleteNode).
func (t *tree) remove(n *node, zxid int64) {
	n.parent.children.remove(n)
	n.parent.pzxid = zxid
	t.disown(n)
	delete(t.nodes, n.path)
	t.release(n)
}

// set replaces the data (DataTree.setData).
func (t *tree) set(n *node, data []byte, zxid, now int64) {
	n.data, n.mzxid, n.mtime = data, zxid, now
	n.version = n.version + 1
}

// setACL replaces the list; nothing else of the Stat but aversion shows it (DataTree.setACL).
func (t *tree) setACL(n *node, acl []zk.ACL) {
	n.acl, n.aversion = acl, n.aversion+1
}
