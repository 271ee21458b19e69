package prove

import "github.com/zktorture/zktorture/sim/internal/bound"

// reductionTexts say of each reduction, in the order of the bits, by which name it goes, and what it does.
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
	{"newcomers", "clients with equal plans begin in the order of their servers, until a fault strikes, and of those that are at the " +
		"same server, have done nothing yet and were not struck, one is the first to act or to be struck: who it is is not " +
		"exchanged, neither by number, session and identity, nor in the order in which clients connect first, are told in one " +
		"step, and go on once faults are healed"},
	{"runs", "what a step of a client does to the servers, to what they have for it alone, and to it, is run once, and remembered " +
		"for all states in which these are equal, and so is what becomes of what they have for another client, by how the servers " +
		"change; these are compared by hashes of 64 bits, and one of eight runs compares all states that it comes to with what is " +
		"remembered"},
	{"returns", "which of two operations that overlap returned first is no part of a state if one of them gives something back, of " +
		"kinds whose judges do not ask for it"},
	{"own", "when an operation that gives something back is called, or returns, compared with when other clients make or remove " +
		"ephemeral znodes of their own, or give something back, is no part of a state, of kinds whose judges do not ask for it"},
	{"ends", "of executions that end in one state, whatever came before, one is run, and of those whose history and ends a judge cannot " +
		"tell apart one is judged, and one of 64 besides; they are compared by hashes of 64 bits"},
}

// Texts say what the reductions of the set do, each beginning with its name.
func Texts(r bound.Reductions) (texts []string) {
	for i, t := range reductionTexts {
		if r.Has(1 << i) {
			texts = append(texts, t.name+": "+t.text)
		}
	}
	return texts
}
