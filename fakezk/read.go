package fakezk

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// read answers from the connection's replica (FinalRequestProcessor).
func (c *connection) read(r *Request, reply *Response) {
	switch r.Op {
	case wire.OpExists:
		c.exists(r, reply)
	case wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		c.get(r, reply)
	case wire.OpGetACL:
		c.getACL(r, reply)
	case wire.OpSetWatches, wire.OpSetWatches2:
		c.resumeWatches(r)
	case wire.OpAddWatch:
		reply.Err = c.addWatch(r)
	case wire.OpCheckWatches, wire.OpRemoveWatches:
		reply.Err = c.matchWatches(r)
	default:
		reply.Err = wire.CodeUnimplemented
	}
}

// exists leaves its watch whether or not the node exists.
func (c *connection) exists(r *Request, reply *Response) {
	if hasNUL(r.Path) {
		reply.Err = wire.CodeBadArguments
		return
	}
	n := c.replica.nodes[r.Path]
	if r.Watch {
		c.arm(&c.replica.data, r.Path, modeOneShot)
	}
	if n == nil {
		reply.Err = wire.CodeNoNode
		return
	}
	reply.Stat = n.stat()
}

// readable returns the node of a path if it exists and one of the permissions is there.
func (c *connection) readable(path string, perms int32) (*node, wire.Code) {
	n := c.replica.nodes[path]
	switch {
	case n == nil:
		return nil, wire.CodeNoNode
	case !c.admits(n.acl, perms):
		return nil, wire.CodeNoAuth
	}
	return n, wire.CodeOK
}

// get is the common part of getData and the getChildren family: the watch is left only if the node exists and is
// readable.
func (c *connection) get(r *Request, reply *Response) {
	n, code := c.readable(r.Path, zk.PermRead)
	if reply.Err = code; code != wire.CodeOK {
		return
	}
	switch r.Op {
	case wire.OpGetData:
		reply.Data, reply.Stat = n.data, n.stat()
	case wire.OpGetChildren:
		reply.Children = c.replica.streams.blocks.namesOf(n)
	case wire.OpGetChildren2:
		reply.Children, reply.Stat = c.replica.streams.blocks.namesOf(n), n.stat()
	}
	if r.Watch {
		table := &c.replica.child
		if r.Op == wire.OpGetData {
			table = &c.replica.data
		}
		c.arm(table, r.Path, modeOneShot)
	}
}

// getACL hides digests from those who may read the node but not administer it.
func (c *connection) getACL(r *Request, reply *Response) {
	n, code := c.readable(r.Path, zk.PermRead|zk.PermAdmin)
	if reply.Err = code; code != wire.CodeOK {
		return
	}
	reply.Stat = n.stat()
	reply.ACL = slices.Clone(n.acl)
	if !c.admits(n.acl, zk.PermAdmin) {
		redact(reply.ACL)
	}
}

// addWatch checks neither existence nor ACL.
func (c *connection) addWatch(r *Request) wire.Code {
	if r.Kind != 0 && r.Kind != 1 {
		return wire.CodeMarshalling
	}
	c.armBoth([]string{r.Path}, [...]watchModes{modePersistent, modeRecursive}[r.Kind])
	return wire.CodeOK
}
