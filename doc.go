// Package zktorture tests ZooKeeper recipes (locks, queues, elections, counters and their like)
// under faults: a reply that is lost after its request was applied, a session that expires while
// its owner sleeps, a watch event that comes late. This package is the overview.
//
// # The model
//
// A recipe is code that uses ZooKeeper. A workload is what clients do with it, and what it must
// keep: a lock excludes, a queue keeps its order. An episode runs the clients in a simulated world
// with a ZooKeeper of its own; every choice in it (who goes on, which fault strikes) is drawn from
// a seed, so an episode can be run again, step by step. What the clients saw is judged. A run that
// breaks a property is minimised, and told as a story.
//
//	recipes          correct recipes for production
//	workload         kinds of recipes: what clients do, and what is judged
//	sim              runs a workload in simulated worlds: Check in a test, Run in a program
//	linearizability  judges histories, recorded by whatever means
//	fakezk           ZooKeeper as a state machine; fakezk/server serves it over TCP
//	story            tells a violation, as text and as a page
//	live             the same workloads on real servers, with faults of networks and processes
//	live/zkclient    connects go-zookeeper so that sessions survive faults
//	zoo              recipes with known bugs, which have to be found
//
// The command torture is in the module github.com/zktorture/zktorture/cmd; its package command makes such commands with
// kinds and recipes of your own.
//
// # First steps
//
// A test of a lock of your own:
//
//	func TestLock(t *testing.T) {
//		sim.Check(t, workload.Lock(func(conn recipes.Conn, path string) workload.Locker {
//			return mylock.New(conn, path)
//		}))
//	}
//
// It prints the shortest run that breaks what a lock promises, if it finds one, and a command that
// runs it again. [The tutorial] goes on from here.
//
// [The tutorial]: https://github.com/zktorture/zktorture/blob/main/docs/tutorial/index.md
package zktorture
