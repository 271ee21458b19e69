// Package live runs workloads on real ZooKeeper servers.
//
// # The model
//
// [Run] runs rounds. A round is one episode of a [workload.Workload], as in simulation, on its own object below the
// run's root. Rounds run concurrently, each in a worker with its own sessions ([Session]); clients of some rounds may
// have their own processes ([Process]).
//
// A round has a torture phase and a liveness phase. Its faults are drawn from the seed before it begins. A
// fault of a client strikes at one request, on the client's link ([Link]) or at its process; faults of servers
// ([Servers]) strike at times. Then all faults are healed, every client has to reconnect, and the round is judged as in
// simulation, from its clients' histories. Properties that real servers do not reveal are not judged; the result lists
// them (sim.Result.NotJudged).
//
// The root is marked as the run's own ([Mark]). The run changes and removes nothing else, and stops when it has lost
// the root ([ErrRootLost]). Roots left by killed runs are found and removed later ([FindLeftRoots]).
package live
