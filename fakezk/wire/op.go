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
	OpAuth            Op = 100
	OpSetWatches      Op = 101
	OpSetWatches2     Op = 105
	OpAddWatch        Op = 106
	OpCreateSession   Op = -10 // never requested: a connect is that
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

// kind is what is known of an operation: a row of the table. Requests and replies are zero records, nil if there is none
// that is read.
type kind struct {
	name string // as zookeeper.jute and ZooDefs.java have it
	is   trait

	request, reply any
}

// trait is what an operation is, beside.
type trait uint8

const (
	writes trait = 1 << iota // it changes something that others see
	own                      // it is none of a user: pings, and what a client sends by itself when it connects
	named                    // it fails by an exception if its path, which comes first, is null
)

// kinds is the table of operations.
var kinds = map[Op]kind{
	OpCreate:          {"create", writes | named, CreateRequest{}, PathReply{}},
	OpDelete:          {"delete", writes | named, PathVersionRequest{}, nil},
	OpExists:          {"exists", named, WatchRequest{}, StatReply{}},
	OpGetData:         {"getData", named, WatchRequest{}, DataReply{}},
	OpSetData:         {"setData", writes, SetDataRequest{}, StatReply{}},
	OpGetACL:          {"getACL", named, PathRequest{}, ACLReply{}},
	OpSetACL:          {"setACL", writes, SetACLRequest{}, StatReply{}},
	OpGetChildren:     {"getChildren", named, WatchRequest{}, NamesReply{}},
	OpSync:            {"sync", 0, PathRequest{}, PathReply{}},
	OpPing:            {"ping", own, nil, nil},
	OpGetChildren2:    {"getChildren2", named, WatchRequest{}, Children2Reply{}},
	OpCheck:           {"check", 0, PathVersionRequest{}, nil},
	OpMulti:           {"multi", writes, MultiRequest{}, MultiReply{}},
	OpCreate2:         {"create2", writes | named, CreateRequest{}, CreateReply{}},
	OpReconfig:        {"reconfig", writes, ReconfigRequest{}, nil},
	OpCheckWatches:    {"checkWatches", named, PathTypeRequest{}, nil},
	OpRemoveWatches:   {"removeWatches", 0, PathTypeRequest{}, nil},
	OpCreateContainer: {"createContainer", writes | named, CreateRequest{}, CreateReply{}},
	OpCreateTTL:       {"createTTL", writes | named, CreateTTLRequest{}, CreateReply{}},
	OpAuth:            {"auth", own, AuthRequest{}, nil},
	OpSetWatches:      {"setWatches", own, SetWatchesRequest{}, nil},
	OpSetWatches2:     {"setWatches2", own, SetWatches2Request{}, nil},
	OpAddWatch:        {"addWatch", 0, PathTypeRequest{}, CountReply{}},
	OpCloseSession:    {"closeSession", writes, nil, nil},
	OpError:           {"error", 0, nil, CountReply{}},
}

// codesMax is above all codes of the table.
const codesMax = 128

// row is a row of the table, and what follows from it.
type row struct {
	kind
	least int // see Op.Least
}

// byCode is the table again, as each request is looked up in it.
var byCode = func() (all [2 * codesMax]row) {
	for o, k := range kinds {
		r := row{kind: k}
		switch k.request.(type) {
		case nil:
		case MultiRequest: // what is in front of each operation is at their end
			r.least = least(reflect.TypeFor[multiHeader]())
		default:
			r.least = least(reflect.TypeOf(k.request))
		}
		all[codesMax+o] = r
	}
	return all
}()

func (o Op) kind() *row {
	if o <= -codesMax || o >= codesMax {
		return &row{}
	}
	return &byCode[codesMax+o]
}

// String returns the operation's name as zookeeper.jute and ZooDefs.java have it.
func (o Op) String() string {
	if k := o.kind(); k.name != "" {
		return k.name
	}
	return fmt.Sprintf("op %d", int32(o))
}

// Known reports whether clients may send the operation.
func (o Op) Known() bool { return o.kind().name != "" && o != OpError }

// Writes reports whether the operation changes something that others see.
func (o Op) Writes() bool { return o.kind().is&writes != 0 }

// Housekeeping reports whether the operation is none of a user: pings, and what a client sends by itself when it
// connects.
func (o Op) Housekeeping() bool { return o.kind().is&own != 0 }

// NeedsPath reports whether the operation fails by an exception when its path, which comes first, is null. To others
// it is an empty one.
func (o Op) NeedsPath() bool { return o.kind().is&named != 0 }

// Least is how many bytes the request that follows the header has if each text, buffer and vector in it is empty.
func (o Op) Least() int { return o.kind().least }

// NewRequest returns an empty record of the request that follows the header; nil if nothing does, or nothing that is
// known.
func NewRequest(o Op) Record { return fresh(o.kind().request) }

// NewReply returns an empty record of the reply that follows the header if there was no error; nil if nothing does,
// or nothing that is known.
func NewReply(o Op) Record { return fresh(o.kind().reply) }

func fresh(zero any) Record {
	if zero == nil {
		return nil
	}
	return reflect.New(reflect.TypeOf(zero)).Interface()
}
