// Package server is a ZooKeeper for tests: the servers of a [fakezk.Ensemble] behind TCP ports, for any client in any
// language that speaks ZooKeeper's protocol.
//
// # The model
//
// A [Server] is an ensemble of one or more members in this process. Each member has its own address. A client reads the
// state that its member has applied; members may lag. Members answer the operations of ZooKeeper 3.8 as package fakezk
// does, pipelined requests included, and six four-letter words. Sessions expire by the machine's clock plus the time
// added by [Server.Advance].
//
// Tests inject faults by methods: [Server.Expire] expires a session, [Server.Cut] breaks a connection before or after
// a request is carried out, [Server.Kill] kills a member, [Server.Stop] makes it hang, [Server.LoseQuorum] stops all
// members from serving. None of them depends on chance or sleeping.
//
// State is in memory. docs/explanation/fidelity.md lists the differences from ZooKeeper.
package server
