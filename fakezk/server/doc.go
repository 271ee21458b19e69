// Package server is a ZooKeeper for tests: the servers of a [fakezk.Ensemble] behind TCP ports, for any client in any
// language that speaks ZooKeeper's protocol.
//
// # The model
//
// A [Server] is a whole ensemble of one or more members in this process. Each member has an address of its own; a client
// that is connected to one reads what that member has applied, and another member may be behind it. Members answer the
// operations of ZooKeeper 3.8 as package fakezk says, pipelined requests included, and the four-letter words. Sessions
// expire by the clock, which is that of the machine plus what [Server.Advance] has added.
//
// A test makes bad things happen by methods: [Server.Expire] ends a session at the servers, of which its client learns
// later; [Server.Cut] breaks a connection, before or after a request is carried out; [Server.Kill] and [Server.Stop] take
// a member away, dead or hanging; [Server.LoseQuorum] all of them. None of it depends on luck or on sleeping.
//
// Everything is in memory. What is coarser than in ZooKeeper is said in docs/FIDELITY.md.
package server
