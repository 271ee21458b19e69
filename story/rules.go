package story

import "slices"

// Mechanism names a way in which recipes break.
type Mechanism string

// rule is what is known of a mechanism: how a run shows it, and what to do about it.
type rule struct {
	mechanism Mechanism
	breaks    []string                // properties; empty: any
	kinds     []string                // of recipes; empty: any. What is judged by a kind of one's own means what that kind says.
	shown     func(x evidence) *Cause // why, with the requests that show it; nil if the run does not show it
	help      string                  // what to do
	page      string                  // of the cookbook
}

// Groups of properties, and of kinds.
var (
	contended = []string{"lock", "rwlock", "semaphore", "election"}
	members   = []string{"membership", "registry", "doublebarrier", "ids", "shards"}
	queues    = []string{"queue", "priorityqueue", "lockingqueue"}

	overlaps = []string{"exclusion", "exclusion-in-session"}
	refusals = []string{"unexpected-error", "startup"}
	waits    = []string{"progress", "lost-wakeup", "deadlock", "stale-watch", "idle", "hang", "deaf", "diverged"}
	blocked  = []string{"orphan", "leak", "self-block", "progress", "lost-wakeup", "idle", "deadlock"}
	early    = []string{"early-enter", "early-leave", "early-wait"}
	unseen   = []string{"false-empty", "stale-peek", "stale-get", "stale-leader", "stale-watch", "backward", "missing", "ghost", "order", "snapshot"}
)

// rules are asked in their order, and the first that a run shows is why it broke. A rule asks for facts only, and speaks only
// if the run cannot show them otherwise: a wrong help is worse than none.
var rules = []rule{
	{"no-request", nil, builtIn, evidence.noRequest,
		"Let the recipe use the connection that it is given: it has sent no request", "index"},

	// Requests that are refused.
	{"own-exists", nil, nil, evidence.ownExists,
		"After a lost reply \"node exists\" may tell of your own znode: read whose it is (its data, or its owner, which is the session of now) before you take it for another's", "unknown-outcome"},
	{"own-conflict", nil, nil, evidence.ownConflict,
		"After a lost reply \"version conflict\" may tell of your own set: read, and look whether the value is what you wrote before you try again", "unknown-outcome"},
	{"no-such-name", nil, nil, evidence.noSuchName,
		"Keep the path that create returns, and ask for names as the list has them: the servers add ten digits, with their zeros", "order-by-string"},
	{"old-session", nil, nil, evidence.oldSession,
		"\"Node exists\" may tell of the znode of your old session, which ends with that: look whose it is, and delete it, or wait until it is gone, before you create your own", "zombie"},
	{"old-session", nil, nil, evidence.oldSessionRead,
		"A znode of your old session ends with that: compare its owner with the session of now before you take it for your own", "zombie"},
	{"one-name", slices.Concat(refusals, []string{"missing"}), members, evidence.oneName,
		"Two members have one name: put an identity of its own into the name of each", "one-process"},
	{"ephemeral-parent", refusals, nil, refusal(ephemeralParent),
		"Ephemeral znodes have no children: make the parent persistent", "check-then-act"},
	{"already-done", refusals, nil, refusal(alreadyDone),
		"The first try was carried out although its reply was lost: \"no node\" of the second delete means that it is done", "unknown-outcome"},
	{"no-parent", refusals, nil, refusal(noParent),
		"The parent is not there at first: create it, and take \"node exists\" for success", "check-then-act"},
	{"parent-gone", refusals, nil, refusal(parentGone),
		"An empty directory may be removed: when \"no node\" is answered make it again, and try again", "check-then-act"},
	{"with-session", []string{"missing", "stale-watch"}, []string{"registry", "membership"}, evidence.goneWithSession,
		"Ephemeral znodes end with their session: after an expiry make yours anew", "zombie"},
	{"exists", refusals, nil, refusal(existsAlready),
		"Another client was faster: take \"node exists\" for what it says, and go on with what is there", "check-then-act"},
	{"gone", refusals, nil, refusal(goneMeanwhile),
		"Another client has deleted it since you read of it: take \"no node\" for what it says, read again, and go on", "check-then-act"},
	{"conflict", refusals, nil, refusal(conflict),
		"Another client was faster: when the version does not match read again, and try again", "check-then-act"},
	{"not-there", refusals, nil, refusal(notThere),
		"It is not there at first: create it, or take \"no node\" for an empty value", "check-then-act"},
	{"disconnect", refusals, nil, evidence.disconnect,
		"A lost connection is no end of a call that waits: ask again, and set the watch again, when the connection is back", "lost-watch"},

	// Two hold it.
	{"memory", []string{"exclusion-in-session"}, contended, evidence.inMemory,
		"Users of one object share its memory: let nobody take what another user of it holds, as by a mutex that is held as long", "one-process"},
	{"from-memory", []string{"exclusion"}, contended, evidence.fromMemory,
		"Forget the hold in memory whenever it is lost, and also when giving it back fails: who answers from memory grants what another may have by now", "zombie"},
	{"foreign-delete", slices.Concat(overlaps, []string{"lost", "missing"}), builtIn, evidence.foreignDelete,
		"Delete only what is yours: look whose session owns it, or give each hold a name of its own that you keep only while you hold", "zombie"},
	{"inner-release", overlaps, contended, evidence.innerRelease,
		"Count how often it is held, and delete the znode with the last release alone", "one-process"},
	{"own-gone", slices.Concat(overlaps, early), slices.Concat(contended, []string{"doublebarrier"}), evidence.ownGone,
		"It is yours only while your own znode is there: after an expiry begin anew, and look for your own znode in the list that decides", "zombie"},
	{"taken", overlaps, append([]string{"ids"}, contended...), evidence.taken,
		"A znode that is there already is yours only if this hold has made it: put a random identity of each hold into its data, and compare that. A host and process, or a session, is not enough: others may have the same", "one-process"},
	{"adopted", overlaps, contended, evidence.adopted,
		"Take nobody else's znode for your own: put a random identity of each hold into its name. A session is not enough: locks of one connection share it, and before the first connection it is 0", "one-process"},
	{"event-grants", append([]string{"early-wait"}, overlaps...), append([]string{"barrier"}, contended...), evidence.eventGrants,
		"An event, or the end of a connection or session, grants nothing: read again after it, and go on only if that shows that it is your turn", "lost-wake-up"},
	{"list-first", overlaps, contended, evidence.listFirst,
		"Create first, then list, and hold only if your own znode is among the first in that list: between your list and your create others come", "check-then-act"},
	{"gone-grants", overlaps, contended, evidence.goneGrants,
		"That the one before you has gone grants nothing: read the list again, and hold only if you are the first in it", "lost-wake-up"},
	{"behind", overlaps, contended, evidence.grantBehind,
		"Call sync before the read that decides, or before you look for your own znode: a server may be behind", "stale-read"},
	{"wrapped-order", slices.Concat(overlaps, []string{"order"}), slices.Concat(contended, queues), evidence.wrappedOrder,
		"Sequence numbers wrap after 2147483647: compare them as signed 32-bit numbers, by their difference, and neither by size nor as strings", "order-by-string"},
	{"misread-order", append([]string{"order"}, overlaps...), contended, evidence.misreadOrder,
		"Only the smallest number is first: sort by the ten digits at the end of each name. What stands before them says nothing, and the servers sort no list", "order-by-string"},
	{"failed-grant", slices.Concat(overlaps, early), slices.Concat(contended, []string{"doublebarrier"}), evidence.failedGrant,
		"Go on only when your own znode is there: a request that failed grants nothing, so return its error, or try again", "unknown-outcome"},
	{"check-then-act", slices.Concat(overlaps, []string{"lost-update", "sum"}), builtIn, evidence.checkThenAct,
		"Between your read and your write another client wrote: create it, and let \"node exists\" decide, or set with the version that you have read", "check-then-act"},

	// Sessions that have ended.
	{"granted-late", []string{"belief"}, nil, evidence.grantedLate,
		"Before you take it for yours look whether the session that made the znode is still the one of now: it may have ended before its answer was read", "zombie"},
	{"not-told", []string{"belief"}, nil, evidence.notTold,
		"When the session expires tell the owner that it has lost, and stop what it does: close Lost() or cancel its context", "zombie"},
	{"late-write", []string{"zombie-write"}, nil, evidence.lateWrite,
		"Give each hold a token that grows (the czxid of its znode), send it with each write, and refuse smaller ones", "zombie"},
	{"no-expiry", []string{"false-lost"}, nil, evidence.noExpiry,
		"A lost connection is no expired session: only an expiry, or a znode that is gone, ends a hold", "zombie"},

	// What is left, or is in the way.
	{"behind-own", nil, nil, evidence.behindOwn,
		"Call sync before you look for your own znode: a server that is behind does not have it yet", "stale-read"},
	{"made-again", nil, nil, evidence.madeAgain,
		"A create whose reply is lost may have been carried out: put an identity into the name, and look for it (after sync) before you create again", "unknown-outcome"},
	{"lost-create", blocked, nil, evidence.lostCreate,
		"A create whose reply is lost may have been carried out: put an identity into the name, look for it (after sync), and adopt or delete it before you return the error", "unknown-outcome"},
	{"after-return", slices.Concat(blocked, []string{"ghost"}), nil, evidence.afterReturn,
		"Let nothing go on when the call has returned: stop its goroutines, and what its watches call, before it returns", "unknown-outcome"},
	{"persistent", blocked, nil, evidence.persistent,
		"Make it ephemeral: a persistent znode outlives a process that dies", "zombie"},
	{"lost-delete", blocked, nil, evidence.lostDelete,
		"A delete that failed has to be tried again until it is answered, also by \"no node\": keep the name until then, and use a context that has not ended", "unknown-outcome"},
	{"reconnect", []string{"self-block"}, nil, evidence.reconnect,
		"A reconnect keeps session and znodes: go on with the znode that you have, and make another only after an expiry", "unknown-outcome"},
	{"given-up", blocked, nil, evidence.givenUp,
		"Each way out of the call has to delete what it made, also after an error, and with a context that has not ended", "unknown-outcome"},
	{"two-made", blocked, nil, evidence.twoMade,
		"Give back all that the call has made: it made several znodes, and not all were deleted", "unknown-outcome"},
	{"other-deleted", blocked, nil, evidence.otherDeleted,
		"Delete the znode that you hold: after a retry or an expiry it is another than the first", "unknown-outcome"},
	{"not-deleted", blocked, nil, evidence.notDeleted,
		"Give it back by a delete, and return without an error only when that is answered: keep the name until then, whatever has happened to the connection", "unknown-outcome"},
	{"own-wait", waits, nil, evidence.ownWait,
		"Do not wait for your own znode: recognise it before you watch it, by its whole name (a list has names, create returns a path) or by an identity that you had before the create", "unknown-outcome"},

	// Events and watches.
	{"lost-read", waits, nil, evidence.lostRead,
		"After a lost connection ask again: the error of a read must wake who waits for what it would have shown", "lost-watch"},
	{"gone-before-watch", waits, nil, evidence.goneBeforeWatch,
		"It was gone before you watched it, and nothing will make it again: use GetW, which fails then, or read the list again when ExistsW finds nothing", "lost-wake-up"},
	{"wrong-watch", waits, nil, evidence.wrongWatch,
		"A watch of exists or get hears nothing of children: set it by ChildrenW", "lost-watch"},
	{"not-compared", []string{"stale-watch"}, []string{"cache"}, evidence.notTaken,
		"You have read it, and did not tell it: compare what you read by its czxid and mzxid, not by its version, which begins anew and wraps", "order-by-string"},
	{"event-missed", waits, nil, evidence.eventMissed,
		"The event has come, and this waiter did not get it: give each waiter a channel of its own, and let an event that comes before the wait count", "lost-wake-up"},
	{"watch-ended", waits, nil, evidence.watchEnded,
		"Watches and ephemeral znodes end with their session: after an expiry read again, set the watch again, and make your znode anew", "lost-watch"},
	{"watch-lost", waits, nil, evidence.watchLost,
		"A watch can end with its connection: read again, and set it again, whenever the connection comes back", "lost-watch"},
	{"own-gone", waits, nil, evidence.ownGoneWaits,
		"Your znode has gone with its session: make another, or return an error, when the list does not have it", "zombie"},
	{"wrapped-version", waits, nil, evidence.wrappedVersion,
		"Versions wrap after 2147483647: go by the one that you read last, and compare it for equality alone", "order-by-string"},
	{"no-watch", waits, nil, evidence.noWatch,
		"Set a watch by the read that decides (GetW, ChildrenW) before you wait: nothing wakes you otherwise", "lost-wake-up"},
	{"long-pause", []string{"idle"}, nil, evidence.longPause,
		"Wait for the event of a watch, or bound the pause between two tries: it was free, and nobody asked", "lost-wake-up"},
	{"left-watch", []string{"watch-leak"}, nil, evidence.leftWatch,
		"Use GetW in the place of ExistsW to watch a znode that has to be there: ExistsW on one that is missing leaves a watch until somebody makes it", "lost-watch"},
	{"left-watch", []string{"watch-leak"}, nil, evidence.leftWatchAgain,
		"Keep the channel of the watch that you have, and set another only when it has fired: each stays until then", "lost-watch"},
	{"watched-twice", []string{"callback"}, contended, evidence.watchedTwice,
		"Take back the watcher that you have, or keep it, before you register another: each of them tells what has happened", "lost-wake-up"},

	{"not-read-again", []string{"deaf", "diverged"}, nil, evidence.notReadAgain,
		"After each event read again and set the watch again, also when the read fails, and when the connection or the session has ended: else nothing tells of what comes later", "lost-watch"},

	// Barriers.
	{"count-fell", []string{"lost-wakeup", "progress"}, []string{"doublebarrier"}, evidence.countFell,
		"Let the last to come write that the barrier is open, and wait for that: a count may have fallen again before you read it", "mixed-rounds"},
	{"next-round", slices.Concat(early, []string{"lost-wakeup", "progress"}), []string{"doublebarrier"}, evidence.otherRound,
		"Count members by znodes of this round alone: name them after the round, or fix who is in it when it begins", "mixed-rounds"},
	{"stranger", early, []string{"doublebarrier", "barrier"}, evidence.stranger,
		"Count only what members have made: look at the names, and leave out whatever else is in the directory", "mixed-rounds"},

	// Values and items.
	{"deposed", unseen, builtIn, evidence.deposedRead,
		"A leader that has been deposed may still answer, sync too: let a write, such as a multi that checks, come before a read that must be new", "stale-read"},
	{"behind", unseen, builtIn, evidence.readBehind,
		"Call sync before the read: a server may be behind, and another client has already been told", "stale-read"},
	{"other-znode", []string{"duplicate", "lost", "phantom"}, queues, evidence.otherZnode,
		"A name may come again: put a random identity into it", "order-by-string"},
	{"missed-delete", []string{"duplicate", "once"}, queues, evidence.missedDelete,
		"Who deletes it has it: where the delete says \"no node\" another client has been faster, so go on to the next", "unknown-outcome"},
	{"lost-removal", []string{"lost"}, queues, evidence.lostRemoval,
		"A delete whose reply is lost may have been carried out: say with the error which item that was, or claim it first and delete it when the work is done", "unknown-outcome"},
	{"consumed", []string{"counted-twice", "duplicate", "once"}, builtIn, evidence.consumed,
		"Say that its outcome is unknown: it may have been carried out, and what it made be used already, so that looking for it finds nothing", "unknown-outcome"},
	{"done-twice", []string{"counted-twice", "duplicate", "once", "done-again"}, builtIn, evidence.doneTwice,
		"A write whose reply is lost may have been carried out: look for it by an identity of its own before you try again, or say that its outcome is unknown", "unknown-outcome"},
	{"not-made", []string{"lost", "false-empty", "missing"}, builtIn, evidence.notMade,
		"Return the error: it was told as done, and has never been carried out", "unknown-outcome"},
	{"gone-with-session", []string{"lost", "false-empty"}, queues, evidence.itemEphemeral,
		"Items have to outlive who offers them: make them persistent, not ephemeral", "zombie"},
	{"raced", []string{"false-empty"}, queues, evidence.raced,
		"When another client was faster read the list again: only an empty list says that the queue is empty", "check-then-act"},
	{"claim-first", []string{"duplicate"}, []string{"lockingqueue"}, evidence.claimFirst,
		"Delete the item first and then the claim, or both in one multi: an item without a claim is taken again", "unknown-outcome"},
	{"old-list", []string{"order"}, queues, evidence.oldList,
		"Read the list again for each item: one that you keep does not have what has come since", "stale-read"},
	{"priorities", []string{"order"}, []string{"priorityqueue"}, evidence.priorities,
		"Sort by the priority as a number, and what is equal by the sequence number: names compare as texts", "order-by-string"},
	{"late-reply", []string{"backward"}, []string{"cache"}, evidence.lateReply,
		"An answer may be read later than a newer one: tell only what has a greater mzxid than what you told before", "stale-read"},
	{"told-again", []string{"repeated"}, []string{"cache"}, evidence.toldAgain,
		"Compare what you read with what you told last, by its mzxid: being woken does not say that it has changed", "lost-wake-up"},
	{"never-again", []string{"range"}, []string{"ids"}, evidence.numberedOn,
		"The servers never give a sequence number again: take the smallest number that is free, by creating its name", "zombie"},

	// Objects and tries.
	{"kept-error", []string{"unusable"}, nil, evidence.keptError,
		"Forget the error of an earlier call: the object sends no request any more", "unknown-outcome"},
	{"try-waits", []string{"try-waits"}, nil, evidence.tryWaits,
		"A try asks once, deletes its znode and returns: nothing in it may wait for another client, neither for an inner lock", "unknown-outcome"},
}
