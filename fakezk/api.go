package fakezk

import (
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Op is an operation code of ZooKeeper's protocol (ZooDefs.OpCode).
type Op int32

// The operations that the state machine understands.
const (
	OpCreate          Op = 1
	OpDelete          Op = 2
	OpExists          Op = 3
	OpGetData         Op = 4
	OpSetData         Op = 5
	OpGetACL          Op = 6
	OpSetACL          Op = 7
	OpGetChildren     Op = 8
	OpSync            Op = 9
	OpPing            Op = 11
	OpGetChildren2    Op = 12
	OpCheck           Op = 13
	OpMulti           Op = 14
	OpCreate2         Op = 15
	OpReconfig        Op = 16
	OpCheckWatches    Op = 17
	OpRemoveWatches   Op = 18
	OpCreateContainer Op = 19
	OpCreateTTL       Op = 21
	OpMultiRead       Op = 22
	OpCreateSession   Op = -10 // never requested; in a Change only
	OpCloseSession    Op = -11
	OpSetAuth         Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpAllChildren     Op = 104 // getAllChildrenNumber
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
)

// Code is an error code of ZooKeeper's protocol (KeeperException.Code). Zero is success.
type Code int32

// The codes that the state machine answers with.
const (
	CodeOK                      Code = 0
	CodeRuntimeInconsistency    Code = -2
	CodeMarshalling             Code = -5
	CodeUnimplemented           Code = -6
	CodeBadArguments            Code = -8
	CodeNewConfigNoQuorum       Code = -13
	CodeNoNode                  Code = -101
	CodeNoAuth                  Code = -102
	CodeBadVersion              Code = -103
	CodeNoChildrenForEphemerals Code = -108
	CodeNodeExists              Code = -110
	CodeNotEmpty                Code = -111
	CodeSessionExpired          Code = -112
	CodeInvalidACL              Code = -114
	CodeAuthFailed              Code = -115
	CodeSessionMoved            Code = -118
	CodeNotReadOnly             Code = -119
	CodeNoWatcher               Code = -121
	CodeReconfigDisabled        Code = -123
	CodeQuotaExceeded           Code = -125
)

// Err is the error that go-zookeeper returns for the code: one of its sentinel values where it
// has one, else the same "unknown error: …" that it makes up.
func (c Code) Err() error {
	if c == CodeOK {
		return nil
	}
	if i := -int(c); i > 0 && i < len(sentinels) && sentinels[i] != nil {
		return sentinels[i]
	}
	return fmt.Errorf("unknown error: %d", int32(c))
}

// sentinels are go-zookeeper's errors, each at its code with the sign turned.
var sentinels = [...]error{
	-CodeBadArguments:            zk.ErrBadArguments,
	-CodeNoNode:                  zk.ErrNoNode,
	-CodeNoAuth:                  zk.ErrNoAuth,
	-CodeBadVersion:              zk.ErrBadVersion,
	-CodeNoChildrenForEphemerals: zk.ErrNoChildrenForEphemerals,
	-CodeNodeExists:              zk.ErrNodeExists,
	-CodeNotEmpty:                zk.ErrNotEmpty,
	-CodeSessionExpired:          zk.ErrSessionExpired,
	-CodeInvalidACL:              zk.ErrInvalidACL,
	-CodeAuthFailed:              zk.ErrAuthFailed,
	-CodeSessionMoved:            zk.ErrSessionMoved,
	-CodeReconfigDisabled:        zk.ErrReconfigDisabled,
}

// Request is one request of a client, of any operation: each reads the fields that it needs.
type Request struct {
	Op      Op
	Path    string
	Data    []byte // nil and empty are told apart, as on the wire
	ACL     []zk.ACL
	Flags   int32 // create: zk.FlagEphemeral, zk.FlagSequence, …
	TTL     int64 // createTTL: milliseconds
	Version int32 // -1 for any
	Watch   bool  // exists, getData, getChildren: leave a one-shot watch
	Kind    int32 // addWatch: mode (0 persistent, 1 recursive); remove/checkWatches: 1 children, 2 data, 3 any
	Ops     []Request

	// setWatches, setWatches2
	RelativeZxid                            int64
	DataWatches, ExistWatches, ChildWatches []string
	PersistentWatches, RecursiveWatches     []string

	// reconfig: servers that join and ids that leave, with commas between them, or all Members, if that is not nil
	Joining, Leaving string
	Members          []byte
	ConfigVersion    int64 // that the change is made from; -1 for any

	// setAuth, sasl
	Scheme string
	Auth   []byte // credentials; sasl: the client's token
}

// watchLists are the paths of a setWatches or setWatches2, in the order in which they are sent.
func (r *Request) watchLists() [5]*[]string {
	return [...]*[]string{&r.DataWatches, &r.ExistWatches, &r.ChildWatches, &r.PersistentWatches, &r.RecursiveWatches}
}

// Response is the server's answer to one Request. Its data is the znode's, which nobody may write to.
type Response struct {
	Zxid     int64 // the last transaction that the answering replica had applied (its own, for a write)
	Err      Code
	Path     string // create, sync
	Data     []byte // getData, reconfig; sasl: the server's token
	Stat     zk.Stat
	Children []string // getChildren, getEphemerals
	Number   int32    // getAllChildrenNumber
	ACL      []zk.ACL // getACL; whoAmI: scheme and id
	Results  []Result // multi, multiRead
}

// Result is the answer to one operation of a multi.
type Result struct {
	Op       Op // the operation as the server answered it, or -1 with an error
	Err      Code
	Path     string
	Data     []byte
	Stat     zk.Stat
	Children []string
}

// Message is what a server sends on a connection, in order: a reply, a watch event, or the end of the connection.
type Message struct {
	Reply  *Response    // answers the oldest request not yet answered
	Event  zk.EventType // if Reply is nil: a watch event of this type …
	Path   string       // … on this path
	Zxid   int64        // the transaction that fired the event (not on the wire; for explanations)
	Closed bool         // the server has closed the connection; nothing follows
}
