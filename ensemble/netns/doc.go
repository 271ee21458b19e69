// Package netns gives servers a network of their own, in which any link can be cut or made lossy.
//
// # The model
//
// A [Network] has a number of hosts. Each is a network namespace of Linux (network_namespaces(7)): processes
// started in it see a loopback interface, one more interface with the host's address ([Network.Address]), and
// nothing else; in particular not the network of this machine. Whatever a host sends to another passes this
// process: the interfaces are TUN devices, which hand packets to a program instead of a wire, and the
// program is the switch between them. For each packet it looks up with which probability packets from that
// host to that one are lost. So
//
//   - a link is directed: to cut a from b needs two links, to cut one way needs one;
//   - what is cut is swallowed, as a network swallows it: no side is told, connections stay up until TCP or
//     the program loses patience;
//   - faults add up: [Network.Lose] returns what undoes just that one.
//
// # What is left behind
//
// Nothing, however the process ends. A namespace has no name and no file: it lives as long as a thread or a
// process is in it or has it open, and its TUN device as long as this process. The network of the machine, its
// packet filters and the names that ip-netns(8) keeps are not touched.
//
// # What is needed
//
// Linux, /dev/net/tun, and the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN. Root has them, except in most
// containers; for others a program can call [Gain] first, which gets them in a user namespace. No
// tool is needed: no ip, nft or tc.
//
// # Why a switch in the process
//
// The kernel could do the same with a bridge, pairs of veth devices and a table of nftables. That needs two
// libraries of netlink or two tools that are not everywhere, has more that can be set up in part, and has
// state that is not visible from here. This switch is a hundred lines, and the loss of a packet is a branch in
// them. The price is some microseconds for each packet, and that the network stands still while this process does.
package netns
