// Package runner runs the units of a campaign in child processes, so that a recipe that freezes, panics or takes all
// memory costs a unit and not the worker.
//
// # The model
//
// A child is a program that is started as PROGRAM part --plan FILE --serve. It says that it is ready, and then answers
// questions, one at a time: lines of JSON on its standard input and output. A [Runner] keeps a child for each program
// that the plan's units need, starts it when the first of these comes, and another one in its place after its end,
// after some hundreds of units, and when it has kept much memory.
//
// What a child does wrong has a [Class]. Frozen, Panicked, OutOfMemory and Failed are the unit's own
// doing: it is to be tried again, and is unknown in the end. Killed and NoProgram say nothing about the unit.
//
// # What is enforced where
//
// A unit's time is limited everywhere. Memory is limited by the runtime of Go (GOMEMLIMIT) everywhere, and beyond that
// on Linux alone, where the resident memory of a child is looked at every 50 ms; that of processes
// that a recipe has started does not count. There also the kernel's OOM killer takes a child before the worker. Its
// doing is told from that of a person by the kernel's counter of such kills (oom_kill in /proc/vmstat), which is of
// the whole machine: whoever kills a child with SIGKILL while the kernel ends another process for its memory gets
// OutOfMemory.
//
// A child's end is the end of its process group. On Linux a child ends with the worker however that ends; so do all
// processes that it has started, wherever they have gone, if there is a shell: a guard of package afterlife finds them
// by a variable of their environment. Elsewhere a child ends when it sees that its standard input has ended.
package runner
