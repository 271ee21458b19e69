// Package chaosproxy is a proxy that injects faults into the connections between ZooKeeper and any client, as
// networks and servers do.
//
// # What strikes
//
// Each request of a client may draw a fault ([strike.Odds]), a variant of it, and how long it lasts. The connect that
// begins a session may draw a lost answer ([strike.Hello]).
//
//	loss    before   the connection is cut instead of forwarding the request
//	        after    it is cut when the request has been answered, instead of forwarding the reply
//	        idle     it is cut at the next ping
//	        half     the client is cut off, and the server waits for it
//	        deaf     the server is cut off, and the client waits for it
//	        answer   as before, and when a server lets the client connect again, it is cut instead of the answer
//	hold    short    nothing passes either way, for less than the session timeout
//	        long     for more: the session expires, and its client cannot know
//	refuse           the connection is cut, and for a while so is every new one of the session
//	stall            the connection is cut, and for a while new ones of the session get no answer
//	watch   held     the next event of a watch comes late, and all that is behind it
//	        lost     the connection is cut instead of forwarding the next event
//	expiry  before   the session is ended at the servers instead of forwarding the request
//	        after    it is ended when the request has been answered, instead of forwarding the reply
//
// All of these can happen to a client of ZooKeeper without a proxy (ZooKeeper Programmer's Guide, "ZooKeeper
// Sessions" and "ZooKeeper Watches"), and a correct client survives them. Pings, what clients send by themselves when
// they connect again, and the end of a session draw nothing.
//
// # Equal clients, equal faults
//
// Package strike says what a request draws: the same for a client that repeats its requests.
package chaosproxy
