package world

import (
	"fmt"
	"iter"
	"math/bits"
	"strings"

	"github.com/zktorture/zktorture/internal/faultset"
)

// Faults is a set of faults. Its String is a valid value of --faults.
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
	Stall                      // what comes for a user's goroutines waits in their channels while others run
	Quorum                     // there is no majority of servers for a while: none serves, and no session ends
	Deposed                    // a leader is replaced, does not notice, and goes on answering its clients

	NoFaults    Faults = 0
	AllFaults   Faults = Quorum - 1 // what "all" means: those of clients, and servers that lag
	EveryFault  Faults = 1<<FaultCount - 1
	Rare               = Wrap | Reap       // what hardly ever happens, and strikes only when it is asked for
	UsualFaults        = AllFaults &^ Rare // what may strike where nobody says
)

// FaultCount is the number of single faults.
const FaultCount = 13

// fault is a row of the table of faults: all that is to be said of one. Each fault is a file with its row, and with what it
// does.
type fault struct {
	name, help string
	find       func(w *World, add func(Target))      // where it could strike now
	strike     func(w *World, t Target, variant int) // what it does there
	victim     func(w *World, t Target) int          // the client that it strikes; nil: the target's
	ofUser     bool                                  // it strikes one user of a client
	then       Faults                                // what may strike what is done to recover from it, see [Faults.Then]
	unreal     string                                // why real servers cannot be made to suffer it at the same moment
}

// faultTable has the faults in the order of their bits. Wrap has no strike of its own: it is how an episode starts. The
// files fill it in their init, as strikes refer to it for the names in the trace.
var faultTable [FaultCount]fault

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
func (f Faults) Help() string { return faultTable[f.Index()].help }

// Then are the faults that a pattern has after a single one: those that strike what is done to recover from it.
func (f Faults) Then() Faults { return faultTable[f.Index()].then }

// Unconfirmable says why a single fault cannot be made to happen on real servers where it happens in a trace; "" if it
// can.
func (f Faults) Unconfirmable() string { return faultTable[f.Index()].unreal }

// Index is the place of a single fault in the table.
func (f Faults) Index() int { return bits.TrailingZeros16(uint16(f)) }

// Has reports whether all of other are in the set.
func (f Faults) Has(other Faults) bool { return f&other == other }

// String lists the names, or "none"; "all" stands for those that are in it, of which some that are rare may be left out.
func (f Faults) String() string {
	if f == NoFaults {
		return "none"
	}
	var names []string
	if f.Has(UsualFaults) {
		names = append(names, "all")
		for one := range (AllFaults &^ f).Each() {
			names = append(names, "-"+one.String())
		}
		f &^= AllFaults
	}
	for one := range f.Each() {
		names = append(names, faultTable[one.Index()].name)
	}
	return strings.Join(names, ",")
}

// ParseFaults reads a set of faults: names with commas between them, "all" or "none"; "all,-wrap" leaves one out.
func ParseFaults(list string) (Faults, error) { return faultset.Parse(list, AllFaults, ParseFault) }

// ParseFault finds a single fault by its name.
func ParseFault(name string) (Faults, error) {
	var known []string
	for one := range EveryFault.Each() {
		if one.String() == name {
			return one, nil
		}
		known = append(known, one.String())
	}
	return 0, fmt.Errorf("unknown fault %q: the faults are %s, and the sets all and none", name, strings.Join(known, ", "))
}

// Target is one place where a fault could strike now, in one of so many variants.
type Target struct {
	client   int
	user     int // or which of a process's clients
	variants int
}

// drawStrike asks which of the faults of the episode strikes now, 0 for none.
func drawStrike(w *World) (kind int) {
	if w.faultsDue == 0 || w.faults&^Wrap == 0 {
		return 0
	}
	w.observe(func(o Observer) { o.Chooses(w, LabelFault) })
	return w.choose(1+bits.OnesCount16(uint16(w.faults&^Wrap)), LabelFault)
}

// strike lets a fault strike. It returns false if there is nothing that it could strike.
func (w *World) strike(kind int) bool {
	f := w.NthFault(kind)
	index := f.Index()
	if len(targetsOf(w, f)) == 0 {
		return false
	}
	t := w.targets[w.choose(len(w.targets), LabelTarget)]
	variant := w.choose(t.variants, LabelVariant)
	w.step++
	w.faultsDue--
	w.strikes(index, 1)
	w.fold(uint64(index)<<40 | uint64(t.client)<<20 | uint64(t.user)<<8 | uint64(variant))
	w.happens(Event{Action: Action{Client: t.client, user: t.user}, Fault: index + 1, Variant: variant})
	faultTable[index].strike(w, t, variant)
	return true
}

// targetsOf lists where a fault could strike now, in memory that the next call uses again.
func targetsOf(w *World, f Faults) []Target {
	w.targets = w.targets[:0]
	faultTable[f.Index()].find(w, w.aimAt)
	return w.targets
}

// targeted returns the process and the client that a fault strikes.
func (w *World) targeted(t Target) (*process, client) {
	p := w.procs[t.client]
	return p, p.clients[t.user]
}

// strikes counts n strikes of a fault.
func (w *World) strikes(index, n int) {
	w.struck[index] += n
}

// NthFault returns the n-th (from 1) striking fault of the episode.
func (w *World) NthFault(n int) Faults {
	set := w.faults &^ Wrap
	for range n - 1 {
		set &= set - 1
	}
	return set & -set
}

// Striking yields the faults of the episode that strike, with their numbers from 1, by which they are chosen.
func (w *World) Striking() iter.Seq2[int, Faults] {
	return func(yield func(int, Faults) bool) {
		kind := 0
		for f := range (w.faults &^ Wrap).Each() {
			if kind++; !yield(kind, f) {
				return
			}
		}
	}
}

// CanStrike reports whether a fault could strike such a target now.
func (w *World) CanStrike(f Faults, such func(Target) bool) (can bool) {
	faultTable[f.Index()].find(w, func(t Target) { can = can || such(t) })
	return can
}

// alive calls f for every process that has neither crashed nor finished.
func (w *World) alive(f func(p *process)) {
	for _, p := range w.procs {
		if p.active() {
			f(p)
		}
	}
}

func (p *process) active() bool { return !p.crashed && !p.paused && p.unfinished() }
