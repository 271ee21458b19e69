package zkclient

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// clientPort is ZooKeeper's usual one, for addresses that name none.
const clientPort = "2181"

// ParseServers takes a connect string apart: addresses with commas between them, then perhaps a chroot, the path that
// all paths are to be taken relative to ("a:2181,b:2181/app"; ZooKeeper Programmer's Guide, "ZooKeeper Sessions"). An
// address without a port gets 2181; one of IPv6 stands in brackets if it has a port. The chroot is "" if there is
// none.
func ParseServers(servers string) (addresses []string, chroot string, err error) {
	hosts, chroot, err := cutChroot(strings.TrimSpace(servers))
	if err != nil {
		return nil, "", fmt.Errorf("zkclient: connect string %q: %w", servers, err)
	}
	for host := range strings.SplitSeq(hosts, ",") {
		address, err := parseAddress(strings.TrimSpace(host))
		if err != nil {
			return nil, "", fmt.Errorf("zkclient: connect string %q: %w", servers, err)
		}
		addresses = append(addresses, address)
	}
	return addresses, chroot, nil
}

func cutChroot(servers string) (hosts, chroot string, err error) {
	slash := strings.IndexByte(servers, '/')
	if slash < 0 {
		return servers, "", nil
	}
	hosts, chroot = servers[:slash], servers[slash:]
	if chroot == "/" {
		return hosts, "", nil
	}
	for name := range strings.SplitSeq(chroot[1:], "/") {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, ",:") {
			return "", "", fmt.Errorf("%q is no path for a chroot, which stands once, after all addresses, as in "+
				"a:2181,b:2181/app", chroot)
		}
	}
	return hosts, chroot, nil
}

func parseAddress(address string) (string, error) {
	if address == "" {
		return "", errors.New("an address is missing; write host:port,host:port,…")
	}
	host, port, err := splitAddress(address)
	if err != nil {
		return "", fmt.Errorf("address %q: %w; write host:port, or [host]:port for IPv6", address, err)
	}
	return net.JoinHostPort(host, port), nil
}

func splitAddress(address string) (host, port string, err error) {
	if host, ok := withoutPort(address); ok {
		return host, clientPort, nil
	}
	host, port, err = net.SplitHostPort(address)
	var wrong *net.AddrError
	switch {
	case errors.As(err, &wrong):
		return "", "", errors.New(wrong.Err)
	case err != nil:
		return "", "", err
	case host == "" || strings.ContainsAny(host, " \t"):
		return "", "", errors.New("no host name")
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", "", fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return host, port, nil
}

func withoutPort(address string) (host string, ok bool) {
	if inner, ok := strings.CutPrefix(address, "["); ok && strings.HasSuffix(inner, "]") {
		address = strings.TrimSuffix(inner, "]")
		return address, net.ParseIP(address) != nil
	}
	bare := !strings.ContainsAny(address, ":[] \t")
	return address, bare || net.ParseIP(address) != nil
}
