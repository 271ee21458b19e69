// Package worker runs recipes in processes of their own, in any language.
//
// # What a worker is
//
// A worker is a program that serves a recipe. One process is one client: one ZooKeeper session, shared by one or
// several users. It reads what its users do from its standard input, a line for each command, and writes answers to
// its standard output, a line for each; docs/workers.md has the protocol, with a transcript. Its standard error is
// for people.
//
// A process is needed where a fault strikes a process: a client that shares one with others cannot be stopped as a
// long garbage collection stops it (SIGSTOP), or die (SIGKILL), without them. And recipes in other languages than Go
// need one.
//
// # The runner's side
//
// [Start] starts a worker and returns a [Client], which is a [Remote]: a client whose recipe another process serves.
// The scripts of a workload use it through a connection that stands for it ([ConnOf]), and what is judged is the same
// ([Find], [InProcesses]). What differs: the requests of another process are not seen here, so unknown outcomes stay
// unknown; and a process may die, and the one that takes its place knows nothing of what the first one held.
// [Client.Pause], [Client.Resume] and [Client.Kill] are the faults.
//
// A Client outlives its processes, its incarnations, which are numbered from 1. When a process has died, what it had
// under way is of unknown outcome, what it held is lost, the end of its session is not known, and the next call
// starts another. A worker that dies over and over without an answer in between is not started again.
//
// A line outside of the protocol says nothing about a recipe. It ends the Client, and [Config.Fail] is called, so
// that the run can end as one that could not be done.
//
// # What may not be assumed
//
// An answer is true when it is written, not when it is read: a process may pause between any two instructions, for
// longer than its session lasts. So each answer has the session in which the whole operation took place, or says that
// this is not known.
//
// # The worker's side
//
// [Serve] answers commands by what a [Host] can do. [ServeRecipe] serves this project's own recipes and the published
// ones, with go-zookeeper; the command does that as "torture worker".
//
// # What is promised about processes
//
// A worker leads a process group, which gets the signals, so that a command of several processes stops and dies as
// one. What is left in the group when the worker ends is killed at once. On Linux no worker outlives the process that
// started it, even if that is killed with SIGKILL: the kernel kills the worker. What it has started, and a worker on
// other systems, sees the end of its standard input.
package worker
