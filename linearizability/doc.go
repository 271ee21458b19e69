// Package linearizability judges histories: from nothing but what clients saw, did the lock behave like a lock and
// the queue like a queue?
//
// # Histories
//
// An [Operation] is one call of a client: what it asked, what it was told, and the two stamps between which it ran.
// Stamps come from one clock that never goes back, read before the call and after the return, outside the operation.
// A [History] is the operations of one run, in any order. A [Recorder] takes a history down while clients run;
// [Write] and [Read] keep it in a file.
//
// A history is linearizable (Herlihy and Wing, "Linearizability: A Correctness Condition for Concurrent Objects",
// 1990) if every operation can be given one instant between its call and its return, such that the operations,
// carried out one at a time in the order of their instants on an ordinary lock or queue, give the results that the
// clients saw. Intervals are closed: an operation that returns at 5 and one that is called at 5 may take effect in
// either order.
//
// # Unknown outcomes
//
// A client whose connection broke does not know whether its request was carried out. Such an operation has the
// outcome [Unknown]: it may take effect at any time from its call on, even long after the client gave up, or never.
// Whatever return stamp it carries is therefore ignored. An outcome of [Fail] says that the operation surely had no
// effect; it is not judged.
//
// # Verdicts
//
// [Check] first checks what it has to assume of a history, such as that no value is offered twice ([Validate]). Most
// models then have a monitor: an algorithm that knows the object, is exact where it answers, and takes time that is
// nearly linear in the length of the history. The theorem that each rests on stands at the beginning of its file.
// What a monitor cannot decide is left to searches: along the frontier of what may have happened by each instant, and
// then by porcupine. They have a limit of time and of memory.
//
// An illegal history is cut down to a few operations that are illegal by themselves. They are judged once more as if
// nothing else had happened; where that is legal, more are reported. If porcupine does not reject them, the checkers
// contradict each other, and the verdict is undetermined. The rule that they break is named in the words of the field:
//
//	lock and election:
//	       exclusion    two clients held the lock at once
//	       fencing      a token was not greater than every token granted earlier
//	       release      a client released a lock that it did not hold
//	queue and priorityqueue:
//	       phantom      a value came out that nobody had put in, or not yet
//	       duplicate    a value came out twice
//	       false-empty  the queue was reported empty while it was not
//	       stale-peek   a peek saw a value that was not at the head
//	       order        a value overtook one that should have come out before it
//	       lost         a value that was surely offered was passed over and never came out
//	counter  counted-twice  an addition took effect more than once
//	       lost-update  an addition did not last
//	       stale-get    a get saw a number that the counter did not have then
//	       sum          a sum is not that of the additions before it
//	any    linearizability   none of the above could be shown in the time allowed
//
// The first four rules for queues are those of Henzinger, Sezgin and Vafeiadis, "Aspect-Oriented Linearizability
// Proofs", 2013. The name is for people: whether there is a violation does not depend on it.
//
// A [Stream] judges a history while it is recorded, [Measure] says what a legal one is worth, and [StaleReads] is for
// reads that may answer from the past.
//
// A verdict has three values. What could not be decided in time, and what rests on an assumption that does not hold,
// is [Undetermined], and is never to be read as a pass.
//
// Check starts goroutines and timers of the real clock: do not call it inside a testing/synctest bubble.
package linearizability
