package server

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// wordBytes is the length of a four-letter word.
const wordBytes = 4

// version is the version that members report. Clients parse the date.
const version = "3.8.0-zktorture, built on 01/25/2022 08:44 GMT"

// status is what a member says of itself, by four-letter words and by the commands of an AdminServer. Server.mu is held.
type status struct {
	server *Server
	member *member
	by     *connection // that asks by a word; nil: a command does
}

// word is a four-letter word that a member answers. None needs 4lw.commands.whitelist.
type word struct {
	answer   func(x status, argument []byte) string
	always   bool // also when the member does not serve
	argument int  // bytes that follow it
}

// words are those of ZooKeeper 3.8 (server/command), but for consistency checks that have no meaning here.
var words = map[string]word{
	"ruok": {always: true, answer: func(status, []byte) string { return "imok" }},
	"isro": {always: true, answer: plain(status.access)},
	"srvr": {answer: func(x status, _ []byte) string { return x.summary("") }},
	"stat": {answer: func(x status, _ []byte) string { return x.summary("Clients:\n" + x.listConnections(true) + "\n") }},
	"cons": {answer: func(x status, _ []byte) string { return x.listConnections(false) + "\n" }},
	"mntr": {answer: func(x status, _ []byte) string { return x.metrics().lines("zk_", "\t") }},
	"conf": {answer: plain(status.configuration)},
	"envi": {always: true, answer: func(status, []byte) string { return "Environment:\n" + environment().lines("", "=") }},
	"wchs": {answer: plain(status.watchSummary)},
	"wchp": {answer: func(x status, _ []byte) string {
		return x.grouped(func(w fakezk.WatchInfo) (string, any) { return w.Path, sessionName(w.Session) })
	}},
	"wchc": {answer: func(x status, _ []byte) string {
		return x.grouped(func(w fakezk.WatchInfo) (string, any) { return sessionName(w.Session), w.Path })
	}},
	"dump": {answer: plain(status.dump)},
	"dirs": {answer: func(x status, _ []byte) string {
		bytes := folderSize(x.server.cfg.Data)
		return fmt.Sprintf("datadir_size: %d\nlogdir_size: %[1]d\n", bytes)
	}},
	"hash": {answer: func(status, []byte) string { return "" }}, // digests of the tree are not kept
	"crst": {answer: func(x status, _ []byte) string {
		x.member.resetConnections()
		return "Connection stats reset.\n"
	}},
	"srst": {answer: func(x status, _ []byte) string {
		x.member.counts = newTraffic()
		return "Server stats reset.\n"
	}},
	"gtmk": {answer: func(x status, _ []byte) string { return strconv.FormatInt(x.member.traceMask, 10) }},
	"stmk": {argument: 8, answer: func(x status, mask []byte) string {
		x.member.traceMask = int64(binary.BigEndian.Uint64(mask))
		return strconv.FormatInt(x.member.traceMask, 10)
	}},
}

func plain(answer func(status) string) func(status, []byte) string {
	return func(x status, _ []byte) string { return answer(x) }
}

// traceMaskDefault is what gtmk says at first (ZooTrace). Nothing is traced.
const traceMaskDefault = 306

// notServing is what ZooKeeper says instead of an answer while it has no quorum.
const notServing = "This ZooKeeper instance is not currently serving requests"

// say answers a four-letter word. It waits while the member hangs.
func (c *connection) say(w word, argument []byte) {
	c.server.awake(c.member)
	defer c.server.mu.Unlock()
	c.heard()
	answer := notServing + "\n"
	if w.always || c.server.serves() {
		answer = w.answer(status{c.server, c.member, c}, argument)
	}
	c.said()
	delete(c.member.open, c) // before the client sees the end (NIOServerCnxn.close); nothing else is to come
	c.write([]byte(answer))
}

// serves reports whether members serve some clients. mu is held.
func (s *Server) serves() bool { return !s.noQuorum || s.cfg.Ensemble.ReadOnly }

// access is what isro says (IsroCommand).
func (x status) access() string {
	switch {
	case !x.server.noQuorum:
		return "rw"
	case x.server.cfg.Ensemble.ReadOnly:
		return "ro"
	}
	return "null"
}

func (x status) mode() string {
	switch {
	case x.server.noQuorum:
		return "read-only"
	case len(x.server.members) == 1:
		return "standalone"
	case x.member.index == x.server.servers.Leader() || x.member.index == x.server.servers.Deposed():
		return "leader"
	}
	return "follower"
}

// summary is what srvr and stat print (StatCommand); stat has the clients before the statistics.
func (x status) summary(clients string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\n", version)
	if x.server.noQuorum {
		b.WriteString("READ-ONLY mode; serving only read-only clients\n")
	}
	b.WriteString(clients)
	l := x.member.counts.latency
	fmt.Fprintf(&b, "Latency min/avg/max: %d/%v/%d\n", l.least, l.mean(), l.most)
	fmt.Fprintf(&b, "Received: %d\nSent: %d\nConnections: %d\n", x.member.counts.received, x.member.counts.sent, len(x.member.open))
	fmt.Fprintf(&b, "Outstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		x.outstanding(), x.server.servers.ZxidOf(x.member.index), x.mode(), x.server.servers.Count(x.member.index).Nodes)
	if x.mode() == "leader" {
		b.WriteString("Proposal sizes last/min/max: -1/-1/-1\n") // there are no packets between these servers
	}
	return b.String()
}

// outstanding counts the requests that wait for their replies.
func (x status) outstanding() (n int) {
	for c := range x.member.open {
		n += len(c.sent)
	}
	return n
}

// connections are those to a member, in the order in which they came.
func (m *member) connections() []*connection {
	return slices.SortedFunc(maps.Keys(m.open), func(a, b *connection) int { return a.order - b.order })
}

// listConnections has a line for each connection, the asking one too; stat has the brief ones (dumpConnectionInfo).
func (x status) listConnections(brief bool) string {
	var b strings.Builder
	timeouts := x.timeouts()
	for _, c := range x.member.connections() {
		listening := 1
		if c == x.by {
			listening = 0
		}
		fmt.Fprintf(&b, " /%v[%d](queued=%d,recved=%d,sent=%d",
			c.net.RemoteAddr(), listening, len(c.sent), c.counts.received, c.counts.sent)
		if l := c.counts.latency; !brief && c.session != 0 {
			fmt.Fprintf(&b, ",sid=%s,lop=%s,est=%d,to=%d",
				sessionName(c.session), c.last.name(), c.since.UnixMilli(), timeouts[c.session])
			if c.last.xid >= 0 {
				fmt.Fprintf(&b, ",lcxid=0x%x", c.last.xid)
			}
			fmt.Fprintf(&b, ",lzxid=0x%x,lresp=%d", uint64(c.last.zxid), c.last.at)
			fmt.Fprintf(&b, ",llat=%d,minlat=%d,avglat=%d,maxlat=%d", l.last, l.least, int64(l.mean()), l.most)
		}
		b.WriteString(")\n")
	}
	return b.String()
}

// timeouts are those of the sessions, in milliseconds.
func (x status) timeouts() map[int64]int64 {
	timeouts := map[int64]int64{}
	for _, session := range x.server.servers.Sessions() {
		timeouts[session.ID] = session.Timeout
	}
	return timeouts
}

// name is what cons calls the operation of a request; SESS if none has been answered yet.
func (o outcome) name() string {
	if o.op == wire.OpCreateSession {
		return "SESS"
	}
	return o.op.Letters()
}

// lines has a field a line.
func (x object) lines(prefix, separator string) string {
	var b strings.Builder
	for _, f := range x {
		fmt.Fprintf(&b, "%s%s%s%v\n", prefix, f.name, separator, f.value)
	}
	return b.String()
}

// metrics are those of ZooKeeperServer.dumpMonitorValues and its subclasses, without the counters of Java's threads.
func (x status) metrics() object {
	n, tree, l := x.member.counts, x.server.servers.Count(x.member.index), x.member.counts.latency
	all := object{{"version", version}, {"server_state", x.mode()}}
	peer := map[string]string{"leader": "leading - broadcast", "follower": "following - broadcast"}
	if state := peer[x.mode()]; state != "" {
		all = append(all, field{"peer_state", state})
	}
	all = append(all, object{
		{"ephemerals_count", tree.Ephemerals}, {"num_alive_connections", len(x.member.open)}, {"avg_latency", l.mean()},
		{"outstanding_requests", x.outstanding()}, {"znode_count", tree.Nodes},
		{"global_sessions", len(x.server.servers.Sessions())}, {"last_client_response_size", n.size.last},
		{"packets_sent", n.sent}, {"packets_received", n.received}, {"max_client_response_size", n.size.most},
		{"connection_drop_probability", float(0)}, {"watch_count", tree.Watches}, {"auth_failed_count", 0},
		{"min_latency", l.least}, {"approximate_data_size", tree.Bytes}, {"local_sessions", 0},
		{"uptime", x.uptime()}, {"max_latency", l.most}, {"min_client_response_size", n.size.least},
		{"non_mtls_remote_conn_count", 0}, {"non_mtls_local_conn_count", 0}, {"outstanding_tls_handshake", 0},
	}...)
	if open, most, ok := openFiles(); ok {
		all = append(all, field{"max_file_descriptor_count", most}, field{"open_file_descriptor_count", open})
	}
	if len(x.server.members) > 1 {
		all = append(all, field{"quorum_size", len(x.server.members)})
	}
	if x.mode() == "leader" {
		followers := x.server.alive() - 1
		all = append(all, object{
			{"learners", followers}, {"synced_followers", followers}, {"synced_non_voting_followers", 0},
			{"synced_observers", 0}, {"pending_syncs", 0}, {"leader_uptime", x.uptime()},
			{"last_proposal_size", -1}, {"max_proposal_size", -1}, {"min_proposal_size", -1},
		}...)
	}
	return all
}

func (x status) uptime() int64 { return time.Since(x.server.started).Milliseconds() }

// configuration is what conf prints. There are no ports between these servers.
func (x status) configuration() string {
	e, folder := x.server.cfg.Ensemble, x.server.cfg.Data
	bytes := folderSize(folder)
	_, port := x.member.address()
	text := fmt.Sprintf("clientPort=%s\nsecureClientPort=-1\n", port)
	text += fmt.Sprintf("dataDir=%s\ndataDirSize=%d\ndataLogDir=%s\ndataLogSize=%d\n", folder, bytes, folder, bytes)
	text += fmt.Sprintf("tickTime=%d\nmaxClientCnxns=%d\n", e.Tick, x.server.cfg.MaxClientCnxns)
	text += fmt.Sprintf("minSessionTimeout=%d\nmaxSessionTimeout=%d\n", e.MinSession, e.MaxSession)
	text += fmt.Sprintf("clientPortListenBacklog=-1\nserverId=%d\n", x.server.id(x.member))
	if len(x.server.members) > 1 {
		config, _ := x.server.servers.Node("/zookeeper/config")
		text += fmt.Sprintf("initLimit=10\nsyncLimit=%d\nelectionAlg=3\npeerType=0\n", e.SyncLimit)
		text += fmt.Sprintf("membership: \n%s", config.Data)
	}
	return text
}

// address is the first one of a member; of one that has none, port 0.
func (m *member) address() (host, port string) {
	if len(m.listeners) == 0 {
		return loopback, "0"
	}
	host, port, _ = net.SplitHostPort(m.listeners[0].Addr().String())
	return host, port
}

// environment is what there is of the environment without a Java.
func environment() object {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return slices.Concat(
		object{{"zookeeper.version", version}, {"host.name", "localhost"}, {"go.version", runtime.Version()}},
		properties(),
		object{{"os.memory.free", megabytes(memory.HeapIdle)}, {"os.memory.total", megabytes(memory.Sys)}},
	)
}

// properties are the system properties of a Java that others than Java have.
func properties() object {
	folder, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	system := strings.ToUpper(runtime.GOOS[:1]) + runtime.GOOS[1:]
	return object{
		{"java.io.tmpdir", os.TempDir()}, {"os.name", system}, {"os.arch", runtime.GOARCH},
		{"user.home", home}, {"user.dir", folder},
	}
}

func megabytes(bytes uint64) string { return fmt.Sprintf("%dMB", bytes>>20) }

// folderSize is the size of the files in a folder, in bytes.
func folderSize(folder string) (n int64) {
	entries, _ := os.ReadDir(folder) // of no folder, none
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

func (x status) watchSummary() string {
	connections, paths, total := x.countWatches()
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", connections, paths, total)
}

func (x status) countWatches() (connections, paths, total int) {
	path, connection := map[string]bool{}, map[fakezk.ConnID]bool{}
	for _, w := range x.watches() {
		path[w.Path], connection[w.Conn] = true, true
		total++
	}
	return len(connection), len(path), total
}

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// watches are the watches at a member but those on children, which ZooKeeper leaves out (DataTree.dumpWatches).
func (x status) watches() []fakezk.WatchInfo {
	return slices.DeleteFunc(x.server.servers.AllWatches(), func(w fakezk.WatchInfo) bool {
		return w.Replica != x.member.index || w.Kind == fakezk.WatchChild
	})
}

// grouped lists keys, and below each its values, indented by a tab, and ends with an empty line.
func (x status) grouped(split func(fakezk.WatchInfo) (key string, value any)) string {
	var b strings.Builder
	for _, group := range groupedBy(x.watches(), split) {
		fmt.Fprintln(&b, group.name)
		for _, value := range group.value.([]any) {
			fmt.Fprintf(&b, "\t%v\n", value)
		}
	}
	return b.String() + "\n"
}

// dump is what dump prints. Sessions and connections are in sets by when they expire; a follower does not know when
// sessions do (SessionTrackerImpl.dumpSessions, LearnerSessionTracker.dumpSessions, NIOServerCnxnFactory).
func (x status) dump() string {
	var b strings.Builder
	sessions := x.server.servers.Sessions()
	b.WriteString("SessionTracker dump:\n")
	if x.mode() == "follower" {
		fmt.Fprintf(&b, "Global Sessions(%d):\n", len(sessions))
		for _, session := range sessions {
			fmt.Fprintf(&b, "%s\t%dms\n", sessionName(session.ID), session.Timeout)
		}
	} else {
		sets := sets{}
		for _, session := range sessions {
			sets[session.Deadline] = append(sets[session.Deadline], sessionName(session.ID))
		}
		sets.print(&b, "Session")
	}
	owned := x.owned()
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owned))
	for _, id := range slices.Sorted(maps.Keys(owned)) {
		fmt.Fprintf(&b, "%s:\n\t%s\n", sessionName(id), strings.Join(owned[id], "\n\t"))
	}
	b.WriteString("Connections dump:\n")
	x.connectionSets().print(&b, "Connections")
	return b.String()
}

// owned are the ephemeral znodes of each session.
func (x status) owned() map[int64][]string {
	owned := map[int64][]string{}
	x.server.servers.Walk("/", func(path string, n fakezk.NodeInfo) {
		if n.Stat.EphemeralOwner != 0 {
			owned[n.Stat.EphemeralOwner] = append(owned[n.Stat.EphemeralOwner], path)
		}
	})
	return owned
}

// sets are texts by when what they name expires, in milliseconds since 1970 (ExpiryQueue.dump).
type sets map[int64][]string

func (x sets) print(b *strings.Builder, what string) {
	all := 0
	for _, texts := range x {
		all += len(texts)
	}
	fmt.Fprintf(b, "%s Sets (%d)/(%d):\n", what, len(x), all)
	for _, at := range slices.Sorted(maps.Keys(x)) {
		fmt.Fprintf(b, "%d expire at %s:\n", len(x[at]), time.UnixMilli(at).Format("Mon Jan 02 15:04:05 MST 2006"))
		for _, text := range x[at] {
			fmt.Fprintf(b, "\t%s\n", text)
		}
	}
}

// sessionless is within how many milliseconds a connection has to have a session
// (zookeeper.nio.sessionlessCnxnTimeout). The expiry of connections is rounded up to it.
const sessionless = 10_000

func (x status) connectionSets() sets {
	all, timeouts := sets{}, x.timeouts()
	for _, c := range x.member.connections() {
		wait := timeouts[c.session]
		if c.session == 0 {
			wait = sessionless
		}
		at := ((x.server.now()+wait)/sessionless + 1) * sessionless
		all[at] = append(all[at], fmt.Sprintf("ip: /%v sessionId: %s", c.net.RemoteAddr(), sessionName(c.session)))
	}
	return all
}
