package wire

import (
	"reflect"

	"github.com/go-zookeeper/zk"
)

// RequestHeader begins every frame of a client but the first.
type RequestHeader struct {
	Xid int32
	Op  Op
}

// ReplyHeader begins every frame of a server but the first.
type ReplyHeader struct {
	Xid  int32
	Zxid int64 // of the last change that the server had applied
	Err  Code
}

// ConnectRequest asks for a session, or to go on with one.
type ConnectRequest struct {
	Version  int32
	LastZxid int64 // of the last change that the client has seen; a server that is behind refuses
	Timeout  int32 // of the session, in milliseconds
	Session  int64 // 0 for a new one
	Password []byte
	// ReadOnly says that a server without a majority would do. It is left out by old clients.
	ReadOnly *bool
}

// ConnectResponse grants a session. It has expired if Session is 0.
type ConnectResponse struct {
	Version  int32
	Timeout  int32 // in milliseconds
	Session  int64
	Password []byte
	ReadOnly *bool // the server has no majority; left out for old clients
}

// WatcherEvent tells of a change that was watched. It follows a header of the number [XidWatch].
type WatcherEvent struct {
	Type, State int32 // zk.EventType, zk.State
	Path        string
}

// PathRequest is of sync and getACL.
type PathRequest struct{ Path string }

// WatchRequest is of exists, getData and getChildren.
type WatchRequest struct {
	Path  string
	Watch bool
}

// PathVersionRequest is of delete and check.
type PathVersionRequest struct {
	Path    string
	Version int32 // -1 for any
}

// PathTypeRequest is of removeWatches, with a kind of watch, and of addWatch, with a mode.
type PathTypeRequest struct {
	Path string
	Type int32
}

// CreateRequest is of create, create2 and createContainer.
type CreateRequest struct {
	Path  string
	Data  []byte
	ACL   []zk.ACL
	Flags int32
}

// CreateTTLRequest is of createTTL.
type CreateTTLRequest struct {
	CreateRequest
	TTL int64 // in milliseconds
}

// SetDataRequest is of setData.
type SetDataRequest struct {
	Path    string
	Data    []byte
	Version int32 // -1 for any
}

// SetACLRequest is of setACL.
type SetACLRequest struct {
	Path    string
	ACL     []zk.ACL
	Version int32 // -1 for any
}

// ReconfigRequest is of reconfig.
type ReconfigRequest struct {
	Joining, Leaving string
	Members          []byte // all of them; nil if some join or leave
	Config           int64  // -1 for any
}

// AuthRequest is of auth.
type AuthRequest struct {
	Type   int32
	Scheme string
	Auth   []byte
}

// SetWatchesRequest is of setWatches: the watches that a client has when it connects again.
type SetWatchesRequest struct {
	LastZxid            int64
	Data, Exist, Childs []string
}

// SetWatches2Request is of setWatches2.
type SetWatches2Request struct {
	SetWatchesRequest
	Persistent, Recursive []string
}

// PathReply is of create and sync.
type PathReply struct{ Path string }

// CreateReply is of create2, createContainer and createTTL.
type CreateReply struct {
	Path string
	Stat zk.Stat
}

// StatReply is of exists, setData and setACL.
type StatReply struct{ Stat zk.Stat }

// DataReply is of getData.
type DataReply struct {
	Data []byte
	Stat zk.Stat
}

// ACLReply is of getACL.
type ACLReply struct {
	ACL  []zk.ACL
	Stat zk.Stat
}

// NamesReply is of getChildren.
type NamesReply struct{ Names []string }

// Children2Reply is of getChildren2.
type Children2Reply struct {
	Names []string
	Stat  zk.Stat
}

// CountReply has an error's code: of addWatch, and of parts of a multi.
type CountReply struct{ Count int32 }

// PathOf returns the path that a record is about; of a multi, that of its first operation. It is empty if there is
// none.
func PathOf(r Record) string {
	switch r := r.(type) {
	case nil:
		return ""
	case *MultiRequest:
		if len(r.Ops) > 0 {
			return PathOf(r.Ops[0].Record)
		}
		return ""
	}
	if path := reflect.ValueOf(r).Elem().FieldByName("Path"); path.IsValid() {
		return path.String()
	}
	return ""
}
