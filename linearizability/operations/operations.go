// Package operations is the table of the operations that the models of package linearizability know:
// what each does, and what its result says. Models, kinds of recipes and harnesses read it. Operations
// of one name are of one kind in all models that have them.
package operations

import "slices"

// Kind is what is known of an operation by its name.
type Kind struct {
	Name   string
	Models []string // that have it
	Role   Role
	Result Result
	Tries  bool   // it does not wait, and its result says whether it was granted anything
	Reader bool   // of a read/write lock: it is a reader's
	Back   string // of what grants something: the operation that gives it back
}

// Role is what an operation does to its object.
type Role string

// The roles.
const (
	Grant   Role = "grant"   // its process holds something afterwards
	Release Role = "release" // gives it back
	Offer   Role = "offer"   // puts a value in
	Removal Role = "removal" // takes a value out
	Read    Role = "read"    // changes nothing
	Add     Role = "add"
	Enter   Role = "enter"
	Leave   Role = "leave"
	Shut    Role = "shut"
	Open    Role = "open"
	Wait    Role = "wait" // waits, and changes nothing
)

// VagueEnd is the note of a release of which it is not known when it was.
const VagueEnd = "it ended, nobody knows when"

// Result is what the result of an operation says that was carried out.
type Result uint8

// The kinds of results.
const (
	None      Result = iota // the result is null
	Token                   // the token of what was granted, a number, or null if there are none
	Granted                 // the token or true; or 0, false or null if nothing was granted
	Number                  // a number
	Item                    // a value
	ItemOrNil               // a value, or null if there is none
)

// The models that share operations.
var (
	locks          = []string{"lock", "rwlock", "semaphore"}
	rwlocks        = []string{"rwlock"}
	queues         = []string{"queue", "priorityqueue"}
	counters       = []string{"counter"}
	elections      = []string{"election"}
	doubleBarriers = []string{"doublebarrier"}
	barriers       = []string{"barrier"}
)

// kinds are all operations that the models know.
var kinds = []Kind{
	{Name: "acquire", Models: locks, Role: Grant, Result: Token, Back: "release"},
	{Name: "try", Models: locks, Role: Grant, Result: Granted, Tries: true, Back: "release"},
	{Name: "release", Models: locks, Role: Release},
	{Name: "racquire", Models: rwlocks, Role: Grant, Result: Token, Reader: true, Back: "rrelease"},
	{Name: "rtry", Models: rwlocks, Role: Grant, Result: Granted, Tries: true, Reader: true, Back: "rrelease"},
	{Name: "rrelease", Models: rwlocks, Role: Release, Reader: true},
	{Name: "offer", Models: queues, Role: Offer},
	{Name: "poll", Models: queues, Role: Removal, Result: ItemOrNil},
	{Name: "take", Models: queues, Role: Removal, Result: Item},
	{Name: "peek", Models: queues, Role: Read, Result: ItemOrNil},
	{Name: "add", Models: counters, Role: Add, Result: Number},
	{Name: "get", Models: counters, Role: Read, Result: Number},
	{Name: "elected", Models: elections, Role: Grant, Result: Token, Back: "resigned"},
	{Name: "resigned", Models: elections, Role: Release, Result: Token},
	{Name: "enter", Models: doubleBarriers, Role: Enter, Back: "leave"},
	{Name: "leave", Models: doubleBarriers, Role: Leave},
	{Name: "shut", Models: barriers, Role: Shut},
	{Name: "open", Models: barriers, Role: Open},
	{Name: "wait", Models: barriers, Role: Wait},
}

var byName = func() map[string]*Kind {
	all := map[string]*Kind{}
	for i := range kinds {
		all[kinds[i].Name] = &kinds[i]
	}
	return all
}()

// unknown is the kind of operations that no model has.
var unknown Kind

// Of returns what is known of the operations of a name; of one that no model has, nothing. Do not change it.
func Of(name string) *Kind {
	if k := byName[name]; k != nil {
		return k
	}
	return &unknown
}

// OfModel lists what is known of the operations of a model.
func OfModel(model string) (all []Kind) {
	for _, k := range kinds {
		if slices.Contains(k.Models, model) {
			all = append(all, k)
		}
	}
	return all
}

// Models lists the names of the models.
func Models() (names []string) {
	for _, k := range kinds {
		for _, name := range k.Models {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
