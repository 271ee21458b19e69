// Package conformance holds the fake to the real server.
//
// Its testdata are transcripts: what clients call, and below each call, indented, what it
// returned and which watch events it led to. Every transcript is played twice, over the methods
// of go-zookeeper's *zk.Conn: with package fakezk in process, and with a real server that package
// ensemble starts. Both must print exactly what the file says. The files are written by the real
// server (go test ./fakezk/conformance -rewrite); so a transcript that the fake does not print is
// the fake's error, unless the file's comments say that ZooKeeper leaves the matter open. A
// random test beside them plays scripts of the same language, which nobody has written, on both; and TestWire sends both
// drawn frames and compares the bytes that come back.
//
// # The language
//
// One command a line; a line that begins with # is a comment; a word may be a Go string.
//
//	connect NAME [timeout=500ms] [events]  open a session; with events, what its event channel
//	                                       holds is shown, else only watch channels are
//	NAME create PATH DATA [MODE] [ACL]     Create; MODE is ephemeral, sequential,
//	                                       ephemeral-sequential, or a number
//	NAME container PATH DATA [ACL]         CreateContainer
//	NAME ttl PATH DATA TTL [sequential]    CreateTTL
//	NAME exists|get|children PATH [watch=LABEL]
//	NAME set PATH DATA VERSION             DATA is a Go string, null, or x*N: so many bytes
//	NAME delete PATH VERSION
//	NAME acl PATH                          GetACL
//	NAME setacl PATH VERSION ACL           ACL is acl=SCHEME:ID:PERMS,… with PERMS of cdrwa
//	NAME multi OP ; OP ; …                 OP is create, set, delete or check, as above
//	NAME sync PATH
//	NAME auth SCHEME DATA                  AddAuth
//	NAME close                             Close: the session ends
//	NAME cut                               the connection breaks and cannot be made again
//	NAME heal                              it can be made again, and is
//	NAME wait PATH                         until the znode is gone: time passes
//	NAME reconfig                          Reconfig
//
// Servers that are set up otherwise than by default are in a table by the name of the script.
//
// The scripts in testdata/raw go over the wire without go-zookeeper: requests that it has no method for, or would not
// send. Their commands are the like of these.
//
// # What is shown
//
// A watch event is shown below the command that caused it, by the label of its watch, in the
// order in which the watches were set, as different channels have no order. After it the channel
// must be closed; "still open" is shown if it is not. Lists of children and of ACLs are sorted,
// since ZooKeeper promises no order; so are the
// events of an event channel after close, heal and wait. A session is shown by its client's name. Times are not shown.
// Transaction numbers are: a standalone server counts them from 1, so that they tell which
// requests cost one. Of session events Connecting and Connected are left out: how many there are
// is a matter of luck. One command may not lead to more than six events of a client that shows them,
// since go-zookeeper's channel, and the fake's, drops the rest.
package conformance
