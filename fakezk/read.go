package fakezk

import (
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// read answers from the connection's replica (FinalRequestProcessor).
func (e *Ensemble) read(c *connection, r *Request, reply *Response) {
	switch r.Op {
	case OpExists:
		e.exists(c, r, reply)
	case OpGetData, OpGetChildren, OpGetChildren2, OpAllChildren:
		e.get(c, r, reply)
	case OpGetACL:
		getACL(c, r, reply)
	case OpMultiRead:
		e.multiRead(c, r, reply)
	case OpGetEphemerals:
		reply.Children = ephemerals(c, r.Path)
	case OpWhoAmI:
		reply.ACL = mapped(c.whoAmI(), inACL(encoded))
	case OpSetWatches, OpSetWatches2:
		e.resumeWatches(c, r)
	case OpAddWatch:
		reply.Err = e.addWatch(c, r)
	case OpCheckWatches, OpRemoveWatches:
		reply.Err = e.matchWatches(c, r)
	default:
		reply.Err = CodeUnimplemented
	}
}

// exists leaves its watch whether or not the node exists.
func (e *Ensemble) exists(c *connection, r *Request, reply *Response) {
	if hasNUL(r.Path) {
		reply.Err = CodeBadArguments
		return
	}
	n := c.replica.nodes[r.Path]
	if n != nil && e.cfg.Compat.ExistsNeedsRead && !c.admits(n.acl, zk.PermRead) {
		reply.Err = CodeNoAuth
		return
	}
	if r.Watch {
		e.arm(&c.replica.data, r.Path, c, modeOneShot)
	}
	if n == nil {
		reply.Err = CodeNoNode
		return
	}
	reply.Stat = n.stat()
}

// readable returns the node of a path if it exists and one of the permissions is there.
func (c *connection) readable(path string, perms int32) (*node, Code) {
	n := c.replica.nodes[path]
	switch {
	case n == nil:
		return nil, CodeNoNode
	case !c.admits(n.acl, perms):
		return nil, CodeNoAuth
	}
	return n, CodeOK
}

// get is the common part of getData and the getChildren family: the watch is left only if the node exists and is
// readable.
func (e *Ensemble) get(c *connection, r *Request, reply *Response) {
	n, code := c.readable(r.Path, zk.PermRead)
	if reply.Err = code; code != CodeOK {
		return
	}
	switch r.Op {
	case OpGetData:
		reply.Data, reply.Stat = n.data, n.stat()
	case OpGetChildren:
		reply.Children = e.namesOf(n)
	case OpGetChildren2:
		reply.Children, reply.Stat = e.namesOf(n), n.stat()
	case OpAllChildren:
		reply.Number = n.descendants()
		if r.Path == "" { // the server counts the names that begin with "/", and so the root's other one
			reply.Number++
		}
		return
	}
	if r.Watch {
		table := &c.replica.child
		if r.Op == OpGetData {
			table = &c.replica.data
		}
		e.arm(table, r.Path, c, modeOneShot)
	}
}

// getACL hides digests from those who may read the node but not administer it.
func getACL(c *connection, r *Request, reply *Response) {
	n, code := c.readable(r.Path, zk.PermRead|zk.PermAdmin)
	if reply.Err = code; code != CodeOK {
		return
	}
	reply.Stat = n.stat()
	reply.ACL = mapped(n.acl, inACL(encoded))
	if !c.admits(n.acl, zk.PermAdmin) {
		redact(reply.ACL)
	}
}

// ephemerals lists the session's ephemeral nodes whose path begins with the prefix.
func ephemerals(c *connection, prefix string) []string {
	if c.session.id == 0 { // Admin's; the tree keeps containers under 0
		return []string{}
	}
	paths := c.replica.ownedBy(c.session.id)
	javaSpace := func(r rune) bool { return r <= ' ' } // String.trim
	if trimmed := strings.TrimFunc(prefix, javaSpace); trimmed == "" || trimmed == "/" {
		return paths
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, prefix) })
}

// addWatch checks neither existence nor ACL.
func (e *Ensemble) addWatch(c *connection, r *Request) Code {
	if r.Kind != 0 && r.Kind != 1 {
		return CodeMarshalling
	}
	e.armBoth(c, []string{r.Path}, [...]watchModes{modePersistent, modeRecursive}[r.Kind])
	return CodeOK
}
