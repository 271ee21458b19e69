// Package sim runs clients of ZooKeeper in a simulated world, under faults, and judges what they saw.
//
// # The model
//
// A world has servers ([fakezk]) and some client processes. Each process has a connection with one session and one or
// more users, which are goroutines that run a script. Time is virtual. Nothing happens at the same moment as anything
// else: the world takes one step after the other, and between steps every goroutine of every process is blocked. In a
// step one request reaches the servers, one reply or event reaches a client, one caller gives up, one process crashes
// or comes back, or time passes.
//
// One [world.Source] of choices decides what each step is, which faults strike, and what users do. Equal choices give equal
// runs, byte for byte: a run is its list of [world.Choices]. One run is an episode, and a campaign ([Run]) runs many. If an
// episode breaks a property it is shrunk by taking choices away, and kept as a [Counterexample] that can be run again
// ([Replay]).
//
// An episode has three phases. In the first, faults strike ([world.Faults]). In the second, the liveness phase, faults are
// healed, dead sessions expire, and every user has to finish. In the third the [Workload] judges what the users saw,
// and what is left at the servers.
//
// # Processes that die
//
// Goroutines cannot be ended. Those of a process that dies wait for answers until the episode is over, and then get
// errors, as after Close. Nothing that such a process leaves is a leak; how many episodes have left goroutines that do
// not even end then is in [Result.Left].
//
// # Doors
//
// A process reaches the servers through a [world.Door], which the workload chooses. In process it has a [goclient.Conn], which
// imitates go-zookeeper and wakes one goroutine at a time. Over the wire it has go-zookeeper's own *zk.Conn, or dials
// by itself; connections are in memory, and the world sees frames. Steps, faults, sources, shrinking, stories and
// judges are the same. The differences over the wire are:
//
//   - The fault loss may also refuse a dial, leave a connection half open, reset it so that the client notices when it
//     writes, or lose what goes in one direction only.
//   - Pings are not steps, and overtake everything that is under way, so that time alone breaks no connection that
//     works. The world chooses which server answers an address.
//   - The users of a process share its connection. A request is attributed to the user that the world has just woken.
//     If it had to wake several, as when their connection broke, the request is not attributed, and what depends on
//     that is not judged ([world.World.Attributed], [Result.Partly]).
//   - Code that dials by itself may have several connections, which [world.User.ZKOption] tells apart. An operation goes by
//     the session of the one over which it last asked for an ephemeral znode; if it asked for none, for a change; else
//     for anything. Sessions that the code has closed are forgotten.
//   - Go-zookeeper has goroutines of its own. So equal choices may give different runs, unless the program was built in
//     exact mode ([Exact]). A counterexample whose runs differed says so ([replay.Divergence]).
//   - An episode takes nine times as long.
//
// # Use
//
// [Check] tests a workload in a Go test, [CheckBytes] in a fuzz test, and [Run] is what the command torture runs.
// Package workload has workloads for locks, queues and others, and what is needed to write your own. The world itself, and
// what the scripts of its users, its judges and its traces are made of, is package [world]. What campaigns that are run in
// parts add up is package [tally].
//
// What the world can and cannot do to clients is in docs/explanation/fidelity.md.
package sim
