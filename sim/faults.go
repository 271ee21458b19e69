package sim

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// Faults is a set of faults. It prints as what one types for --faults.
type Faults uint16

// The faults of the simulator.
const (
	Loss    Faults = 1 << iota // the connection breaks; a request in flight is lost before or after it was applied
	Expiry                     // the session expires at the server; the client learns it later
	Watch                      // a watch event is delayed, or lost with its connection
	Lag                        // a replica falls behind; clients move to other replicas
	Pause                      // a client stops; its timers do not run while the servers' clock does
	Time                       // time moves while others are running
	Wrap                       // a counter of znodes starts just below 2147483647
	Reap                       // an empty parent is removed by another client
	Cancel                     // a caller gives up: its context ends
	Crash                      // a client's process dies and starts again with a new session
	Stall                      // what comes for a user's goroutines lies in their channels while others run
	Quorum                     // there is no majority of servers for a while: none serves, and no session ends
	Deposed                    // a leader is replaced, does not notice, and goes on answering its clients

	NoFaults   Faults = 0
	AllFaults  Faults = Quorum - 1 // what "all" means: those of clients, and servers that lag
	EveryFault Faults = 1<<faultCount - 1
)

// faultCount is the number of single faults.
const faultCount = 13

// fault is a row of the table of faults.
type fault struct {
	name, help string
	find       func(w *World, add func(target))      // where it could strike now
	strike     func(w *World, t target, variant int) // what it does there
}

// faultTable has the faults in the order of their bits. Wrap has no strike of its own: it is how an episode starts.
var faultTable [faultCount]fault

// init fills the table, not an initialiser: strikes refer to it for the names in the trace.
func init() {
	faultTable = [faultCount]fault{
		{"loss", "the connection breaks; a request in flight, or a handshake, is lost before or after it was applied", findLoss, strikeLoss},
		{"expiry", "the session expires at the server (the client learns it later, perhaps much later)", findExpiry, strikeExpiry},
		{"watch", "a watch event is delayed, or lost with its connection and then re-armed or missed", findWatch, strikeWatch},
		{"lag", "a replica falls behind; a client moves to another replica", findLag, strikeLag},
		{"pause", "a client stops, as in a long garbage collection: nothing reaches it, its timers stop, and time goes on", findPause, strikePause},
		{"time", "time moves while others are running", findTime, strikeTime},
		{"wrap", "counters of 32 bits start just below their ends: sequence numbers, versions of data, ACLs and children", nil, nil},
		{"reap", "an empty parent is removed by somebody else", findReap, strikeReap},
		{"cancel", "a caller gives up (its context ends) at any moment", findCancel, strikeCancel},
		{"crash", "a client's process dies without closing its session, and starts again with a new one", findCrash, strikeCrash},
		{"stall", "the goroutines of one user do not run: a reply, an event or a cancellation waits in its channel while others go on",
			findStall, strikeStall},
		{"quorum", "there is no majority for a while: connections close, and nothing is written or expires; then session timeouts start anew",
			findQuorum, strikeQuorum},
		{"deposed", "a leader is replaced and does not notice: it answers reads and syncs with old state, and no writes",
			findDeposed, strikeDeposed},
	}
}

// Each yields the single faults of the set, in the order of their bits.
func (f Faults) Each() iter.Seq[Faults] {
	return func(yield func(Faults) bool) {
		for rest := f; rest != 0; rest &= rest - 1 {
			if !yield(rest & -rest) {
				return
			}
		}
	}
}

// Help says in a line what a single fault does.
func (f Faults) Help() string { return faultTable[f.index()].help }

// index is the place of a single fault in the table.
func (f Faults) index() int { return bits.TrailingZeros16(uint16(f)) }

// Has tells whether all of other are in the set.
func (f Faults) Has(other Faults) bool { return f&other == other }

// String lists the names, or "none"; "all" stands for those that are in it.
func (f Faults) String() string {
	if f == NoFaults {
		return "none"
	}
	var names []string
	if f.Has(AllFaults) {
		names, f = append(names, "all"), f&^AllFaults
	}
	for one := range f.Each() {
		names = append(names, faultTable[one.index()].name)
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
	var known []string
	for one := range EveryFault.Each() {
		if one.String() == name {
			return one, nil
		}
		known = append(known, one.String())
	}
	return 0, fmt.Errorf("unknown fault %q: the faults are %s, and the sets all and none", name, strings.Join(known, ", "))
}
