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
// # Doors
//
// A process reaches the servers by a [Door], which is the workload's choice. In process it has a [fakezk.Conn], which
// imitates go-zookeeper and wakes one goroutine at a time. Over the wire it has go-zookeeper's own *zk.Conn, or dials
// by itself: connections are in memory, and the world sees frames. Steps, faults, sources, shrinking, stories and judges
// are the same, and a step is a handshake, a request that arrives, a message that is delivered, or a fault. What is
// different over the wire:
//
//   - Losses may also refuse a dial, leave a connection half open, reset it so that the client notices when it
//     writes, or lose what goes in one direction only.
//   - Pings are no steps and pass what is on its way, so that time alone breaks no connection that works. Which server
//     answers an address is the world's choice.
//   - Nothing can end the goroutines of a process that dies. They wait for answers until the episode is over, and get
//     errors then. What stays behind nevertheless is no leak ([Result.Left]).
//   - Users of a process share its connection, so a request is taken for the one's whom the world has just woken. If it
//     had woken both, as when their connection broke, that is not known, nor what would follow from it
//     ([World.Attributed], [Result.Partly]).
//   - Go-zookeeper has goroutines of its own. Equal choices may give another run, unless the program was built in exact
//     mode ([Exact]). A counterexample whose runs differed says so ([Divergence]).
//   - An episode takes nine times as long.
//
// # Use
//
// [Check] tests a workload in a Go test, [Property] in a fuzz test, and [Run] is what the command torture runs.
// Workloads of locks, queues and others are in package workload, which also has what it takes to write one's own.
//
// What the world can and cannot do to clients is in docs/FIDELITY.md.
package sim
