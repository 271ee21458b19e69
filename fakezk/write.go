package fakezk

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// record is what the leader knows of a node before it decides on a write (PrepRequestProcessor's ChangeRecord): the
// tree's node, or within a multi what the earlier operations would make of it.
type record struct {
	exists            bool
	acl               []zk.ACL
	owner             int64
	version, aversion int32
	created, children int32
	length            int // of the data
}

// proposer decides on writes, as the leader does before it commits them, from its tree and, within a multi, from what
// the operations before would make of it.
type proposer struct {
	cfg     *Config
	tree    *tree             // the leader's
	pending map[string]record // what the earlier operations of a multi have changed
}

func (p *proposer) reset(tree *tree) {
	p.tree = tree
	clear(p.pending)
}

func (p *proposer) look(path string) record {
	if len(p.pending) > 0 {
		if rec, ok := p.pending[path]; ok {
			return rec
		}
	}
	n := p.tree.nodes[path]
	if n == nil {
		return record{}
	}
	return record{true, n.acl, n.owner, n.version, n.aversion, n.created, int32(n.children.count), len(n.data)}
}

// foresee notes in pending what an edit will do, for the rest of the multi. The counter wraps here even where the
// tree's sticks.
func (p *proposer) foresee(x *edit) {
	switch x.op {
	case wire.OpCreate:
		parent := p.look(parentOf(x.path))
		parent.created++
		parent.children++
		p.pending[parentOf(x.path)] = parent
		p.pending[x.path] = record{exists: true, acl: x.acl, owner: x.owner, length: len(x.data)}
	case wire.OpDelete:
		parent := p.look(parentOf(x.path))
		parent.children--
		p.pending[parentOf(x.path)] = parent
		p.pending[x.path] = record{}
	case wire.OpSetData:
		rec := p.look(x.path)
		rec.version, rec.length = cmp.Or(int32(x.owner), rec.version)+1, len(x.data)
		p.pending[x.path] = rec
	}
}

// write decides on a single write, commits it and fills in its reply. A failed write is committed without an edit: it
// has a zxid.
func (e *Ensemble) write(now int64, c *connection, r *Request, reply *Response) {
	x, code := e.proposer.prepare(c, r, r.Op)
	t := transaction{time: now, session: c.session.id}
	if reply.Err = code; code != wire.CodeOK {
		e.commit(t, nil)
		return
	}
	e.commitOne(t, x)
	switch r.Op {
	case wire.OpCreate:
		reply.Path = x.path
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		reply.Path, reply.Stat = x.path, e.cluster.leader().nodes[x.path].stat()
	case wire.OpSetData, wire.OpSetACL:
		reply.Stat = e.cluster.leader().nodes[x.path].stat()
	}
}

// prepare makes the checks in the server's order (PrepRequestProcessor); the first that fails is the answer. The edit
// is valid only if all pass.
func (p *proposer) prepare(c *connection, r *Request, op wire.Op) (edit, wire.Code) {
	switch op {
	case wire.OpDelete:
		return p.prepareDelete(c, r)
	case wire.OpSetData:
		return edit{op: wire.OpSetData, path: r.Path, data: bytes.Clone(r.Data), owner: int64(r.Since)}, p.existing(c, r, zk.PermWrite)
	case wire.OpSetACL:
		return p.prepareSetACL(c, r)
	case wire.OpCheck:
		return edit{op: wire.OpCheck}, p.existing(c, r, zk.PermRead)
	}
	return p.prepareCreate(c, r, op)
}

func (p *proposer) prepareCreate(c *connection, r *Request, op wire.Op) (edit, wire.Code) {
	owner, code := p.ownerOf(c, r, op)
	if code != wire.CodeOK {
		return edit{}, code
	}
	if !splittable(r.Path) {
		return edit{}, wire.CodeBadArguments
	}
	acl, ok := c.fixACL(r.ACL)
	if !ok {
		return edit{}, wire.CodeInvalidACL
	}
	path, code := p.place(c, r)
	if code != wire.CodeOK {
		return edit{}, code
	}
	return edit{
		op: wire.OpCreate, path: path, data: bytes.Clone(r.Data), acl: acl, owner: owner, sequential: sequential(r.Flags),
	}, wire.CodeOK
}

// place finds the path of a node to be created, with its sequence number, and checks that it may stand there.
func (p *proposer) place(c *connection, r *Request) (string, wire.Code) {
	parent := p.look(parentOf(r.Path))
	if !parent.exists {
		return "", wire.CodeNoNode
	}
	if !c.admits(parent.acl, zk.PermCreate) {
		return "", wire.CodeNoAuth
	}
	path := r.Path
	if sequential(r.Flags) {
		path = numbered(path, parent.created)
	}
	switch {
	case !serverPath(path):
		return "", wire.CodeBadArguments
	case p.look(path).exists:
		return "", wire.CodeNodeExists
	case isEphemeral(parent.owner):
		return "", wire.CodeNoChildrenForEphemerals
	}
	return path, wire.CodeOK
}

// Flags of create (CreateMode): 0 persistent, 1 ephemeral, 2 sequential, 3 both, 4 container, 5 TTL, 6 sequential TTL.
const (
	flagTTL    = 5
	flagTTLSeq = 6
)

func sequential(flags int32) bool { return flags == 2 || flags == 3 || flags == flagTTLSeq }

// ownerOf checks the mode of a creation and returns the node's owner. The operation makes a container, not the flag:
// create with flag 4 makes a persistent node.
func (p *proposer) ownerOf(c *connection, r *Request, op wire.Op) (int64, wire.Code) {
	if r.Flags < 0 || r.Flags > flagTTLSeq {
		return 0, wire.CodeBadArguments
	}
	timed := r.Flags >= flagTTL
	if timed && !p.cfg.TTL {
		return 0, wire.CodeUnimplemented
	}
	if timed != (op == wire.OpCreateTTL) || timed && (r.TTL <= 0 || r.TTL > ttlMax) {
		return 0, wire.CodeBadArguments
	}
	switch ephemeral := r.Flags == 1 || r.Flags == 3; {
	case ephemeral && c.session.id == 0:
		return 0, wire.CodeSessionExpired
	case op == wire.OpCreateContainer:
		return ownerContainer, wire.CodeOK
	case timed:
		return ownerTTLMask | r.TTL, wire.CodeOK
	case ephemeral:
		return c.session.id, wire.CodeOK
	}
	return 0, wire.CodeOK
}

// numbered appends a sequence number as %010d does: the sign counts in the width.
func numbered(path string, n int32) string {
	var room [96]byte
	b := append(room[:0], path...)
	places, magnitude := 10, int64(n)
	if n < 0 {
		b = append(b, '-')
		places, magnitude = 9, -magnitude
	}
	for ; places > 1 && magnitude < pow10[places-1]; places-- {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, magnitude, 10))
}

var pow10 = [...]int64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

func (p *proposer) prepareDelete(c *connection, r *Request) (edit, wire.Code) {
	if !splittable(r.Path) || special(r.Path) {
		return edit{}, wire.CodeBadArguments
	}
	parent := p.look(parentOf(r.Path))
	if !parent.exists {
		return edit{}, wire.CodeNoNode
	}
	if !c.admits(parent.acl, zk.PermDelete) {
		return edit{}, wire.CodeNoAuth
	}
	switch n := p.look(r.Path); {
	case !n.exists:
		return edit{}, wire.CodeNoNode
	case !versionMatches(r.Version, n.version):
		return edit{}, wire.CodeBadVersion
	case n.children > 0:
		return edit{}, wire.CodeNotEmpty
	}
	return edit{op: wire.OpDelete, path: r.Path}, wire.CodeOK
}

func versionMatches(expected, version int32) bool { return expected == -1 || expected == version }

func (p *proposer) prepareSetACL(c *connection, r *Request) (edit, wire.Code) {
	if !serverPath(r.Path) {
		return edit{}, wire.CodeBadArguments
	}
	acl, ok := c.fixACL(r.ACL)
	if !ok {
		return edit{}, wire.CodeInvalidACL
	}
	return edit{op: wire.OpSetACL, path: r.Path, acl: acl}, p.existing(c, r, zk.PermAdmin)
}

// existing checks that a path is well formed, and that its node exists, is open to the connection, has room for the
// data of a setData, and has the version.
func (p *proposer) existing(c *connection, r *Request, perms int32) wire.Code {
	if !serverPath(r.Path) {
		return wire.CodeBadArguments
	}
	n := p.look(r.Path)
	version := n.version
	if r.Op == wire.OpSetACL {
		version = n.aversion
	}
	switch {
	case !n.exists:
		return wire.CodeNoNode
	case !c.admits(n.acl, perms):
		return wire.CodeNoAuth
	case !versionMatches(r.Version, version):
		return wire.CodeBadVersion
	}
	return wire.CodeOK
}
