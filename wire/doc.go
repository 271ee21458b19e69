// Package wire reads and writes the protocol that ZooKeeper's clients and servers speak over TCP.
//
// # The protocol
//
// Either side sends frames: four bytes of length, then so many bytes ([ReadFrame], [AppendFrame]). The first frame of
// a connection is a [ConnectRequest], answered by a [ConnectResponse], in which the session's identity and secret go
// to the client. All other frames begin with a header:
//
//	client to server   [RequestHeader]: a number (xid) and an [Op]; then the operation's request
//	server to client   [ReplyHeader]: the same number, a zxid and an error; then the operation's
//	                   reply, if there was no error
//
// Replies come in the order of the requests, so whoever listens knows by the numbers what a reply is to. Numbers
// below zero are for what is no operation of a user's: [XidPing], [XidAuth], [XidSetWatches], and [XidWatch], under
// which the server tells of a [WatcherEvent] that nobody asked for just then.
//
// # Records
//
// What is in a frame is written by the rules of Jute, ZooKeeper's own: big endian; a bool is a byte; a text, a buffer
// or a vector is a count of four bytes and so many bytes or elements, and -1 stands for none. A [Record] says once,
// in order, what its fields are, and that serves both directions.
//
// Nothing that is read is trusted: a frame may not be longer than the reader allows, and no count is believed that is
// more than the bytes left can hold, so what a frame makes this package allocate is bounded by a small multiple of
// the frame. What is malformed is an [*Error]; nothing panics.
//
// The records are those of ZooKeeper 3.8 (zookeeper.jute), as far as clients use them.
package wire
