package fakezk

import (
	"unsafe"

	"github.com/go-zookeeper/zk"
)

// bufferMax is the server's default of jute.maxbuffer, in bytes.
const bufferMax = 0xfffff

// Size returns how many bytes the request is on the wire, without the length in front of the frame (zookeeper.jute).
func (r *Request) Size() int { return 8 + r.bodySize() }

// bodySize is without the header, as within a multi. What an operation does not need is empty.
func (r *Request) bodySize() int {
	n := r.Op.Least() + len(r.Path) + len(r.Data) + len(r.Scheme) + len(r.Auth) + aclSize(r.ACL)
	n += len(r.Joining) + len(r.Leaving) + len(r.Members)
	for _, paths := range r.WatchLists() {
		for _, path := range *paths {
			n += 4 + len(path)
		}
	}
	for i := range r.Ops {
		n += r.Op.Least() + r.Ops[i].bodySize() // its header is as long as the end of them all
	}
	return n
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

// aclSize is without the number of entries.
func aclSize(acl []zk.ACL) (n int) {
	for i := range acl {
		n += 4 + 4 + len(acl[i].Scheme) + 4 + len(acl[i].ID)
	}
	return n
}
