// Package recipes has locks, queues, elections, barriers and their like over ZooKeeper, which keep their promises
// when connections break, sessions expire, replies get lost, servers lag and callers give up.
//
// # The model
//
// A recipe is an agreement between clients that never talk to each other: each creates znodes below a common
// directory, and all read the same meaning into them. Four facts of ZooKeeper decide whether such an agreement holds.
//
// A lost reply is not a failure. When the connection breaks, a request under way was carried out or it was not, and
// the error is the same. Repeating a create makes a second znode; repeating a delete answers "no such znode" for what
// the first one did. So every znode of this package has an identity of 128 bits in its name, chosen by its creator
// ([NewGUID]), and after a lost reply the creator looks for that name.
//
// Reads may be old. Each server answers reads from what it has applied so far, which may be any prefix of what is
// committed. Within one session a client never sees time go back, but what another client has been told, it need not
// see yet. [Conn.Sync] closes that gap only as long as the leader stays the same: one that has been deposed and has not
// noticed answers it, and reads as of then, for up to syncLimit ticks (ZOOKEEPER-1675). No write is answered there. So
// what this package calls a sync is a transaction that changes nothing, unless [WithSync] is given. Where it reads
// without, the comment says why an old answer does no harm.
//
// A session may end without notice, and the client opens a new one under the same [Conn]. All ephemeral znodes of the
// old session are then gone, or about to vanish from the server that answers, while calls go on to succeed. So an
// ephemeral znode counts as one's own only if its owner is the session of this moment.
//
// No client knows that it still holds a lock. Between the moment at which the servers end a session and the moment at
// which its client learns of it, another client may be granted what the first believes to hold: it suffices that the
// first process sleeps. No recipe can prevent that. What it can do is to number the grants: [Lock.Token] grows with
// each, and a resource that refuses a token smaller than one that it has seen is safe.
//
// # Faults
//
// A recipe keeps its promises under all of these, unless it says otherwise: connections break at any moment and
// replies are lost; servers lag; a leader is deposed without noticing; there is no majority of servers for a
// while; watches are lost with a connection, and their events come late; sessions expire, a waiter's as a
// holder's; processes stop for a while or die; callers give up; time passes; the recipe's directory is removed
// when it is empty, and created again; the sequence number of a directory wraps.
//
// # Errors
//
// Every operation takes a context and returns soon after that ends, with its error, even when a call to ZooKeeper
// hangs. Whatever it has to clean up then is cleaned up by a goroutine that ends when that is done, when the connection
// is closed, or when ZooKeeper does not answer ([ErrNoAnswer]); each method says so, and a recipe's Settle waits for it.
// While the context lives, connection losses are waited out: an operation that can find out what has happened does not
// report a loss, one that cannot returns an [*UnknownOutcomeError].
//
// [ErrClosed] is final. ErrNoAnswer is not: it ends what was lost ten times in a row, since a closed connection cannot
// be told from that. Errors of a recipe's own are named in its documentation. Anything else is ZooKeeper's refusal, for
// instance zk.ErrNoAuth, and will not go away by trying again.
//
// # Conventions
//
// Constructors take absolute paths and send nothing. A missing directory is created when it is needed and never
// removed. Values must not be copied. Nothing is shared between clients but znodes.
//
// go-zookeeper cannot remove watches: a waiter that gives up leaves its own in the client until the watched znode
// changes. Once the sequence number has wrapped, a list takes one request more for each member; to end that, remove
// the directory when it is empty.
package recipes
