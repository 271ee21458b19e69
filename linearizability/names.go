package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Parameters are what models have to know of an object.
type Parameters struct {
	Parties int // of a barrier; 0 stands for 2
	Permits int // of a semaphore; 0 stands for 1
}

// ByName returns the model of that name, such as lock or queue. Parameters, of which only the first count, are for
// the models that have some.
func ByName(name string, with ...Parameters) (Model, error) {
	for _, m := range models(append(with, Parameters{})[0]) {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("no model is called %q; the models are: %s", name, strings.Join(Names(), ", "))
}

// Names lists the names of the models.
func Names() (names []string) {
	for _, m := range models(Parameters{}) {
		names = append(names, m.Name)
	}
	return names
}

func models(p Parameters) []Model {
	return []Model{Lock(), RWLock(), Semaphore(cmp.Or(p.Permits, 1)), Queue(), PriorityQueue(), Counter(),
		Election(), DoubleBarrier(cmp.Or(p.Parties, 2)), Barrier()}
}

// OperationKind is what is known of an operation by its name. Operations of one name are of one kind in all models
// that have them.
type OperationKind struct {
	Name   string
	Models []string // that have it
	Role   Role
	Result ResultKind
	Tries  bool   // it does not wait, and its result says whether it was granted anything
	Reader bool   // of a read/write lock: it is a reader's
	Back   string // of what grants something: the operation that gives it back
}

// Role is what an operation does to its object.
type Role string

// The roles.
const (
	RoleGrant     Role = "grant"     // its process holds something afterwards
	RoleRelease   Role = "release"   // gives it back
	RoleDowngrade Role = "downgrade" // gives a part of it back
	RoleOffer     Role = "offer"     // puts a value in
	RoleRemoval   Role = "removal"   // takes a value out
	RoleRead      Role = "read"      // changes nothing
	RoleAdd       Role = "add"
	RoleEnter     Role = "enter"
	RoleLeave     Role = "leave"
	RoleShut      Role = "shut"
	RoleOpen      Role = "open"
	RoleWait      Role = "wait" // waits, and changes nothing
)

// ResultKind is what the result of an operation says that was carried out.
type ResultKind uint8

// The kinds of results. The zero value is none: the result is null.
const (
	ResultNone      ResultKind = iota
	ResultToken                // the token of what was granted, a number, or null if there are none
	ResultGranted              // the token or true; or 0, false or null if nothing was granted
	ResultNumber               // a number
	ResultItem                 // a value
	ResultItemOrNil            // a value, or null if there is none
)

// operationKinds are all operations that the models know.
var operationKinds = []OperationKind{
	{Name: "acquire", Models: locks, Role: RoleGrant, Result: ResultToken, Back: "release"},
	{Name: "try", Models: locks, Role: RoleGrant, Result: ResultGranted, Tries: true, Back: "release"},
	{Name: "release", Models: locks, Role: RoleRelease},
	{Name: "racquire", Models: rwlocks, Role: RoleGrant, Result: ResultToken, Reader: true, Back: "rrelease"},
	{Name: "rtry", Models: rwlocks, Role: RoleGrant, Result: ResultGranted, Tries: true, Reader: true,
		Back: "rrelease"},
	{Name: "rrelease", Models: rwlocks, Role: RoleRelease, Reader: true},
	{Name: "downgrade", Models: rwlocks, Role: RoleDowngrade},
	{Name: "elected", Models: elections, Role: RoleGrant, Result: ResultToken, Back: "resigned"},
	{Name: "resigned", Models: elections, Role: RoleRelease, Result: ResultToken},
	{Name: "offer", Models: queues, Role: RoleOffer},
	{Name: "poll", Models: queues, Role: RoleRemoval, Result: ResultItemOrNil},
	{Name: "take", Models: queues, Role: RoleRemoval, Result: ResultItem},
	{Name: "peek", Models: queues, Role: RoleRead, Result: ResultItemOrNil},
	{Name: "add", Models: counters, Role: RoleAdd, Result: ResultNumber},
	{Name: "get", Models: counters, Role: RoleRead, Result: ResultNumber},
	{Name: "enter", Models: doubleBarriers, Role: RoleEnter, Back: "leave"},
	{Name: "leave", Models: doubleBarriers, Role: RoleLeave},
	{Name: "shut", Models: barriers, Role: RoleShut},
	{Name: "open", Models: barriers, Role: RoleOpen},
	{Name: "wait", Models: barriers, Role: RoleWait},
}

// The models that share operations.
var (
	locks          = []string{"lock", "rwlock", "semaphore"}
	rwlocks        = []string{"rwlock"}
	elections      = []string{"election"}
	queues         = []string{"queue", "priorityqueue"}
	counters       = []string{"counter"}
	doubleBarriers = []string{"doublebarrier"}
	barriers       = []string{"barrier"}
)

// kindsByLength are the kinds by the length of their names: a few comparisons are cheaper than a map.
var kindsByLength = func() (byLength [nameMax + 1][]*OperationKind) {
	for i := range operationKinds {
		k := &operationKinds[i]
		byLength[len(k.Name)] = append(byLength[len(k.Name)], k)
	}
	return byLength
}()

// nameMax is the length of the longest name.
const nameMax = len("downgrade")

// KindOf returns what is known of the operations of a name; of one that no model has, nothing but the name.
func KindOf(name string) OperationKind {
	if k := kindOf(name); k != nil {
		return *k
	}
	return OperationKind{Name: name}
}

func kindOf(name string) *OperationKind {
	if len(name) <= nameMax {
		for _, k := range kindsByLength[len(name)] {
			if k.Name == name {
				return k
			}
		}
	}
	return nil
}

// operationsOf lists the names of a model's operations.
func operationsOf(model string) (names []string) {
	for _, k := range operationKinds {
		if slices.Contains(k.Models, model) {
			names = append(names, k.Name)
		}
	}
	return names
}

func (o *Operation) kind() *OperationKind {
	if k := kindOf(o.Op); k != nil {
		return k
	}
	return &unknownKind
}

// unknownKind is the kind of operations that no model has.
var unknownKind OperationKind
