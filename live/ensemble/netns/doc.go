// Package netns gives servers a network of their own, in which any link can be cut or made lossy.
//
// # The model
//
// A [Network] has hosts. Each is a network namespace of Linux (network_namespaces(7)): processes in it see a loopback
// interface and one with the host's address ([Network.Address]), and not the network of this machine. The second is a
// TUN device, which hands packets to this process instead of a wire; this process is the switch between the hosts.
// For each packet it looks up with which probability packets on that link are lost. So
//
//   - a link is directed: to cut a from b needs two links, to cut one way needs one;
//   - a cut link swallows packets: no side is told, and connections stay up until TCP or the program loses patience;
//   - faults add up: [Network.Lose] returns what undoes just that one.
//
// # What is left behind
//
// Nothing, however the process ends. A namespace has no name and no file: it lives as long as a thread or a process
// is in it or has it open, and its TUN device as long as this process. The network of the machine, its packet filters
// and the names that ip-netns(8) keeps are not touched.
//
// # What is needed
//
// Linux, /dev/net/tun, and the capabilities CAP_SYS_ADMIN and CAP_NET_ADMIN. Root has them, except in most
// containers; others get them from [Gain], in a user namespace. No tool is needed: no ip, nft or tc.
//
// # Why a switch in the process
//
// A bridge, veth devices and nftables could do the same. They need two netlink libraries or two tools that are not
// everywhere, can be set up in part, and keep state that is not visible from here. The price of this switch is some
// microseconds for each packet, and that the network stands still while this process does.
package netns
