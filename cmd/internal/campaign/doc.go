// Package campaign runs a plan of many jobs on any number of machines, and reports what one machine would have found.
//
// # The model
//
// A [Plan] is a small file: which kinds, recipes, strategies and seeds are run, and how much of each. It stands for a
// list of [Job]s, each one campaign of package sim, and of [Unit]s, numbered from 0, each a piece of a job that takes
// seconds to minutes. What a unit gives is a [UnitResult]. Results come in any order, from any machine, and more than
// once: a [Sum] counts each unit once, and compares what is done twice. When all are there each job is concluded, once:
// what was found is minimised and explained. The [Report] is then what one machine would have reported, byte for byte.
// [Report.Verdict] is the only judge of it.
//
// # The machines
//
// JetStream of NATS alone remembers how far a campaign is (queue.go). A unit is a message of a work queue, until a worker
// acknowledges it; its result is a key of a bucket. The coordinator (lead.go) puts units into the queue, adds results to
// the sum, stores the sum, and then removes the results that are in it. A worker (work.go) takes a unit, has a child
// process run it (child.go), puts the result, and acknowledges. Whatever dies is started again: a unit that has neither
// a result nor a place in the sum is asked for again. An error, or a connection that was lost, begins the coordinator's
// session anew, from what is stored.
//
// A unit that gives no result, as its process froze or ended again and again, is unknown, and so is its job.
//
// From night to night failures are new, open or fixed (nights.go): counterexamples of those that are open are the first
// units of the next campaign.
package campaign
