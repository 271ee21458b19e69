package wire

import "fmt"

// Op is the kind of a request: OpCode of ZooDefs.java.
type Op int32

// The operations that clients send.
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
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSASL            Op = 102
	OpGetEphemerals   Op = 103
	OpCountChildren   Op = 104
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpWhoAmI          Op = 107
	OpCloseSession    Op = -11
	OpError           Op = -1 // in the reply to a multi: the error of one of its operations
)

// Numbers of what is no operation of a user's.
const (
	XidWatch      int32 = -1 // a WatcherEvent
	XidPing       int32 = -2
	XidAuth       int32 = -4
	XidSetWatches int32 = -8 // of Java's and C's clients; go-zookeeper's have a number of their own
)

// String returns the operation's name as zookeeper.jute and ZooDefs.java have it.
func (o Op) String() string {
	if k, ok := kinds[o]; ok {
		return k.name
	}
	return fmt.Sprintf("op %d", int32(o))
}

// Writes tells whether the operation changes something that others see.
func (o Op) Writes() bool { return kinds[o].writes }

// kind is what is known of an operation.
type kind struct {
	name    string
	writes  bool
	request func() Record // nil: nothing, or nothing that is read here
	reply   func() Record
}

func record[T any, P interface {
	*T
	Record
}]() Record {
	return P(new(T))
}

var kinds = map[Op]kind{
	OpCreate:          {"create", true, record[CreateRequest], record[PathReply]},
	OpDelete:          {"delete", true, record[PathVersionRequest], nil},
	OpExists:          {"exists", false, record[WatchRequest], record[StatReply]},
	OpGetData:         {"getData", false, record[WatchRequest], record[DataReply]},
	OpSetData:         {"setData", true, record[SetDataRequest], record[StatReply]},
	OpGetACL:          {"getACL", false, record[PathRequest], record[ACLReply]},
	OpSetACL:          {"setACL", true, record[SetACLRequest], record[StatReply]},
	OpGetChildren:     {"getChildren", false, record[WatchRequest], record[ChildrenReply]},
	OpSync:            {"sync", false, record[PathRequest], record[PathReply]},
	OpPing:            {"ping", false, nil, nil},
	OpGetChildren2:    {"getChildren2", false, record[WatchRequest], record[Children2Reply]},
	OpCheck:           {"check", false, record[PathVersionRequest], nil},
	OpMulti:           {"multi", true, record[MultiRequest], record[MultiReply]},
	OpCreate2:         {"create2", true, record[CreateRequest], record[CreateReply]},
	OpReconfig:        {"reconfig", true, record[ReconfigRequest], record[DataReply]},
	OpCheckWatches:    {"checkWatches", false, record[PathTypeRequest], nil},
	OpRemoveWatches:   {"removeWatches", false, record[PathTypeRequest], nil},
	OpCreateContainer: {"createContainer", true, record[CreateRequest], record[CreateReply]},
	OpCreateTTL:       {"createTTL", true, record[CreateTTLRequest], record[CreateReply]},
	OpMultiRead:       {"multiRead", false, record[MultiRequest], record[MultiReply]},
	OpAuth:            {"auth", false, record[AuthRequest], nil},
	OpSetWatches:      {"setWatches", false, record[SetWatchesRequest], nil},
	OpSASL:            {"sasl", false, record[TokenRecord], record[TokenRecord]},
	OpGetEphemerals:   {"getEphemerals", false, record[PathRequest], record[NamesReply]},
	OpCountChildren:   {"getAllChildrenNumber", false, record[PathRequest], record[CountReply]},
	OpSetWatches2:     {"setWatches2", false, record[SetWatches2Request], nil},
	OpAddWatch:        {"addWatch", false, record[PathTypeRequest], record[CountReply]},
	OpWhoAmI:          {"whoAmI", false, nil, record[WhoAmIReply]},
	OpCloseSession:    {"closeSession", true, nil, nil},
	OpError:           {"error", false, nil, record[CountReply]},
}

// NewRequest returns an empty record of the request that follows the header; nil if nothing does, or
// nobody knows what.
func NewRequest(o Op) Record { return kinds[o].newRequest() }

// NewReply returns an empty record of the reply that follows the header if there was no error; nil if nothing
// does, or nobody knows what.
func NewReply(o Op) Record { return kinds[o].newReply() }

func (k kind) newRequest() Record {
	if k.request == nil {
		return nil
	}
	return k.request()
}

func (k kind) newReply() Record {
	if k.reply == nil {
		return nil
	}
	return k.reply()
}
