// Package live runs workloads on real ZooKeeper servers.
//
// # The model
//
// [Run] runs rounds. A round is one episode of a [workload.Workload], the same that is played in simulation, on an object of
// its own below the run's root. Several rounds are under way at the same time, each in a worker with sessions of its own
// ([Session]); clients of some rounds may have processes of their own ([Process]).
//
// A round is a torture phase, and then a liveness phase. Its faults are drawn from the seed before it begins ([DrawPlan]): each strikes at
// the request that it was drawn for, on the link of one client ([Link]), or at a process; faults of servers ([Servers])
// strike at times. Then all is healed, every client has to reach its servers again, and the round is judged as in
// simulation, from what its clients saw. What cannot be known of real servers is not judged, and the result says so
// (sim.Result.NotJudged). Unknown outcomes are settled by the clients' requests and by the tree, where these leave one
// possibility.
//
// The root is marked as the run's own ([Mark]). The run changes and removes nothing else, and stops when the root is not
// its own any more ([ErrRootLost]). What a killed run has left is found and removed later ([FindLeftRoots]).
//
// [PlayRound] has its caller play one [Round]: open its sessions, say when its users go on, and judge it. Package
// live/confirm makes counterexamples of the simulator happen in this way.
package live
