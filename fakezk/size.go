package fakezk

import (
	"unsafe"

	"github.com/go-zookeeper/zk"
)

// bufferMax is the server's default of jute.maxbuffer, in bytes.
const bufferMax = 0xfffff

// size returns how many bytes the request is on the wire, without the length in front of the frame
// (zookeeper.jute).
func (r *Request) size() int { return 8 + r.bodySize() }

// bodySize is without the header, as within a multi.
func (r *Request) bodySize() int {
	path := 4 + len(r.Path)
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		return path + 4 + len(r.Data) + aclSize(r.ACL) + 4
	case OpCreateTTL:
		return path + 4 + len(r.Data) + aclSize(r.ACL) + 4 + 8
	case OpSetData:
		return path + 4 + len(r.Data) + 4
	case OpSetACL:
		return path + aclSize(r.ACL) + 4
	case OpDelete, OpCheck, OpAddWatch, OpCheckWatches, OpRemoveWatches:
		return path + 4
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		return path + 1
	case OpGetACL, OpSync, OpGetEphemerals, OpAllChildren:
		return path
	case OpMulti, OpMultiRead:
		return multiSize(r.Ops)
	case OpSetAuth:
		return 4 + 4 + len(r.Scheme) + 4 + len(r.Auth)
	case OpSASL:
		return 4 + len(r.Auth)
	case OpSetWatches, OpSetWatches2:
		return r.watchesSize()
	case OpReconfig:
		return 4 + len(r.Joining) + 4 + len(r.Leaving) + 4 + len(r.Members) + 8
	}
	return 0
}

// Length returns about how many bytes a message is on the wire, and not less.
func (m *Message) Length() int {
	const head = 150 // of the frame, and a Stat
	if m.Reply == nil {
		return head + len(m.Path)
	}
	n := head + len(m.Reply.Path) + len(m.Reply.Data) + namesLength(m.Reply.Children) + aclSize(m.Reply.ACL)
	for i := range m.Reply.Results {
		n += m.Reply.Results[i].length()
	}
	return n
}

func (x *Result) length() int {
	const head = 100 // what is before it, and a Stat
	return head + len(x.Path) + len(x.Data) + namesLength(x.Children)
}

// namesLength counts what names take in memory, which is more than on the wire.
func namesLength(names []string) (n int) {
	for _, name := range names {
		n += int(unsafe.Sizeof(name)) + len(name)
	}
	return n
}

func aclSize(acl []zk.ACL) int {
	n := 4
	for i := range acl {
		n += 4 + 4 + len(acl[i].Scheme) + 4 + len(acl[i].ID)
	}
	return n
}

// multiSize counts a header of nine bytes before each operation and at the end.
func multiSize(ops []Request) int {
	n := 9
	for i := range ops {
		n += 9 + ops[i].bodySize()
	}
	return n
}

func (r *Request) watchesSize() int {
	n := 8 + listSize(r.DataWatches) + listSize(r.ExistWatches) + listSize(r.ChildWatches)
	if r.Op == OpSetWatches2 {
		n += listSize(r.PersistentWatches) + listSize(r.RecursiveWatches)
	}
	return n
}

func listSize(paths []string) int {
	n := 4
	for _, path := range paths {
		n += 4 + len(path)
	}
	return n
}
