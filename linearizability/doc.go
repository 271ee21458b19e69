// Package linearizability judges histories: from nothing but what clients saw, did the lock behave like a lock and
// the queue like a queue?
//
// An [Operation] is one call of a client, with the stamps between which it ran. They come from one clock that never
// goes back, read before the call and after the return. A [History] is the operations of one run: package histories
// takes it down, and keeps it in files. It is linearizable (Herlihy and Wing, "Linearizability: A Correctness Condition
// for Concurrent Objects", 1990) if every operation can be given one instant between its call and its return, such that
// the operations, one at a time in the order of their instants, give the results that the clients saw. Intervals are
// closed: what returns at 5 and what is called at 5 may take effect in either order.
//
// A client whose connection broke does not know whether its request was carried out. Such an operation is [Unknown]:
// it may take effect at any time from its call on, even after the client gave up, or never. One that surely had no
// effect is [Fail], and is not judged.
//
// [Check] looks first whether a history is sound ([Model.Validate]). Then porcupine looks for an order of its operations;
// a model is a function that carries out one operation. Porcupine's search takes time that is exponential in the number
// of clients, so it has limits of time and steps. It gives up on queues of some hundred operations, so these have a judge
// of their own, which is exact where it answers and nearly linear. An illegal history is cut down to a few operations
// that show what is wrong. Whether there is a violation does not depend on the rule that is named, in words of the field:
//
//	exclusion      two clients held the lock at once       phantom      a value came out that was not in
//	fencing        a token not greater than all before     duplicate    a value came out twice
//	release        of a lock that was not held             false-empty  reported empty, and was not
//	counted-twice  an addition took effect twice           stale-peek   a value that was not at the head
//	lost-update    an addition did not last                order        a value overtook an earlier one
//	stale-get      a number that was not there then        lost         a later value came out, it never did
//	sum            not that of the additions before it     linearizability  none of these, in the time allowed
//
// Those of queues begin with the four of Henzinger, Sezgin and Vafeiadis, "Aspect-Oriented Linearizability Proofs",
// 2013. A verdict has three values: what rests on an assumption that does not hold, or could not be decided in time, is
// [Undetermined], and never a pass. Check starts goroutines and timers of the real clock: do not call it inside a
// testing/synctest bubble.
//
// histories.StaleReads is for reads that may answer from the past. Package operations says what the names of operations
// mean.
package linearizability
