package bound

import "strings"

// Reductions is a set of rules by which a search of all executions leaves out what cannot show anything new.
type Reductions uint8

// The reductions.
const (
	ReduceStates    Reductions = 1 << iota // a state is gone on from once
	ReducePlans                            // choices that plan equal episodes are one plan
	ReduceClients                          // plans that differ in the order of the clients are one plan
	ReduceServers                          // of servers that are equal one is connected to
	ReduceVariants                         // of variants of a fault that hold each other one strikes
	ReduceNewcomers                        // of equal clients that have not done anything one acts first

	AllReductions Reductions = 1<<iota - 1
)

// reductionTexts say of each reduction by which name it goes, and what it does.
var reductionTexts = [...]struct{ name, text string }{
	{"states", "a state that was seen before is not gone on from again; states are compared by a hash of 64 bits"},
	{"plans", "choices of the workload that plan equal episodes count as one"},
	{"clients", "of plans that differ in the order of their clients one is run: which of two clients has the smaller " +
		"number, session or identity is not exchanged"},
	{"servers", "of servers that are equal, with all that is committed and none of the episode's faults left for one " +
		"of them alone, a client connects to the first: names of servers, and the numbers of sessions by them, are not " +
		"exchanged"},
	{"variants", "a stall that may end at any moment may end late, and so may the time of a deposed leader: those that " +
		"end late only are not searched apart"},
	{"newcomers", "of clients with equal plans that are at the same server, have done nothing yet and were not struck, " +
		"one is the first to act or to be struck: who it is is not exchanged, neither by number, session and identity, nor in " +
		"the order in which clients go on once faults are healed"},
}

// Has reports whether all of other are in the set.
func (r Reductions) Has(other Reductions) bool { return r&other == other }

// Texts say what the reductions of the set do, each beginning with its name.
func (r Reductions) Texts() (texts []string) {
	for i, t := range reductionTexts {
		if r.Has(1 << i) {
			texts = append(texts, t.name+": "+t.text)
		}
	}
	return texts
}

// String lists the names, or "none".
func (r Reductions) String() string {
	var names []string
	for i, t := range reductionTexts {
		if r.Has(1 << i) {
			names = append(names, t.name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ",")
}
