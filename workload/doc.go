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
// # Holds that take time
//
// Who holds a lock, a permit, an office or a claim uses it at once in two of three turns, so that very many holds fit
// into an episode. In the third it runs errands between its uses: time passes, up to more than a session timeout; a
// counter is incremented, or an item offered, by this project's recipes over the same session; a second object of the
// recipe under test is taken and given back (always after the first, so that a correct recipe cannot deadlock). After
// each the recipe is asked whether the hold still lasts, and the token is used that came with the grant: so an expiry
// is learned within one hold, and tokens are used late. What the errands leave is beside the object, and is not
// judged, but the second object is: nobody else may have it, and its tokens grow. Errands that cannot be run where
// the recipe is are left out: a second object of recipes with static fields or znodes of their own ([Statics],
// [Beside], [SetUp]) and of recipes in processes of their own; other recipes where the session is not a recipes.Conn
// of go-zookeeper's.
//
// # Unusable for ever
//
// In a third of the episodes users do something more when all scripts are over and all faults healed, each what it
// can do alone: take and release, offer, add, open, join and leave. It may fail at first, as what had struck may be
// learned only now, but if it fails four times in more than a minute the property unusable is broken, whoever made
// the error: that some fault has struck at some time is no excuse. After an error that the recipe may fail with at
// any time ([Final]) the user makes another object, which has to work. Double barriers and transactions of two phases
// need others for whatever they do, and are not judged so.
//
// # What is known in calm
//
// When all faults are over, what is left is the recipe's own doing. What is free and waited for has to be taken within
// 45 s of the servers' time (idle): that is longer than a session timeout and the longest pause of a correct recipe
// together. Where the world does not know these moments, idle, unusable and false-lost are not judged, and a run
// says so.
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
// Recipes that are known to be broken, each with a twin that is fixed, hold all this to account: see package zoo.
package workload
