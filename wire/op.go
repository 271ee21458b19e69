package wire

import (
	"fmt"
	"reflect"
)

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

// kind is what is known of an operation. Requests and replies are zero records, nil if there is none that is read.
type kind struct {
	name           string
	writes         bool
	request, reply any
}

var kinds = map[Op]kind{
	OpCreate:          {"create", true, CreateRequest{}, PathReply{}},
	OpDelete:          {"delete", true, PathVersionRequest{}, nil},
	OpExists:          {"exists", false, WatchRequest{}, StatReply{}},
	OpGetData:         {"getData", false, WatchRequest{}, DataReply{}},
	OpSetData:         {"setData", true, SetDataRequest{}, StatReply{}},
	OpGetACL:          {"getACL", false, PathRequest{}, ACLReply{}},
	OpSetACL:          {"setACL", true, SetACLRequest{}, StatReply{}},
	OpGetChildren:     {"getChildren", false, WatchRequest{}, NamesReply{}},
	OpSync:            {"sync", false, PathRequest{}, PathReply{}},
	OpPing:            {"ping", false, nil, nil},
	OpGetChildren2:    {"getChildren2", false, WatchRequest{}, Children2Reply{}},
	OpCheck:           {"check", false, PathVersionRequest{}, nil},
	OpMulti:           {"multi", true, MultiRequest{}, MultiReply{}},
	OpCreate2:         {"create2", true, CreateRequest{}, CreateReply{}},
	OpReconfig:        {"reconfig", true, ReconfigRequest{}, DataReply{}},
	OpCheckWatches:    {"checkWatches", false, PathTypeRequest{}, nil},
	OpRemoveWatches:   {"removeWatches", false, PathTypeRequest{}, nil},
	OpCreateContainer: {"createContainer", true, CreateRequest{}, CreateReply{}},
	OpCreateTTL:       {"createTTL", true, CreateTTLRequest{}, CreateReply{}},
	OpMultiRead:       {"multiRead", false, MultiRequest{}, MultiReply{}},
	OpAuth:            {"auth", false, AuthRequest{}, nil},
	OpSetWatches:      {"setWatches", false, SetWatchesRequest{}, nil},
	OpSASL:            {"sasl", false, TokenRecord{}, TokenRecord{}},
	OpGetEphemerals:   {"getEphemerals", false, PathRequest{}, NamesReply{}},
	OpCountChildren:   {"getAllChildrenNumber", false, PathRequest{}, CountReply{}},
	OpSetWatches2:     {"setWatches2", false, SetWatches2Request{}, nil},
	OpAddWatch:        {"addWatch", false, PathTypeRequest{}, CountReply{}},
	OpWhoAmI:          {"whoAmI", false, nil, WhoAmIReply{}},
	OpCloseSession:    {"closeSession", true, nil, nil},
	OpError:           {"error", false, nil, CountReply{}},
}

// NewRequest returns an empty record of the request that follows the header; nil if nothing does, or nothing that is
// known.
func NewRequest(o Op) Record { return fresh(kinds[o].request) }

// NewReply returns an empty record of the reply that follows the header if there was no error; nil if nothing does,
// or nothing that is known.
func NewReply(o Op) Record { return fresh(kinds[o].reply) }

func fresh(zero any) Record {
	if zero == nil {
		return nil
	}
	return reflect.New(reflect.TypeOf(zero)).Interface()
}
