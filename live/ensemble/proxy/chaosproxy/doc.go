// Package chaosproxy is a proxy that injects faults into the connections between ZooKeeper and any client, as
// networks and servers do.
//
// Each request of a client may draw a fault, and the connect that begins a session the loss of its answer. Package
// [strike] says which, in which ways, and what becomes of each frame; here that is carried out. All of the faults can
// happen to a client of ZooKeeper without a proxy (ZooKeeper Programmer's Guide, "ZooKeeper Sessions" and "ZooKeeper
// Watches"), and a correct client survives them. Equal clients meet equal faults.
package chaosproxy
