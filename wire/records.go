package wire

import "github.com/go-zookeeper/zk"

// RequestHeader begins every frame of a client but the first.
type RequestHeader struct {
	Xid int32
	Op  Op
}

// ReplyHeader begins every frame of a server but the first.
type ReplyHeader struct {
	Xid  int32
	Zxid int64 // of the last change that the server had applied
	Err  int32 // 0, or a code of KeeperException
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

// PathRequest is of sync, getACL, getEphemerals and getAllChildrenNumber.
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

// PathTypeRequest is of checkWatches and removeWatches, with a kind of watch, and of addWatch, with a mode.
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
	Joining, Leaving, Members string
	Config                    int64 // -1 for any
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

// TokenRecord is of sasl, both ways.
type TokenRecord struct{ Token []byte }

// PathReply is of create and sync.
type PathReply struct{ Path string }

// CreateReply is of create2, createContainer and createTTL.
type CreateReply struct {
	Path string
	Stat zk.Stat
}

// StatReply is of exists, setData and setACL.
type StatReply struct{ Stat zk.Stat }

// DataReply is of getData and reconfig.
type DataReply struct {
	Data []byte
	Stat zk.Stat
}

// ACLReply is of getACL.
type ACLReply struct {
	ACL  []zk.ACL
	Stat zk.Stat
}

// ChildrenReply is of getChildren.
type ChildrenReply struct{ Names []string }

// Children2Reply is of getChildren2.
type Children2Reply struct {
	Names []string
	Stat  zk.Stat
}

// NamesReply is of getEphemerals.
type NamesReply struct{ Names []string }

// CountReply is of getAllChildrenNumber, and with an error's code of addWatch and of parts of a multi.
type CountReply struct{ Count int32 }

// WhoAmIReply is of whoAmI.
type WhoAmIReply struct{ Identities []Identity }

// Identity is one of those that a client has shown.
type Identity struct{ Scheme, User string }

func (r *RequestHeader) fields(c *codec) {
	c.int32(&r.Xid)
	c.int32((*int32)(&r.Op))
}

func (r *ReplyHeader) fields(c *codec) {
	c.int32(&r.Xid)
	c.int64(&r.Zxid)
	c.int32(&r.Err)
}

func (r *ConnectRequest) fields(c *codec) {
	c.int32(&r.Version)
	c.int64(&r.LastZxid)
	c.int32(&r.Timeout)
	c.int64(&r.Session)
	c.buffer(&r.Password)
	c.optionalBool(&r.ReadOnly)
}

func (r *ConnectResponse) fields(c *codec) {
	c.int32(&r.Version)
	c.int32(&r.Timeout)
	c.int64(&r.Session)
	c.buffer(&r.Password)
	c.optionalBool(&r.ReadOnly)
}

// optionalBool reads or writes a bool at the end of a frame that may be left out.
func (c *codec) optionalBool(v **bool) {
	if c.reading {
		*v = nil
		if len(c.bytes) == 0 || c.err != nil {
			return
		}
		*v = new(bool)
	}
	if *v != nil {
		c.bool(*v)
	}
}

func (r *WatcherEvent) fields(c *codec) {
	c.int32(&r.Type)
	c.int32(&r.State)
	c.string(&r.Path)
}

func (r *PathRequest) fields(c *codec) { c.string(&r.Path) }

func (r *WatchRequest) fields(c *codec) {
	c.string(&r.Path)
	c.bool(&r.Watch)
}

func (r *PathVersionRequest) fields(c *codec) {
	c.string(&r.Path)
	c.int32(&r.Version)
}

func (r *PathTypeRequest) fields(c *codec) {
	c.string(&r.Path)
	c.int32(&r.Type)
}

func (r *CreateRequest) fields(c *codec) {
	c.string(&r.Path)
	c.buffer(&r.Data)
	c.acl(&r.ACL)
	c.int32(&r.Flags)
}

func (r *CreateTTLRequest) fields(c *codec) {
	r.CreateRequest.fields(c)
	c.int64(&r.TTL)
}

func (r *SetDataRequest) fields(c *codec) {
	c.string(&r.Path)
	c.buffer(&r.Data)
	c.int32(&r.Version)
}

func (r *SetACLRequest) fields(c *codec) {
	c.string(&r.Path)
	c.acl(&r.ACL)
	c.int32(&r.Version)
}

func (r *ReconfigRequest) fields(c *codec) {
	c.string(&r.Joining)
	c.string(&r.Leaving)
	c.string(&r.Members)
	c.int64(&r.Config)
}

func (r *AuthRequest) fields(c *codec) {
	c.int32(&r.Type)
	c.string(&r.Scheme)
	c.buffer(&r.Auth)
}

func (r *SetWatchesRequest) fields(c *codec) {
	c.int64(&r.LastZxid)
	c.strings(&r.Data)
	c.strings(&r.Exist)
	c.strings(&r.Childs)
}

func (r *SetWatches2Request) fields(c *codec) {
	r.SetWatchesRequest.fields(c)
	c.strings(&r.Persistent)
	c.strings(&r.Recursive)
}

func (r *TokenRecord) fields(c *codec) { c.buffer(&r.Token) }
func (r *PathReply) fields(c *codec)   { c.string(&r.Path) }

func (r *CreateReply) fields(c *codec) {
	c.string(&r.Path)
	c.stat(&r.Stat)
}

func (r *StatReply) fields(c *codec) { c.stat(&r.Stat) }

func (r *DataReply) fields(c *codec) {
	c.buffer(&r.Data)
	c.stat(&r.Stat)
}

func (r *ACLReply) fields(c *codec) {
	c.acl(&r.ACL)
	c.stat(&r.Stat)
}

func (r *ChildrenReply) fields(c *codec) { c.strings(&r.Names) }

func (r *Children2Reply) fields(c *codec) {
	c.strings(&r.Names)
	c.stat(&r.Stat)
}

func (r *NamesReply) fields(c *codec) { c.strings(&r.Names) }
func (r *CountReply) fields(c *codec) { c.int32(&r.Count) }

func (r *WhoAmIReply) fields(c *codec) {
	vector(c, &r.Identities, 8, func(i *Identity) {
		c.string(&i.Scheme)
		c.string(&i.User)
	})
}

func (c *codec) acl(v *[]zk.ACL) {
	vector(c, v, 12, func(a *zk.ACL) {
		c.int32(&a.Perms)
		c.string(&a.Scheme)
		c.string(&a.ID)
	})
}

func (c *codec) stat(s *zk.Stat) {
	for _, v := range []*int64{&s.Czxid, &s.Mzxid, &s.Ctime, &s.Mtime} {
		c.int64(v)
	}
	for _, v := range []*int32{&s.Version, &s.Cversion, &s.Aversion} {
		c.int32(v)
	}
	c.int64(&s.EphemeralOwner)
	c.int32(&s.DataLength)
	c.int32(&s.NumChildren)
	c.int64(&s.Pzxid)
}

// PathOf returns the path that a request or a reply is about; of a multi, that of its first operation. It
// is empty if there is none.
func PathOf(r Record) string {
	switch r := r.(type) {
	case *PathRequest:
		return r.Path
	case *WatchRequest:
		return r.Path
	case *PathVersionRequest:
		return r.Path
	case *PathTypeRequest:
		return r.Path
	case *CreateRequest:
		return r.Path
	case *CreateTTLRequest:
		return r.Path
	case *SetDataRequest:
		return r.Path
	case *SetACLRequest:
		return r.Path
	case *MultiRequest:
		if len(r.Ops) > 0 {
			return PathOf(r.Ops[0].Record)
		}
	}
	return ""
}
