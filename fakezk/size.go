package fakezk

import "github.com/go-zookeeper/zk"

// bufferMax is the server's default of jute.maxbuffer, in bytes.
const bufferMax = 0xfffff

// Size returns how many bytes the request is on the wire, without the length in front of the frame (zookeeper.jute).
func (r *Request) Size() int { return 8 + r.bodySize() }

// bodySize is without the header, as within a multi. What an operation does not need is empty.
func (r *Request) bodySize() int {
	n := r.Op.Least() + len(r.Path) + len(r.Data) + len(r.Scheme) + len(r.Auth) + aclSize(r.ACL)
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

// aclSize is without the number of entries.
func aclSize(acl []zk.ACL) (n int) {
	for i := range acl {
		n += 4 + 4 + len(acl[i].Scheme) + 4 + len(acl[i].ID)
	}
	return n
}
