// Package sim runs clients of ZooKeeper in a simulated world, through bad days, and says what they saw.
//
// # The model
//
// A world has servers ([fakezk]) and some client processes. Each process has a connection with one session and one or
// more users, which are goroutines that run a script. Time is the world's. Nothing happens at the same moment as
// anything else: the world takes one step after the other, and between steps every goroutine of every process is
// blocked. A step lets one request reach the servers, one reply or event reach a client, one caller give up, one
// process crash or come back, or time pass.
//
// What a step is, which fault strikes, and what users try to do is drawn from one [Source] of choices. Equal choices
// give equal runs, byte for byte: a run is its list of [Choices]. A campaign ([Run]) draws many; an episode that
// breaks a property is shrunk by taking choices away, and kept as a [Counterexample] that can be run again
// ([Replay]).
//
// An episode has three phases. In the first, faults strike ([Faults]). In the second, the liveness phase, faults are
// healed, dead sessions expire, and everybody has to finish. In the third the [Workload] judges: from what the users
// saw, and from what is left at the servers.
//
// # Use
//
// [Check] tests a workload in a Go test, [Property] in a fuzz test, and [Run] is what the command torture runs.
// Workloads of locks, queues and others are in package workload, which also has what it takes to write one's own.
//
// What the world can and cannot do to clients is in docs/FIDELITY.md.
package sim
