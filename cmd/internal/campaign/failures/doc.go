// Package failures records the failures that campaigns find, and says from night to night what became of each.
//
// A failure is a property and the shape of the minimal story ([campaign.Identify]): probably one mistake, whichever
// recipes make it. A night is one campaign. The store is a folder to which files are added, and which are never changed:
//
//	counterexamples/SHA256.json       as torture replay reads it; the name is the digest of the content
//	nights/20260131T220000Z-….json    what one campaign ran and saw, and nothing of other nights
//
// So git or an object store can hold it, two machines can write to it at the same time, and two stores are merged by
// copying files. All else is computed from the nights, in the order of their times, which the caller gives ([Meta]). A
// file that is damaged, or not of this store, does not count, and is named ([Night.Problems]).
//
// Each failure has a state in each recipe in which it was ever seen: found by a job, or a counterexample was run again
// and broke. The first row that fits counts:
//
//	this night                                                     before        now
//	seen                                                           never seen    new
//	seen                                                           gone          come back
//	seen                                                           else          ongoing
//	not seen                                                       gone          gone
//	not seen, its counterexample no longer breaks, well searched   else          gone
//	not seen, its counterexample no longer breaks                  else          changed
//	not seen                                                       else          not seen
//
// Its counterexample is one from the last night that saw the failure. That it no longer breaks proves little: when a
// recipe changes, its choices change their meaning. So a search is needed, too, that should have seen the failure three
// times: the lowest share of episodes in which a strategy ever found it, times the episodes since. Or one of all
// executions that is complete, if such a search had found it. A job searches for a failure if it runs the same recipe
// with a strategy that has found it, has at least the faults, clients and operations of the job that did, is as exact
// and as close to the wire, judges the property with a verdict that is not unknown, and found no other failure of it.
//
// A failure of several recipes is gone if it is gone from all, and new if no recipe had it; new in one of them it is
// news ([Failure.News]). Those of the zoo's animals are expected and apart ([Failure.Like]), and gone after a search
// alone. [Store.Known] chooses the counterexamples that the next campaign runs first: a regression suite that grows by
// itself.
package failures
