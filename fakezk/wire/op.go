package wire

import (
	"cmp"
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
	name    string // as zookeeper.jute and ZooDefs.java have it
	letters string // as the word cons has it (FinalRequestProcessor); "" for NA
	since   string // the version of ZooKeeper that brought it; "" for 3.5 and before
	is      trait

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
	OpCreate:          {"create", "CREA", "", writes | named, CreateRequest{}, PathReply{}},
	OpDelete:          {"delete", "DELE", "", writes | named, PathVersionRequest{}, nil},
	OpExists:          {"exists", "EXIS", "", named, WatchRequest{}, StatReply{}},
	OpGetData:         {"getData", "GETD", "", named, WatchRequest{}, DataReply{}},
	OpSetData:         {"setData", "SETD", "", writes, SetDataRequest{}, StatReply{}},
	OpGetACL:          {"getACL", "GETA", "", named, PathRequest{}, ACLReply{}},
	OpSetACL:          {"setACL", "SETA", "", writes, SetACLRequest{}, StatReply{}},
	OpGetChildren:     {"getChildren", "GETC", "", named, WatchRequest{}, NamesReply{}},
	OpSync:            {"sync", "SYNC", "", 0, PathRequest{}, PathReply{}},
	OpPing:            {"ping", "PING", "", own, nil, nil},
	OpGetChildren2:    {"getChildren2", "GETC", "", named, WatchRequest{}, Children2Reply{}},
	OpCheck:           {"check", "CHEC", "", 0, PathVersionRequest{}, nil},
	OpMulti:           {"multi", "MULT", "", writes, MultiRequest{}, MultiReply{}},
	OpCreate2:         {"create2", "CREA", "", writes | named, CreateRequest{}, CreateReply{}},
	OpReconfig:        {"reconfig", "RECO", "", writes, ReconfigRequest{}, DataReply{}},
	OpCheckWatches:    {"checkWatches", "CHKW", "", named, PathTypeRequest{}, nil},
	OpRemoveWatches:   {"removeWatches", "REMW", "", 0, PathTypeRequest{}, nil},
	OpCreateContainer: {"createContainer", "CREA", "", writes | named, CreateRequest{}, CreateReply{}},
	OpCreateTTL:       {"createTTL", "CREA", "", writes | named, CreateTTLRequest{}, CreateReply{}},
	OpMultiRead:       {"multiRead", "MLTR", "3.6", 0, MultiRequest{}, MultiReply{}},
	OpAuth:            {"auth", "", "", own, AuthRequest{}, nil},
	OpSetWatches:      {"setWatches", "SETW", "", own, SetWatchesRequest{}, nil},
	OpSASL:            {"sasl", "", "", own, TokenRecord{}, TokenRecord{}},
	OpGetEphemerals:   {"getEphemerals", "GETE", "3.6", 0, PathRequest{}, NamesReply{}},
	OpCountChildren:   {"getAllChildrenNumber", "GETACN", "3.6", named, PathRequest{}, CountReply{}},
	OpSetWatches2:     {"setWatches2", "STW2", "3.6", own, SetWatches2Request{}, nil},
	OpAddWatch:        {"addWatch", "ADDW", "3.6", 0, PathTypeRequest{}, CountReply{}},
	OpWhoAmI:          {"whoAmI", "HOMI", "3.7", 0, nil, WhoAmIReply{}},
	OpCloseSession:    {"closeSession", "CLOS", "", writes, nil, nil},
	OpError:           {"error", "", "", 0, nil, CountReply{}},
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

// Letters is the operation's short name, as the word cons has it.
func (o Op) Letters() string { return cmp.Or(o.kind().letters, "NA") }

// Known reports whether clients may send the operation, and since which version of ZooKeeper; "" for 3.5 and before.
func (o Op) Known() (since string, known bool) {
	k := o.kind()
	return k.since, k.name != "" && o != OpError
}

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
