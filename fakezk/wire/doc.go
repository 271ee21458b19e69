// Package wire reads and writes the protocol that ZooKeeper's clients and servers speak over TCP.
//
// # The protocol
//
// Either side sends frames: four bytes of length, then the content ([ReadFrame], [AppendFrame]). The first frame of a
// connection is a [ConnectRequest], answered by a [ConnectResponse] with the session's identity and secret. All other
// frames begin with a header:
//
//	client to server   [RequestHeader]: a number (xid) and an [Op]; then the operation's request
//	server to client   [ReplyHeader]: the same number, a zxid and an error; then the operation's
//	                   reply, if there was no error
//
// Replies come in the order of the requests, so their numbers say what they answer. Negative numbers are not for
// operations of users: [XidPing], [XidAuth], [XidSetWatches], and [XidWatch], under which the server sends a
// [WatcherEvent].
//
// # Records
//
// Frames are encoded by the rules of Jute, ZooKeeper's own: big endian; a bool is a byte; a text, a buffer or a
// vector is a count of four bytes and its bytes or elements, and -1 stands for none. A [Record] is a struct whose
// fields are encoded in their order.
//
// Input is not trusted: a frame may not be longer than the reader allows, and no count may exceed what the bytes left
// can hold, so allocation is bounded by a small multiple of the frame. Malformed input is an [*Error]; nothing panics.
//
// The records are those of ZooKeeper 3.8 (zookeeper.jute), as far as clients use them.
package wire
