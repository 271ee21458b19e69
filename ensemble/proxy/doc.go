// Package proxy stands between ZooKeeper's clients and servers, and hurts their connections.
//
// # The model
//
// A [Proxy] listens on an address. For each connection that it accepts it opens one to a server, and
// forwards frames both ways, in order. It reads what it forwards (package wire), so that what happens
// can depend on what a frame is: the request to create some znode, the reply to it, the event of a watch.
//
// What may happen to a connection is what may happen to one of TCP:
//
//	cut      both ends are reset, at once; what was on the way is lost. The cut of one side only
//	         leaves the other end in the belief that it is connected (half-open)
//	hold     what one side sends stays on the way until it is released, in order, or lost with the
//	         connection. A network that swallows packets looks like this from outside
//	delay    everything is so much later
//	refuse   nobody can connect
//	stall    whoever connects waits in vain for the first answer
//
// A single frame is never lost while later ones arrive, unless a [Director] asks for just that with
// [Discard]: TCP does not do so.
//
// # Before and after
//
// What a cut means to a client with a request under way depends on the server: the request may have
// been applied or not. A Director chooses: [CutBefore] cuts instead of forwarding the request, [CutAfter] cuts
// when the server has answered, instead of forwarding the reply.
//
// # Sessions
//
// The proxy reads each session's identity and secret from the handshake. With these [Expire] has the
// session closed by way of another server, which is what its client sees of an expiry: ZooKeeper's
// Programmer's Guide, "ZooKeeper Sessions", describes this as the way to test it.
package proxy
