// Package fakezk is a deterministic ZooKeeper.
//
// Its heart, the [Ensemble], is a pure state machine: requests, broken connections and the passing of time go in;
// replies, watch events and closed connections come out. It has no goroutine, no clock and no randomness, and nothing
// in it depends on the order of a map, so equal inputs give equal outputs, byte for byte. On top of it stands package
// goclient: an in-memory ZooKeeper for unit tests, and connections that have the methods of go-zookeeper's *zk.Conn.
//
// # The model
//
// Three facts about ZooKeeper explain most bugs of recipes, and the package is built around them.
//
// A connection is two streams. Requests go to one server in order, and come back as replies in order, with watch
// events between them. Nothing is reordered within a stream, and a watch event always comes before the reply that
// would reveal the change. When the connection breaks, both streams end: a request may have been lost before it was
// carried out, or its reply afterwards, and the client cannot tell which. The watches go with the connection.
//
// A server answers reads from a prefix. There is one log of committed transactions, each with its zxid, and each
// server has applied a prefix of it. A write goes through the leader and is answered once the client's own server has
// applied it, so a session reads its own writes; but a read may be stale by any number of other sessions'
// transactions, and a watch fires when the client's own server applies the change, not when it is committed. sync
// waits for the server to catch up. A server that is behind what a client has seen refuses its connection, so that a
// session's view never goes backwards.
//
// A session expires in three moments. The leader decides, and the ephemeral nodes go in a transaction of the log.
// Each server applies that transaction in its own time; then watches of the deleted nodes fire there, and the
// connection that the session may still have to that server is closed. Last, the client learns, when it reaches a
// server and is refused: perhaps much later, perhaps never. Others may act between any two of these. Until the second
// moment the expired session still reads; until the third it believes that it holds its locks.
//
// # Fidelity
//
// Behaviour follows Apache ZooKeeper 3.8.0 as Debian 12 ships it. Where ZooKeeper
// leaves an order open (child lists, the ephemerals of an expired session), the order is a hash of the name and of
// Config.Order: arbitrary, but stable. Requests are carried out one at a time: the effects that only several requests
// in ZooKeeper's pipeline can have on each other are not reproduced. docs/explanation/fidelity.md says what is left out.
package fakezk
