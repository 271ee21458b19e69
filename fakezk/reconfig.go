package fakezk

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

const configPath = "/zookeeper/config"

// member is a server as the configuration names it (QuorumPeer.QuorumServer).
type member struct {
	id             int64
	host           string
	peer, election int // ports
	observer       bool
	client         string // host:port; "": not said
}

func (m *member) String() string {
	role := "participant"
	if m.observer {
		role = "observer"
	}
	text := fmt.Sprintf("server.%d=%s:%d:%d:%s", m.id, delimited(m.host), m.peer, m.election, role)
	if m.client != "" {
		text += ";" + m.client
	}
	return text
}

func delimited(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// membership is what /zookeeper/config holds: the members by id, and the transaction that made them the members
// (QuorumMaj.toString).
type membership struct {
	members []member
	version int64
}

func (m membership) text() []byte {
	if len(m.members) == 0 {
		return []byte{} // a server alone
	}
	var b []byte
	for i := range m.members {
		b = append(append(b, m.members[i].String()...), '\n')
	}
	return fmt.Appendf(b, "version=%x", uint64(m.version))
}

// membershipIn is what text has returned.
func membershipIn(text []byte) membership {
	m, _ := parseMembership(string(text))
	_, version, _ := strings.Cut(string(text), "\nversion=")
	n, _ := strconv.ParseUint(version, 16, 64)
	m.version = int64(n)
	return m
}

func (m *membership) remove(id int64) {
	m.members = slices.DeleteFunc(m.members, func(x member) bool { return x.id == id })
}

func (m *membership) add(x member) {
	m.remove(x.id)
	m.members = append(m.members, x)
	slices.SortFunc(m.members, func(a, b member) int { return cmp.Compare(a.id, b.id) })
}

func (m *membership) voters() (n int) {
	for i := range m.members {
		if !m.members[i].observer {
			n++
		}
	}
	return n
}

// initialMembers are Config.Members; those that cannot be read are left out.
func initialMembers(cfg Config) (m membership) {
	for _, line := range cfg.Members {
		key, address, _ := strings.Cut(line, "=")
		if x, code := parseMember(key, address); code == wire.CodeOK {
			m.add(x)
		}
	}
	return m
}

// madeUpMembers are the members of an ensemble that has not been told its addresses.
func madeUpMembers(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("server.%d=127.0.0.1:%d:%d;127.0.0.1:%d", i+1, 2888+i, 3888+i, 2181+i))
	}
	return lines
}

// reconfig answers with the new configuration; as every failed write, a refused one has a zxid.
func (e *Ensemble) reconfig(now int64, c *connection, r *Request, reply *Response) {
	next, code := e.proposer.prepareReconfig(c, r)
	t := transaction{time: now, session: c.session.id}
	if reply.Err = code; code != wire.CodeOK {
		e.commit(t, nil)
		return
	}
	next.version = e.Zxid() + 1
	e.proposer.members = next
	e.commitOne(t, edit{op: wire.OpReconfig, path: configPath, data: next.text()})
	reply.Data, reply.Stat = next.text(), e.cluster.leader().nodes[configPath].stat()
}

// prepareReconfig makes the checks in the order of PrepRequestProcessor.pRequest2Txn, case reconfig.
func (p *proposer) prepareReconfig(c *connection, r *Request) (next membership, code wire.Code) {
	switch {
	case !p.cfg.Reconfig:
		return next, wire.CodeReconfigDisabled
	case len(p.members.members) == 0:
		return next, wire.CodeUnimplemented
	case r.ConfigVersion != -1 && r.ConfigVersion != p.members.version:
		return next, wire.CodeBadVersion
	}
	if r.Members != nil {
		next, code = parseMembership(string(r.Members))
	} else {
		next, code = p.members.changed(r.Joining, r.Leaving)
	}
	switch {
	case code != wire.CodeOK:
		return next, code
	case next.voters() < 2: // standaloneEnabled is on by default
		return next, wire.CodeBadArguments
	case !next.synced(p.first):
		return next, wire.CodeNewConfigNoQuorum
	case !c.admits(p.look(configPath).acl, zk.PermWrite):
		return next, wire.CodeNoAuth
	}
	return next, wire.CodeOK
}

// synced reports whether a majority of the voters is here: servers that were not members at the beginning have never
// been heard of (Leader.isQuorumSynced).
func (m *membership) synced(first membership) bool {
	here := 0
	for _, x := range first.members {
		if slices.ContainsFunc(m.members, func(y member) bool { return y.id == x.id && !y.observer }) {
			here++
		}
	}
	return 2*here > m.voters()
}

// changed is the incremental change: some leave, then some join.
func (m membership) changed(joining, leaving string) (membership, wire.Code) {
	next := membership{members: slices.Clone(m.members)}
	for _, id := range trimmedParts(leaving, ",") {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return next, wire.CodeMarshalling
		}
		next.remove(n)
	}
	for _, joiner := range trimmedParts(joining, ",") {
		parts := trimmedParts(joiner, "=")
		if len(parts) != 2 {
			return next, wire.CodeBadArguments
		}
		x, code := parseMember(parts[0], parts[1])
		if code == wire.CodeOK && (x.client == "" || next.conflicts(&x)) {
			code = wire.CodeBadArguments
		}
		if code != wire.CodeOK {
			return next, code
		}
		next.add(x)
	}
	return next, wire.CodeOK
}

// trimmedParts is StringUtils.split: parts that are not empty, without spaces around them.
func trimmedParts(text, separator string) (parts []string) {
	for part := range strings.SplitSeq(text, separator) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// conflicts reports whether another member has one of the addresses of x; those of this machine do not count
// (QuorumServer.checkAddressDuplicate).
func (m *membership) conflicts(x *member) bool {
	own := x.addresses()
	return slices.ContainsFunc(m.members, func(other member) bool {
		return other.id != x.id && slices.ContainsFunc(other.addresses(), func(a string) bool { return slices.Contains(own, a) })
	})
}

func (m *member) addresses() []string {
	all := []string{net.JoinHostPort(m.host, strconv.Itoa(m.peer)), net.JoinHostPort(m.host, strconv.Itoa(m.election)), m.client}
	return slices.DeleteFunc(all, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		ip := net.ParseIP(host)
		return err != nil || host == "localhost" || ip.IsUnspecified() || ip.IsLoopback()
	})
}

// parseMembership reads all members of a change that is not incremental, a line or a part between commas each
// (QuorumPeerConfig.parseDynamicConfig). Groups and weights are not known here.
func parseMembership(text string) (m membership, code wire.Code) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' }) {
		key, value := property(line)
		if key == "" || key == "version" {
			continue
		}
		if !strings.HasPrefix(key, "server.") {
			return m, wire.CodeBadArguments
		}
		x, code := parseMember(key, value)
		if code != wire.CodeOK {
			return m, code
		}
		m.add(x)
	}
	if m.voters() < 2 && len(m.members) > m.voters() {
		return m, wire.CodeMarshalling // an IllegalArgumentException, which is not caught
	}
	return m, wire.CodeOK
}

// property reads a line of java.util.Properties; comments have no key.
func property(line string) (key, value string) {
	line = strings.TrimLeft(line, " \t\f")
	if line == "" || line[0] == '#' || line[0] == '!' {
		return "", ""
	}
	end := strings.IndexAny(line, "=: \t\f")
	if end < 0 {
		return line, ""
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:end], rest
}

// parseMember reads host:port:port[:role][;[host:]port] (QuorumServer.initializeWithAddressString). What Java does
// not expect is Marshalling, what it does is BadArguments.
func parseMember(key, address string) (m member, code wire.Code) {
	id, err := strconv.ParseInt(key[strings.LastIndexByte(key, '.')+1:], 10, 64)
	if err != nil {
		return m, wire.CodeMarshalling
	}
	m.id = id
	parts := javaSplit(address, ";")
	switch {
	case len(parts) == 0:
		return m, wire.CodeMarshalling
	case len(parts) > 2 || strings.Contains(strings.TrimRight(parts[0], "|"), "|"):
		return m, wire.CodeBadArguments
	case len(parts) == 2:
		if m.client, code = parseClient(parts[1]); code != wire.CodeOK {
			return m, code
		}
	}
	return m, m.parseServer(parts[0])
}

func parseClient(text string) (client string, code wire.Code) {
	parts, ok := hostAndPorts(text)
	switch {
	case !ok || len(parts) > 2:
		return "", wire.CodeBadArguments
	case len(parts) == 0:
		return "", wire.CodeMarshalling
	}
	host := "0.0.0.0"
	if len(parts) == 2 {
		host = javaHost(parts[0])
	}
	port, code := parsePort(parts[len(parts)-1])
	return fmt.Sprintf("%s:%d", delimited(host), port), code
}

func (m *member) parseServer(text string) (code wire.Code) {
	parts, ok := hostAndPorts(strings.TrimRight(text, "|"))
	if !ok || len(parts) < 3 || len(parts) > 4 {
		return wire.CodeBadArguments
	}
	m.host = javaHost(parts[0])
	if m.peer, code = parsePort(parts[1]); code != wire.CodeOK {
		return code
	}
	if m.election, code = parsePort(parts[2]); code != wire.CodeOK {
		return code
	}
	if m.peer == m.election {
		return wire.CodeBadArguments
	}
	if len(parts) == 4 {
		role := strings.ToLower(strings.TrimSpace(parts[3]))
		m.observer = role == "observer"
		if !m.observer && role != "participant" {
			return wire.CodeBadArguments
		}
	}
	return wire.CodeOK
}

// javaHost is a host as Java prints it: an address of IPv6 in full.
func javaHost(host string) string {
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is6() {
		return host
	}
	bytes, groups := ip.As16(), make([]string, 8)
	for i := range groups {
		groups[i] = strconv.FormatInt(int64(bytes[2*i])<<8|int64(bytes[2*i+1]), 16)
	}
	return strings.Join(groups, ":")
}

func parsePort(text string) (int, wire.Code) {
	port, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return 0, wire.CodeBadArguments
	case port < 0 || port > math.MaxUint16:
		return 0, wire.CodeMarshalling
	}
	return int(port), wire.CodeOK
}

// hostAndPorts is ConfigUtils.getHostAndPort: the parts between colons, with a host that may be in brackets.
func hostAndPorts(text string) (parts []string, ok bool) {
	if !strings.HasPrefix(text, "[") {
		return javaSplit(text, ":"), true
	}
	host, rest, closed := strings.Cut(text[1:], "]")
	if !closed || rest == ":" {
		return nil, false
	}
	if rest == "" {
		return []string{host}, true
	}
	return append([]string{host}, javaSplit(rest[1:], ":")...), true
}

// javaSplit is String.split, which leaves out empty parts at the end.
func javaSplit(text, separator string) []string {
	if text == "" {
		return []string{""}
	}
	parts := strings.Split(text, separator)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}
