// Package worker runs recipes in processes of their own, in whatever language they are written.
//
// # What a worker is
//
// A worker is a program that serves a recipe. One process is one client: it has one ZooKeeper session,
// and one or several users who share it. It is told on its standard input, a line for each command, what
// its users do, and answers on its standard output, a line for each answer; docs/workers.md has the
// protocol, with a transcript. What it writes to its standard error is for people.
//
// A process is needed where a fault strikes a process. A client that shares one with others cannot be
// stopped as a long garbage collection stops it (SIGSTOP), or die (SIGKILL), without them. And it is how
// recipes come under torture that are not written in Go.
//
// # The runner's side
//
// [Start] starts a worker and returns a [Client], which is a [workload.Remote]: the scripts of a workload
// use it in the place of a connection. [Client.Pause], [Client.Resume] and [Client.Kill] are the faults.
//
// A Client outlives its processes, which are numbered from 1: its lives. When a process has died, asked or
// unasked, what it had under way is of unknown outcome, what it held is lost, when its session ends is not
// known, and the next call starts another one. Nothing is started again that dies over and over without
// an answer in between.
//
// A line that is not in the protocol is no behaviour of a recipe's that could be judged. It ends the
// Client for good, and [Config.Fail] is told, so that the run can be ended as one that could not be done.
//
// # What may not be assumed
//
// That an answer says what is so: it says what was so when it was written. A process may sleep between any
// two instructions, for longer than its session lasts. That is why each answer says in which session the
// operation took place, from its beginning to its end, or that this is not known.
//
// # The worker's side
//
// [Serve] answers commands by what a [Host] can do. [ServeRecipe] serves this project's own recipes and
// the published ones, with go-zookeeper; the command does that as "torture worker".
//
// # What is promised about processes
//
// A worker leads a process group, which gets the signals, so that a command of several processes stops and
// dies as one. On Linux no worker outlives the process that started it, not even when that one is killed
// with SIGKILL: the kernel kills the worker then, and a guard, a shell that waits for the end of this process, whatever
// the worker has started, by a variable in the environment. What a worker has left in its group when it ends is killed at
// once. On other systems it sees the end of its standard input.
package worker
