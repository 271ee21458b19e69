// Package workload defines what clients do with a recipe in a test, and judges the results.
//
// # The model
//
// A [Kind] is a kind of recipe: a lock, a queue, an election. A [Workload] is a kind with one recipe under test. It
// plans episodes. An [Episode] has clients, each a process with one ZooKeeper session, which its users share; each user
// has a list of turns. A [User] begins an operation, calls the recipe, and ends the operation with its outcome. When all
// have finished, or nothing moves any more, the judge looks at the operations ([View]) and asks the [World]: when did a
// session end, which operation asked for which transaction, what was left behind? A simulated world knows everything,
// another one what shows outside. What a world cannot know is not judged there, and the run says so.
//
// # The end of a hold
//
// A hold ends when its user gives it back, its process dies, its session ends at the servers, or its user is told that
// it is over, because the channel Lost is closed. So a recipe may end a hold by itself: first Lost, then the znode.
// Whoever lets the next one in earlier has two that believe that they hold it, which breaks exclusion. Of a recipe that
// has IsOwner only, a user is told when it asks, and a hold is sure up to the last answer that it lasts.
//
// # Your own recipes and kinds
//
// To test your own lock, queue or election, pass its constructor to [Lock], [RWLock], [Semaphore], [Queue], and so on.
// An [Option], such as [Unfair] or [Beside], says what the recipe does not promise, or what it needs. If it is of no
// kind that is there, implement [Episode], and make a workload of it with [Own]. What users contend for is a [Role]: it
// has a user take it, use it as long as it believes to hold it ([Held]), and give it back, and the judge knows who held
// it, and when ([View.Holds]), whose example is a whole kind. examples/publisher is another one, and package cluster has
// kinds that are judged at rest ([Script.Rest]).
//
// # Code that cannot take an interface
//
// A recipe over recipes.Conn runs in every world. In simulation it is fast and exactly repeatable. Code that takes a
// concrete *zk.Conn, or that calls zk.Connect by itself, is tested unchanged: [Of] makes a workload of it that runs
// over the wire, where the simulator sees the frames of the unmodified go-zookeeper ([world.Door] lists the
// differences). [Workload.OverWire] runs a recipe over recipes.Conn in the same way.
//
// The judges are tested with recipes that are known to be broken, each with a fixed version: see package zoo.
package workload
