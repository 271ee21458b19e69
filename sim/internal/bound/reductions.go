package bound

// Reductions is a set of rules by which a search of all executions leaves out what cannot show anything new.
type Reductions uint16

// The reductions.
const (
	ReduceStates    Reductions = 1 << iota // a state is gone on from once
	ReducePlans                            // choices that plan equal episodes are one plan
	ReduceClients                          // plans that differ in the order of the clients are one plan
	ReduceServers                          // of servers that are equal one is connected to
	ReduceVariants                         // of variants of a fault that hold each other one strikes
	ReduceNewcomers                        // equal clients begin in the order of their servers, and one acts first
	ReduceRuns                             // what a step does is remembered, and not run again
	ReduceReturns                          // when something was given back is compared with calls and changes only
	ReduceOwn                              // when something is given back is not compared with what others do to znodes of their own
	ReduceEnds                             // ends of which a judge sees the same are judged once

	AllReductions Reductions = 1<<iota - 1
)

// Has reports whether all of other are in the set.
func (r Reductions) Has(other Reductions) bool { return r&other == other }
