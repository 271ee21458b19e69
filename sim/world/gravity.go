package world

import "slices"

// grave are the properties by how much harm it does to break them, the gravest first: two that must not are somewhere at the
// same time; data is lost, wrong or written by who must not; somebody believes, or is told, what is not so; somebody does not
// get what it waits for; something is left behind. It is the one place that says so: what is told first, judged further or
// shown on top goes by [Gravity].
var grave = [][]string{
	{"exclusion", "exclusion-in-session", "early-enter", "early-leave", "early-wait"},
	{
		"panic", "lost", "lost-update", "lost-write", "false-lost", "counted-twice", "undeclared", "sum", "duplicate", "phantom", "once",
		"fencing", "zombie-write", "range", "missing", "ghost", "linearizability",
	},
	nil, // belief, and what a kind of one's own calls as it likes
	{
		"progress", "lost-wakeup", "self-block", "orphan", "deadlock", "unusable", "hang", "idle", "try-waits", "startup",
		"unexpected-error", "unowned", "deaf", "diverged", "silent-end", "spins",
	},
	{"herd", "leak", "watch-leak", "goroutine-leak"},
}

// Gravity says how much harm it does to break a property: the less the number, the more. It goes by the name alone, is the
// same for all kinds, and at least as grave for a cause as for what follows from it. Frequency breaks ties.
func Gravity(property string) int {
	for class, names := range grave {
		if slices.Contains(names, property) {
			return class
		}
	}
	return slices.IndexFunc(grave, func(names []string) bool { return names == nil })
}
