package fakezk

import (
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Request is one request of a client, of any operation: each reads the fields that it needs.
type Request struct {
	Op      wire.Op
	Path    string
	Data    []byte // nil and empty are told apart, as on the wire
	ACL     []zk.ACL
	Flags   int32 // create: zk.FlagEphemeral, zk.FlagSequence, …
	TTL     int64 // createTTL: milliseconds
	Version int32 // -1 for any
	Since   int32 // setData, if not 0: what the versions of data and ACL are just before, as after many sets that nobody has seen
	Watch   bool  // exists, getData, getChildren: leave a one-shot watch
	Kind    int32 // addWatch: mode (0 persistent, 1 recursive); removeWatches: 1 children, 2 data, 3 any
	Ops     []Request

	// setWatches, setWatches2
	RelativeZxid                            int64
	DataWatches, ExistWatches, ChildWatches []string
	PersistentWatches, RecursiveWatches     []string

	// setAuth
	Scheme string
	Auth   []byte // credentials
}

// WatchLists are the paths of a setWatches or setWatches2, in the order in which they are sent; nil of other requests.
func (r *Request) WatchLists() []*[]string {
	if r.Op != wire.OpSetWatches && r.Op != wire.OpSetWatches2 {
		return nil
	}
	return []*[]string{&r.DataWatches, &r.ExistWatches, &r.ChildWatches, &r.PersistentWatches, &r.RecursiveWatches}
}

// Response is the server's answer to one Request. Its data is the znode's, which nobody may write to.
type Response struct {
	Zxid     int64 // the last transaction that the answering replica had applied (its own, for a write)
	Err      wire.Code
	Path     string // create, sync
	Data     []byte // getData
	Stat     zk.Stat
	Children []string // getChildren
	ACL      []zk.ACL // getACL
	Results  []Result // multi
}

// Result is the answer to one operation of a multi.
type Result struct {
	Op   wire.Op // the operation as the server answered it, or -1 with an error
	Err  wire.Code
	Path string
	Stat zk.Stat
}

// Message is what a server sends on a connection, in order: a reply, a watch event, or the end of the connection.
type Message struct {
	Reply  *Response    // answers the oldest request not yet answered
	Event  zk.EventType // if Reply is nil: a watch event of this type …
	Path   string       // … on this path
	Zxid   int64        // the transaction that fired the event (not on the wire; for explanations)
	Closed bool         // the server has closed the connection; nothing follows
}
