// Package cluster has recipes for what the processes of a cluster tell each other of themselves: which instances of a
// service there are ([Registry]), and what a value is by now ([Cache]); and for what they share out: numbers ([IDs]) and
// shards ([Shards]).
//
// # The model
//
// What a recipe of package recipes gives its user it takes back when the session has ended: a lock that was lost stays
// lost, and so is a number or a share. Registry and Cache are for what is to be true as long as the process lives, whatever
// becomes of its sessions: an instance is registered again, a value is watched again. So each has something that goes on by
// itself, or is asked again and again, and each says how that ends.
//
// What they tell is ordered by the transactions of the servers, and a change is known by its transaction: versions and
// names begin anew when a znode is removed and made again.
package cluster
