// Package workload has what clients do with recipes, and how that is judged.
//
// # The model
//
// A [Kind] is a kind of recipe: a lock, a queue, an election. A [Workload] is a kind with one recipe under test. It
// plans episodes: an [Episode] has some clients, each a process with one ZooKeeper session, and for each user of a
// session a list of turns. A [User] begins an operation, calls the recipe, and ends the operation with what came of
// it; that is all that users note. When all have finished, or nothing moves any more, the episode is judged from its
// operations ([View]), and from what the [World] can tell beside them: when a session ended, which operation asked
// for which transaction, what was left.
//
// A world may know everything, as the simulation does (package sim), or only what is seen from outside (package
// live). A property that needs what a world does not know is not judged there; the run says which.
//
// # Recipes and kinds of one's own
//
// A recipe of one's own is tested as one of the kinds that are there: [Lock], [RWLock], [Semaphore], [Queue], and so
// on, make a workload of a constructor. What is none of them is a kind of one's own: an [Episode], which [Own] makes
// a workload of. The kinds of this package are episodes, too; helpers that they share, such as who held a lock and
// when, are not public. examples/publisher and examples/ratelimit are two kinds of one's own.
//
// # Code that cannot take an interface
//
// A recipe over recipes.Conn runs in every world, and in simulation it is fast and exactly repeatable. Code that has a
// concrete *zk.Conn, or that calls zk.Connect by itself, is tested as it is by a workload of [Of], over the wire: the
// simulator sees the frames of the unmodified go-zookeeper ([sim.Door] says what is different then). The option
// [OverWire] is for recipes over recipes.Conn that are to run so, too.
//
// # What a recipe promises
//
// A recipe may promise less than its kind, or need something: an [Option] says so, such as [Unfair] or [Beside]. What
// is waived is not judged, and a run says so.
//
// Recipes that are known to be broken, each with a twin that is mended, hold all this to account: see package zoo.
package workload
