package sim

import (
	"fmt"
	"strings"
)

// Faults is a set of faults. It prints as what one types for --faults.
type Faults uint16

// The faults of the simulator.
const (
	Loss   Faults = 1 << iota // the connection breaks; a request in flight is lost before or after it was applied
	Expiry                    // the session expires at the server; the client learns it later
	Watch                     // a watch event is delayed, or lost with its connection
	Lag                       // a replica falls behind; clients move to other replicas
	Pause                     // a client stops; its timers do not run while the servers' clock does
	Time                      // time moves while others are running
	Wrap                      // a sequence counter starts just below 2147483647
	Reap                      // an empty parent is removed by somebody else
	Cancel                    // a caller gives up: its context ends
	Crash                     // a client's process dies and starts again with a new session

	NoFaults  Faults = 0
	AllFaults Faults = 1<<faultCount - 1
)

// faultCount is the number of single faults.
const faultCount = 10

// FaultNames are the names of the single faults, in the order of their bits.
var FaultNames = []string{"loss", "expiry", "watch", "lag", "pause", "time", "wrap", "reap", "cancel", "crash"}

// FaultHelp says in a line what each fault does, in the same order.
var FaultHelp = []string{
	"the connection breaks; a request in flight is lost before or after it was applied",
	"the session expires at the server (the client learns it later, perhaps much later)",
	"a watch event is delayed, or lost with its connection and then re-armed or missed",
	"a replica falls behind; a client moves to another replica",
	"a client stops (a long GC): nothing reaches it, its timers stand still, time goes on",
	"time moves while others are running",
	"a sequence counter starts just below 2147483647",
	"an empty parent is removed by somebody else",
	"a caller gives up (its context ends) at any moment",
	"a client's process dies without closing its session, and starts again with a new one",
}

// Has tells whether all of other are in the set.
func (f Faults) Has(other Faults) bool { return f&other == other }

// String lists the names, "all" or "none".
func (f Faults) String() string {
	switch f {
	case NoFaults:
		return "none"
	case AllFaults:
		return "all"
	}
	var names []string
	for i, name := range FaultNames {
		if f.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseFaults reads a comma-separated list of fault names, "all" or "none".
func ParseFaults(list string) (Faults, error) {
	var set Faults
	for name := range strings.SplitSeq(list, ",") {
		one, err := parseFault(strings.TrimSpace(name))
		if err != nil {
			return 0, err
		}
		set |= one
	}
	return set, nil
}

func parseFault(name string) (Faults, error) {
	switch name {
	case "all":
		return AllFaults, nil
	case "none":
		return NoFaults, nil
	}
	for i, known := range FaultNames {
		if name == known {
			return 1 << i, nil
		}
	}
	return 0, fmt.Errorf("unknown fault %q: the faults are %s, and the sets all and none", name, strings.Join(FaultNames, ", "))
}
