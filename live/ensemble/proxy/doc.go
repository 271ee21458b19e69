// Package proxy stands between ZooKeeper's clients and servers, and injects faults into their connections.
//
// # The model
//
// A [Proxy] listens on an address, opens a connection to a server for each that it accepts, and forwards frames both
// ways, in order. It reads what it forwards (package wire), so that a [Director] can decide by what a frame is: the
// request to create some znode, its reply, the event of a watch.
//
// A connection can suffer what TCP connections suffer:
//
//	cut      both ends are reset, and what is on the way is lost. If one end only is cut off the other
//	         believes that it is connected (half-open)
//	hold     what one side sends waits until it is released, in order, or lost with the connection, as in
//	         a network that swallows packets
//
// A single frame is never lost while later ones arrive, because TCP loses none, unless a Director asks for it with
// [Discard].
//
// # Before and after
//
// What a cut means to a client with a request under way depends on whether the server has applied it. A Director
// chooses: [CutBefore] cuts instead of forwarding the request, [CutAfter] when the server has answered, instead of
// forwarding the reply.
//
// # Sessions
//
// The proxy reads each session's identity and secret from the handshake. With these [Expire] closes the session by
// way of another server, which its client sees as an expiry: the way to test expiries in ZooKeeper's Programmer's
// Guide, "ZooKeeper Sessions".
package proxy
