package server

import (
	"cmp"
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
	"github.com/zktorture/zktorture/wire"
)

// wordBytes is the length of a four-letter word.
const wordBytes = 4

// version is the version that members report. Clients parse the date.
const version = "3.8.0-zktorture, built on 01/25/2022 08:44 GMT"

// word is a four-letter word that a member answers. None needs 4lw.commands.whitelist. Server.mu is held.
type word struct {
	answer   func(s *Server, by *connection, argument []byte) string
	always   bool // also when the member does not serve
	argument int  // bytes that follow it
}

// words are those of ZooKeeper 3.8 (server/command), but for consistency checks that have no meaning here.
var words = map[string]word{
	"ruok": {always: true, answer: func(*Server, *connection, []byte) string { return "imok" }},
	"isro": {always: true, answer: func(s *Server, _ *connection, _ []byte) string { return s.access() }},
	"srvr": {answer: func(s *Server, by *connection, _ []byte) string { return s.summary(by.member, "") }},
	"stat": {answer: func(s *Server, by *connection, _ []byte) string {
		return s.summary(by.member, "Clients:\n"+s.listConnections(by, true)+"\n")
	}},
	"cons": {answer: func(s *Server, by *connection, _ []byte) string { return s.listConnections(by, false) + "\n" }},
	"mntr": {answer: ofMember((*Server).monitor)},
	"conf": {answer: ofMember((*Server).configuration)},
	"envi": {always: true, answer: ofMember((*Server).environment)},
	"wchs": {answer: ofMember((*Server).watchSummary)},
	"wchp": {answer: ofMember((*Server).watchesByPath)},
	"wchc": {answer: ofMember((*Server).watchesBySession)},
	"dump": {answer: ofMember((*Server).dump)},
	"dirs": {answer: ofMember((*Server).directories)},
	"hash": {answer: func(*Server, *connection, []byte) string { return "" }}, // digests of the tree are not kept
	"crst": {answer: func(s *Server, by *connection, _ []byte) string {
		s.resetConnections(by.member)
		return "Connection stats reset.\n"
	}},
	"srst": {answer: func(s *Server, by *connection, _ []byte) string {
		by.member.counts = newTraffic()
		return "Server stats reset.\n"
	}},
	"gtmk": {answer: func(_ *Server, by *connection, _ []byte) string {
		return strconv.FormatInt(by.member.traceMask, 10)
	}},
	"stmk": {argument: 8, answer: func(_ *Server, by *connection, mask []byte) string {
		by.member.traceMask = int64(binary.BigEndian.Uint64(mask))
		return strconv.FormatInt(by.member.traceMask, 10)
	}},
}

func ofMember(answer func(*Server, *member) string) func(*Server, *connection, []byte) string {
	return func(s *Server, by *connection, _ []byte) string { return answer(s, by.member) }
}

// traceMaskDefault is what gtmk says at first (ZooTrace). Nothing is traced.
const traceMaskDefault = 306

// notServing is what ZooKeeper says instead of an answer while it has no quorum.
const notServing = "This ZooKeeper instance is not currently serving requests"

// say answers a four-letter word. It waits while the member hangs.
func (s *Server) say(w word, by *connection, argument []byte) {
	s.awake(by.member)
	defer s.mu.Unlock()
	by.heard()
	answer := notServing + "\n"
	if w.always || s.serves() {
		answer = w.answer(s, by, argument)
	}
	by.said()
	s.write(by, []byte(answer))
}

// serves tells whether members serve some clients. mu is held.
func (s *Server) serves() bool { return !s.noQuorum || s.cfg.Ensemble.ReadOnly }

// access is what isro says (IsroCommand).
func (s *Server) access() string {
	switch {
	case !s.noQuorum:
		return "rw"
	case s.cfg.Ensemble.ReadOnly:
		return "ro"
	}
	return "null"
}

func (s *Server) mode(m *member) string {
	switch {
	case s.noQuorum:
		return "read-only"
	case len(s.members) == 1:
		return "standalone"
	case m.index == s.servers.Leader() || m.index == s.servers.Deposed():
		return "leader"
	}
	return "follower"
}

// summary is what srvr and stat print (StatCommand); stat has the clients before the statistics.
func (s *Server) summary(m *member, clients string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\n", version)
	if s.noQuorum {
		b.WriteString("READ-ONLY mode; serving only read-only clients\n")
	}
	b.WriteString(clients)
	l := m.counts.latency
	fmt.Fprintf(&b, "Latency min/avg/max: %d/%v/%d\n", l.least, l.mean(), l.most)
	fmt.Fprintf(&b, "Received: %d\nSent: %d\nConnections: %d\n", m.counts.received, m.counts.sent, len(m.open))
	fmt.Fprintf(&b, "Outstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		s.outstanding(m), s.servers.ZxidOf(m.index), s.mode(m), s.servers.Count(m.index).Nodes)
	if s.mode(m) == "leader" {
		b.WriteString("Proposal sizes last/min/max: -1/-1/-1\n") // there are no packets between these servers
	}
	return b.String()
}

// outstanding counts the requests that wait for their replies.
func (s *Server) outstanding(m *member) (n int) {
	for c := range m.open {
		n += len(c.sent)
	}
	return n
}

// connections are those to a member, in the order in which they came.
func (m *member) connections() []*connection {
	return slices.SortedFunc(maps.Keys(m.open), func(a, b *connection) int { return a.order - b.order })
}

// listConnections has a line for each connection, the asking one too; stat has the brief ones (dumpConnectionInfo).
func (s *Server) listConnections(by *connection, brief bool) string {
	var b strings.Builder
	timeouts := s.timeouts()
	for _, c := range by.member.connections() {
		listening := 1
		if c == by {
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
func (s *Server) timeouts() map[int64]int64 {
	timeouts := map[int64]int64{}
	for _, session := range s.servers.Sessions() {
		timeouts[session.ID] = session.Timeout
	}
	return timeouts
}

// operationNames are the names in cons (FinalRequestProcessor).
var operationNames = map[wire.Op]string{
	opNewSession: "SESS", wire.OpPing: "PING", wire.OpMulti: "MULT", wire.OpMultiRead: "MLTR", wire.OpCreate: "CREA",
	wire.OpCreate2: "CREA", wire.OpCreateTTL: "CREA", wire.OpCreateContainer: "CREA", wire.OpDelete: "DELE",
	wire.OpSetData: "SETD", wire.OpReconfig: "RECO", wire.OpSetACL: "SETA", wire.OpCloseSession: "CLOS",
	wire.OpSync: "SYNC", wire.OpCheck: "CHEC", wire.OpExists: "EXIS", wire.OpGetData: "GETD", wire.OpSetWatches: "SETW",
	wire.OpSetWatches2: "STW2", wire.OpAddWatch: "ADDW", wire.OpGetACL: "GETA", wire.OpGetChildren: "GETC",
	wire.OpCountChildren: "GETACN", wire.OpGetChildren2: "GETC", wire.OpCheckWatches: "CHKW",
	wire.OpRemoveWatches: "REMW", wire.OpWhoAmI: "HOMI", wire.OpGetEphemerals: "GETE",
}

// opNewSession is the operation of a connection that has answered no request yet (ZooDefs.OpCode.createSession).
const opNewSession wire.Op = -10

func (o outcome) name() string { return cmp.Or(operationNames[o.op], "NA") }

// monitor is what mntr prints: a name, a tab, a value.
func (s *Server) monitor(m *member) string {
	var b strings.Builder
	for _, x := range s.metrics(m) {
		fmt.Fprintf(&b, "zk_%s\t%v\n", x.name, x.value)
	}
	return b.String()
}

// metrics are those of ZooKeeperServer.dumpMonitorValues and its subclasses, without the counters of Java's threads.
func (s *Server) metrics(m *member) object {
	n, tree, l := m.counts, s.servers.Count(m.index), m.counts.latency
	all := object{{"version", version}, {"server_state", s.mode(m)}}
	peer := map[string]string{"leader": "leading - broadcast", "follower": "following - broadcast"}
	if state := peer[s.mode(m)]; state != "" {
		all = append(all, field{"peer_state", state})
	}
	all = append(all, object{
		{"ephemerals_count", tree.Ephemerals}, {"num_alive_connections", len(m.open)}, {"avg_latency", l.mean()},
		{"outstanding_requests", s.outstanding(m)}, {"znode_count", tree.Nodes},
		{"global_sessions", len(s.servers.Sessions())}, {"last_client_response_size", n.size.last},
		{"packets_sent", n.sent}, {"packets_received", n.received}, {"max_client_response_size", n.size.most},
		{"connection_drop_probability", float(0)}, {"watch_count", tree.Watches}, {"auth_failed_count", 0},
		{"min_latency", l.least}, {"approximate_data_size", tree.Bytes}, {"local_sessions", 0},
		{"uptime", s.uptime()}, {"max_latency", l.most}, {"min_client_response_size", n.size.least},
		{"non_mtls_remote_conn_count", 0}, {"non_mtls_local_conn_count", 0}, {"outstanding_tls_handshake", 0},
	}...)
	if open, most, ok := openFiles(); ok {
		all = append(all, field{"max_file_descriptor_count", most}, field{"open_file_descriptor_count", open})
	}
	if len(s.members) > 1 {
		all = append(all, field{"quorum_size", len(s.members)})
	}
	if s.mode(m) == "leader" {
		followers := s.alive() - 1
		all = append(all, object{
			{"learners", followers}, {"synced_followers", followers}, {"synced_non_voting_followers", 0},
			{"synced_observers", 0}, {"pending_syncs", 0}, {"leader_uptime", s.uptime()},
			{"last_proposal_size", -1}, {"max_proposal_size", -1}, {"min_proposal_size", -1},
		}...)
	}
	return all
}

func (s *Server) uptime() int64 { return time.Since(s.started).Milliseconds() }

func (s *Server) alive() (n int) {
	for _, m := range s.members {
		if !m.dead {
			n++
		}
	}
	return n
}

// configuration is what conf prints. There are no ports between these servers.
func (s *Server) configuration(m *member) string {
	e, folder := s.cfg.Ensemble, s.cfg.Data
	bytes := folderSize(folder)
	_, port := m.address()
	text := fmt.Sprintf("clientPort=%s\nsecureClientPort=-1\n", port)
	text += fmt.Sprintf("dataDir=%s\ndataDirSize=%d\ndataLogDir=%s\ndataLogSize=%d\n", folder, bytes, folder, bytes)
	text += fmt.Sprintf("tickTime=%d\nmaxClientCnxns=%d\n", e.Tick, s.cfg.MaxClientCnxns)
	text += fmt.Sprintf("minSessionTimeout=%d\nmaxSessionTimeout=%d\n", e.MinSession, e.MaxSession)
	text += fmt.Sprintf("clientPortListenBacklog=-1\nserverId=%d\n", s.id(m))
	if len(s.members) > 1 {
		config, _ := s.servers.Node("/zookeeper/config")
		text += fmt.Sprintf("initLimit=10\nsyncLimit=%d\nelectionAlg=3\npeerType=0\n", e.SyncLimit)
		text += fmt.Sprintf("membership: \n%s", config.Data)
	}
	return text
}

// id is the number of a member in the configuration; a standalone server has none.
func (s *Server) id(m *member) int {
	if len(s.members) == 1 {
		return 0
	}
	return m.index + 1
}

// address is the first one of a member; of one that has none, port 0.
func (m *member) address() (host, port string) {
	if len(m.listeners) == 0 {
		return loopback, "0"
	}
	host, port, _ = net.SplitHostPort(m.listeners[0].Addr().String())
	return host, port
}

func (s *Server) environment(*member) string {
	var b strings.Builder
	b.WriteString("Environment:\n")
	for _, x := range environment() {
		fmt.Fprintf(&b, "%s=%v\n", x.name, x.value)
	}
	return b.String()
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

// directories is what dirs prints.
func (s *Server) directories(*member) string {
	bytes := folderSize(s.cfg.Data)
	return fmt.Sprintf("datadir_size: %d\nlogdir_size: %d\n", bytes, bytes)
}

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

func (s *Server) watchSummary(m *member) string {
	connections, paths, total := s.countWatches(m)
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", connections, paths, total)
}

func (s *Server) countWatches(m *member) (connections, paths, total int) {
	path, connection := map[string]bool{}, map[fakezk.ConnID]bool{}
	for _, w := range s.watches(m) {
		path[w.Path], connection[w.Conn] = true, true
		total++
	}
	return len(connection), len(path), total
}

func (s *Server) watchesByPath(m *member) string {
	return s.grouped(m, func(w fakezk.WatchInfo) (string, any) { return w.Path, sessionName(w.Session) }) + "\n"
}

func (s *Server) watchesBySession(m *member) string {
	return s.grouped(m, func(w fakezk.WatchInfo) (string, any) { return sessionName(w.Session), w.Path }) + "\n"
}

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// watches are the watches at a member but those on children, which ZooKeeper leaves out (DataTree.dumpWatches).
func (s *Server) watches(m *member) []fakezk.WatchInfo {
	return slices.DeleteFunc(s.servers.AllWatches(), func(w fakezk.WatchInfo) bool {
		return w.Replica != m.index || w.Kind == fakezk.WatchChild
	})
}

// grouped lists keys, and below each its values, indented by a tab.
func (s *Server) grouped(m *member, split func(fakezk.WatchInfo) (key string, value any)) string {
	var b strings.Builder
	for _, group := range groupedBy(s.watches(m), split) {
		fmt.Fprintln(&b, group.name)
		for _, value := range group.value.([]any) {
			fmt.Fprintf(&b, "\t%v\n", value)
		}
	}
	return b.String()
}

// dump is what dump prints. Sessions and connections are in sets by when they expire; a follower does not know when
// sessions do (SessionTrackerImpl.dumpSessions, LearnerSessionTracker.dumpSessions, NIOServerCnxnFactory).
func (s *Server) dump(m *member) string {
	var b strings.Builder
	sessions := s.servers.Sessions()
	b.WriteString("SessionTracker dump:\n")
	if s.mode(m) == "follower" {
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
	owned := s.owned()
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owned))
	for _, id := range slices.Sorted(maps.Keys(owned)) {
		fmt.Fprintf(&b, "%s:\n\t%s\n", sessionName(id), strings.Join(owned[id], "\n\t"))
	}
	b.WriteString("Connections dump:\n")
	s.connectionSets(m).print(&b, "Connections")
	return b.String()
}

// owned are the ephemeral znodes of each session.
func (s *Server) owned() map[int64][]string {
	owned := map[int64][]string{}
	s.servers.Walk("/", func(path string, n fakezk.NodeInfo) {
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

func (s *Server) connectionSets(m *member) sets {
	x, timeouts := sets{}, s.timeouts()
	for _, c := range m.connections() {
		wait := timeouts[c.session]
		if c.session == 0 {
			wait = sessionless
		}
		at := ((s.now()+wait)/sessionless + 1) * sessionless
		x[at] = append(x[at], fmt.Sprintf("ip: /%v sessionId: %s", c.net.RemoteAddr(), sessionName(c.session)))
	}
	return x
}
