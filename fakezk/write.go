package fakezk

import (
	"bytes"
	"strconv"

	"github.com/go-zookeeper/zk"
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

func (e *Ensemble) look(path string) record {
	if len(e.pending) > 0 {
		if rec, ok := e.pending[path]; ok {
			return rec
		}
	}
	n := e.leader().nodes[path]
	if n == nil {
		return record{}
	}
	return record{true, n.acl, n.owner, n.version, n.aversion, n.created, int32(n.children.count), len(n.data)}
}

// foresee notes in pending what an edit will do, for the rest of the multi. The counter wraps here even where the
// tree's sticks.
func (e *Ensemble) foresee(x *edit) {
	switch x.op {
	case OpCreate:
		parent := e.look(parentOf(x.path))
		parent.created++
		parent.children++
		e.pending[parentOf(x.path)] = parent
		e.pending[x.path] = record{exists: true, acl: x.acl, owner: x.owner, length: len(x.data)}
	case OpDelete:
		parent := e.look(parentOf(x.path))
		parent.children--
		e.pending[parentOf(x.path)] = parent
		e.pending[x.path] = record{}
	case OpSetData:
		rec := e.look(x.path)
		rec.version, rec.length = e.cfg.Compat.next(rec.version), len(x.data)
		e.pending[x.path] = rec
	}
}

// write decides on a single write, commits it and fills in its reply. A failed write is committed without an edit: it
// has a zxid.
func (e *Ensemble) write(now int64, c *connection, r *Request, reply *Response) {
	x, code := e.prepare(c, r, r.Op)
	e.edits = e.edits[:0]
	if code == CodeOK {
		e.edits = append(e.edits, x)
	}
	e.commit(transaction{time: now, session: c.session.id, edits: e.edits}, nil)
	reply.Err = code
	if code == CodeOK {
		e.fill(reply, r.Op, x.path)
	}
}

func (e *Ensemble) fill(reply *Response, op Op, path string) {
	switch op {
	case OpCreate:
		reply.Path = path
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		reply.Path = path
		reply.Stat = e.leader().nodes[path].stat()
	case OpSetData, OpSetACL:
		reply.Stat = e.leader().nodes[path].stat()
	}
}

// prepare makes the checks in the server's order (PrepRequestProcessor); the first that fails is the answer. The edit
// is valid only if all pass.
func (e *Ensemble) prepare(c *connection, r *Request, op Op) (edit, Code) {
	switch op {
	case OpDelete:
		return e.prepareDelete(c, r)
	case OpSetData:
		return edit{op: OpSetData, path: r.Path, data: bytes.Clone(r.Data)}, e.existing(c, r, zk.PermWrite)
	case OpSetACL:
		return e.prepareSetACL(c, r)
	case OpCheck:
		return edit{op: OpCheck}, e.existing(c, r, zk.PermRead)
	}
	return e.prepareCreate(c, r, op)
}

func (e *Ensemble) prepareCreate(c *connection, r *Request, op Op) (edit, Code) {
	owner, code := e.ownerOf(c, r, op)
	if code != CodeOK {
		return edit{}, code
	}
	if !splittable(r.Path) {
		return edit{}, CodeBadArguments
	}
	acl, ok := c.fixACL(r.ACL, e.cfg.Users != nil)
	if !ok {
		return edit{}, CodeInvalidACL
	}
	path, code := e.place(c, r)
	if code != CodeOK {
		return edit{}, code
	}
	return edit{
		op: OpCreate, path: path, data: bytes.Clone(r.Data), acl: acl, owner: owner, sequential: sequential(r.Flags),
	}, CodeOK
}

// place finds the path of a node to be created, with its sequence number, and checks that it may stand there.
func (e *Ensemble) place(c *connection, r *Request) (string, Code) {
	parent := e.look(parentOf(r.Path))
	if !parent.exists {
		return "", CodeNoNode
	}
	if !c.admits(parent.acl, zk.PermCreate) {
		return "", CodeNoAuth
	}
	path := r.Path
	if sequential(r.Flags) {
		path = numbered(path, parent.created)
	}
	switch {
	case !serverPath(path):
		return "", CodeBadArguments
	case e.look(path).exists:
		return "", CodeNodeExists
	case isEphemeral(parent.owner):
		return "", CodeNoChildrenForEphemerals
	}
	return path, e.overQuota(path, int64(len(r.Data)), 1)
}

// Flags of create (CreateMode): 0 persistent, 1 ephemeral, 2 sequential, 3 both, 4 container,
// 5 TTL, 6 sequential TTL.
const (
	flagTTL    = 5
	flagTTLSeq = 6
)

func sequential(flags int32) bool { return flags == 2 || flags == 3 || flags == flagTTLSeq }

// ownerOf checks the mode of a creation and returns the node's owner. The operation makes a container, not the flag:
// create with flag 4 makes a persistent node.
func (e *Ensemble) ownerOf(c *connection, r *Request, op Op) (int64, Code) {
	if r.Flags < 0 || r.Flags > flagTTLSeq {
		return 0, CodeBadArguments
	}
	timed := r.Flags >= flagTTL
	if timed && !e.cfg.TTL {
		return 0, CodeUnimplemented
	}
	if timed != (op == OpCreateTTL) || timed && (r.TTL <= 0 || r.TTL > ttlMax) {
		return 0, CodeBadArguments
	}
	switch ephemeral := r.Flags == 1 || r.Flags == 3; {
	case ephemeral && c.session.id == 0:
		return 0, CodeSessionExpired
	case op == OpCreateContainer:
		return ownerContainer, CodeOK
	case timed:
		return ownerTTLMask | r.TTL, CodeOK
	case ephemeral:
		return c.session.id, CodeOK
	}
	return 0, CodeOK
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

func (e *Ensemble) prepareDelete(c *connection, r *Request) (edit, Code) {
	if !splittable(r.Path) || special(r.Path) {
		return edit{}, CodeBadArguments
	}
	parent := e.look(parentOf(r.Path))
	if !parent.exists {
		return edit{}, CodeNoNode
	}
	if !c.admits(parent.acl, zk.PermDelete) {
		return edit{}, CodeNoAuth
	}
	switch n := e.look(r.Path); {
	case !n.exists:
		return edit{}, CodeNoNode
	case !versionMatches(r.Version, n.version):
		return edit{}, CodeBadVersion
	case n.children > 0:
		return edit{}, CodeNotEmpty
	}
	return edit{op: OpDelete, path: r.Path}, CodeOK
}

func versionMatches(expected, version int32) bool { return expected == -1 || expected == version }

func (e *Ensemble) prepareSetACL(c *connection, r *Request) (edit, Code) {
	if !serverPath(r.Path) {
		return edit{}, CodeBadArguments
	}
	acl, ok := c.fixACL(r.ACL, e.cfg.Users != nil)
	if !ok {
		return edit{}, CodeInvalidACL
	}
	return edit{op: OpSetACL, path: r.Path, acl: acl}, e.existing(c, r, zk.PermAdmin)
}

// existing checks that a path is well formed, and that its node exists, is open to the connection, has room for the
// data of a setData, and has the version.
func (e *Ensemble) existing(c *connection, r *Request, perms int32) Code {
	if !serverPath(r.Path) {
		return CodeBadArguments
	}
	n := e.look(r.Path)
	version := n.version
	if r.Op == OpSetACL {
		version = n.aversion
	}
	quota := CodeOK
	if r.Op == OpSetData {
		quota = e.overQuota(r.Path, int64(len(r.Data)-n.length), 0)
	}
	switch {
	case !n.exists:
		return CodeNoNode
	case !c.admits(n.acl, perms):
		return CodeNoAuth
	case quota != CodeOK:
		return quota
	case !versionMatches(r.Version, version):
		return CodeBadVersion
	}
	return CodeOK
}
