// Package workload defines what clients do with a recipe in a test, and judges what came of it.
//
// # The model
//
// A [Kind] is a kind of recipe: a lock, a queue, an election. A [Workload] is a kind with one recipe under test. It
// plans episodes. An [Episode] has some clients, each a process with one ZooKeeper session; each session has one or
// more users, and each user has a list of turns. A [User] begins an operation, calls the recipe, and ends the
// operation with its outcome. When all users have finished, or nothing moves any more, the episode is judged. The
// judge uses the operations ([View]) and what the [World] knows beside them: when a session ended, which operation
// asked for which transaction, what was left behind.
//
// A world may know everything, as the simulation does (package sim), or only what is seen from outside (package
// live). If a world does not know what a property needs, the property is not judged there, and the run says so.
//
// # Holds that take time
//
// A user that holds a lock, a permit, the leadership or a claim uses it at once in two of three turns, so that many
// holds fit into an episode. In the third it does other things between its uses of the hold:
//
//   - time passes, up to more than a session timeout;
//   - a counter is incremented, or an item offered, by this project's recipes over the same session;
//   - a second object of the recipe under test is taken and given back. It is always taken after the first, so that a
//     correct recipe cannot deadlock.
//
// After each of these the user asks the recipe whether the hold still lasts, and uses the token of the grant. So
// expiries are learned during a hold, and tokens are used late. The counter and the items are not judged. The second
// object is: nobody else may hold it, and its tokens grow.
//
// There is no second object for recipes with static fields or znodes of their own ([Statics], [Beside], [SetUp]) and
// for recipes in processes of their own. This project's recipes are left out if the session is not a
// recipes.Conn of go-zookeeper's.
//
// # The end of a hold
//
// A hold ends when its user gives it back, when its process dies, when its session ends at the servers, or when its
// user is told that it is over: when the channel Lost is closed. So a recipe may end a hold by itself, as a leader with
// a term does. Whoever lets the next one in before its user is told has two that believe that they hold it, which
// breaks exclusion: first Lost, then the znode. Of a recipe that has IsOwner only, a user is told when it asks; such a
// hold is sure up to the last answer that it lasts, and users ask when they give back, as they begin to. A world that
// does not see Lost close looks at it whenever an operation begins or ends, and a hold is sure as long as it was open.
//
// A recipe ends a hold by itself if it sends a request in the step in which it closes Lost, or a deletion while no
// operation is under way. Then what it tells is no false loss (property false-lost).
//
// # Orphans
//
// An ephemeral znode whose operation is over and whose session lives is an orphan if an operation waits behind it, or
// if it is left at the end and is none that its client keeps. A client keeps znodes, such as a note that it lives, of a
// sort of which no client ever asks for the removal of one of its own, and it has no more of them than one for each
// user, each operation that failed and each fault. A sort is a directory, and a name but for numbers and identities.
//
// # Unusable for ever
//
// In a third of the episodes each user does one more operation when all scripts are over and all faults are healed. It
// is one that a user can do alone: take and release, offer, add, open, join and leave. It may fail at first, because a
// client may learn only now of a fault that struck earlier. If it fails four times in more than a minute, the property
// unusable is broken, whatever the error. After an error that the recipe may return at any time ([Final]) the user
// makes a new object, which has to work. Double barriers and two-phase transactions are not judged in this way,
// because a user can do nothing with them alone.
//
// # After the faults
//
// When all faults are over, what goes wrong is the recipe's own doing. If something is free and a client waits for it,
// it must be taken within 45 s of the servers' time (property idle). That is longer than a session timeout and the
// longest pause of a correct recipe together. If the world does not know these moments, idle, unusable and false-lost
// are not judged, and the run says so.
//
// # Your own recipes and kinds
//
// To test your own lock, queue or election, pass its constructor to [Lock], [RWLock], [Semaphore], [Queue], and so on.
// If your recipe is of no kind that is there, write a kind: implement [Episode], and make a workload of it with [Own].
// The kinds of this package are episodes, too, but the helpers that they share, such as who held a lock and when, are
// not public. examples/publisher and examples/ratelimit are two such kinds.
//
// # Code that cannot take an interface
//
// A recipe over recipes.Conn runs in every world. In simulation it is fast and exactly repeatable. Code that takes a
// concrete *zk.Conn, or that calls zk.Connect by itself, is tested unchanged: [Of] makes a workload of it that runs
// over the wire, where the simulator sees the frames of the unmodified go-zookeeper ([sim.Door] lists the
// differences). The option [OverWire] runs a recipe over recipes.Conn in the same way.
//
// # What a recipe promises
//
// If a recipe promises less than its kind, or needs something, pass an [Option], such as [Unfair] or [Beside]. What is
// waived is not judged, and the run says so.
//
// The judges are tested with recipes that are known to be broken, each with a fixed twin: see package zoo.
package workload
