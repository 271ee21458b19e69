package server

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/wire"
)

// wordBytes is the length of a four-letter word.
const wordBytes = 4

// version is the version that members report. Clients parse the date.
const version = "3.8.0-zktorture, built on 01/25/2022 08:44 GMT"

// words are the four-letter words that a member answers. None needs 4lw.commands.whitelist.
var words = map[string]func(*Server, *member) string{
	"ruok": func(*Server, *member) string { return "imok" },
	"isro": (*Server).access,
	"srvr": serving(func(s *Server, m *member) string { return s.summary(m, "") }),
	"stat": serving(func(s *Server, m *member) string {
		return s.summary(m, "Clients:\n"+s.listConnections(m, true)+"\n")
	}),
	"cons": serving(func(s *Server, m *member) string { return s.listConnections(m, false) + "\n" }),
	"mntr": serving((*Server).monitor),
	"conf": serving((*Server).configuration),
	"envi": serving((*Server).environment),
	"wchs": serving((*Server).watchSummary),
	"wchp": serving((*Server).watchesByPath),
	"wchc": serving((*Server).watchesBySession),
	"dump": serving((*Server).dump),
}

// notServing is what ZooKeeper says instead of an answer while it has no quorum.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// say returns a member's answer to a four-letter word. It waits while the member hangs.
func (s *Server) say(word func(*Server, *member) string, m *member) string {
	s.awake(m)
	s.mu.Unlock()
	return word(s, m)
}

// serving wraps what needs a server that serves.
func serving(answer func(*Server, *member) string) func(*Server, *member) string {
	return func(s *Server, m *member) string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.noQuorum && !s.cfg.Ensemble.ReadOnly {
			return notServing
		}
		return answer(s, m)
	}
}

// access is what isro says (IsroCommand).
func (s *Server) access(*member) string {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	sum := s.sum(m)
	fmt.Fprintf(&b, "Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n",
		sum.received, sum.sent, len(s.sorted(m)))
	fmt.Fprintf(&b, "Zxid: 0x%x\nMode: %s\nNode count: %d\n",
		s.servers.ZxidOf(m.index), s.mode(m), s.servers.Count(m.index).Nodes)
	return b.String()
}

func (s *Server) sum(m *member) (sum counts) {
	for _, c := range s.sorted(m) {
		sum.received += c.counts.received
		sum.sent += c.counts.sent
	}
	return sum
}

// listConnections has a line for each connection; stat has the brief ones (ServerCnxn.dumpConnectionInfo).
func (s *Server) listConnections(m *member, brief bool) string {
	var b strings.Builder
	timeouts := map[int64]int64{}
	for _, session := range s.servers.Sessions() {
		timeouts[session.ID] = session.Timeout
	}
	for _, c := range s.sorted(m) {
		fmt.Fprintf(&b, " /%v[1](queued=0,recved=%d,sent=%d", c.net.RemoteAddr(), c.counts.received, c.counts.sent)
		if !brief {
			fmt.Fprintf(&b, ",sid=%s,lop=%s,est=%d,to=%d",
				sessionName(c.session), c.last.name(), c.since.UnixMilli(), timeouts[c.session])
			fmt.Fprintf(&b, ",lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=0,minlat=0,avglat=0,maxlat=0",
				c.last.xid, c.last.zxid, c.last.at.UnixMilli())
		}
		b.WriteString(")\n")
	}
	return b.String()
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
	values := s.metrics(m)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "zk_%s\t%v\n", name, values[name])
	}
	return b.String()
}

func (s *Server) metrics(m *member) map[string]any {
	sum, tree := s.sum(m), s.servers.Count(m.index)
	values := map[string]any{
		"version": version, "server_state": s.mode(m), "uptime": time.Since(s.started).Milliseconds(),
		"packets_received": sum.received, "packets_sent": sum.sent, "num_alive_connections": len(s.sorted(m)),
		"outstanding_requests": 0, "znode_count": tree.Nodes, "ephemerals_count": tree.Ephemerals,
		"watch_count": tree.Watches, "approximate_data_size": tree.Bytes, "global_sessions": len(s.servers.Sessions()),
	}
	switch s.mode(m) {
	case "leader":
		values["peer_state"] = "leading - broadcast"
		values["synced_followers"], values["followers"] = len(s.members)-1, len(s.members)-1
	case "follower":
		values["peer_state"] = "following - broadcast"
	}
	return values
}

func (s *Server) configuration(m *member) string {
	e := s.servers.Config()
	port := "0"
	if len(m.listeners) > 0 {
		_, port, _ = net.SplitHostPort(m.listeners[0].Addr().String())
	}
	limits := fmt.Sprintf("minSessionTimeout=%d\nmaxSessionTimeout=%d\n", e.MinSession, e.MaxSession)
	return fmt.Sprintf("clientPort=%s\ntickTime=%d\nmaxClientCnxns=%d\n%sserverId=%d\n",
		port, e.Tick, s.cfg.MaxClientCnxns, limits, m.index+1)
}

func (s *Server) environment(*member) string {
	system := fmt.Sprintf("os.name=%s\nos.arch=%s\ngo.version=%s\n", runtime.GOOS, runtime.GOARCH, runtime.Version())
	return fmt.Sprintf("Environment:\nzookeeper.version=%s\nhost.name=localhost\n%s", version, system)
}

func (s *Server) watchSummary(m *member) string {
	paths, connections, total := map[string]bool{}, map[fakezk.ConnID]bool{}, 0
	for _, w := range s.watches(m) {
		paths[w.Path], connections[w.Conn] = true, true
		total++
	}
	return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", len(connections), len(paths), total)
}

func (s *Server) watchesByPath(m *member) string {
	return s.grouped(m, func(w fakezk.WatchInfo) (key, value string) { return w.Path, sessionName(w.Session) }) + "\n"
}

func (s *Server) watchesBySession(m *member) string {
	return s.grouped(m, func(w fakezk.WatchInfo) (key, value string) { return sessionName(w.Session), w.Path }) + "\n"
}

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// watches are the watches at a member but those on children, which ZooKeeper leaves out (DataTree.dumpWatches).
func (s *Server) watches(m *member) []fakezk.WatchInfo {
	return slices.DeleteFunc(s.servers.AllWatches(), func(w fakezk.WatchInfo) bool {
		return w.Replica != m.index || w.Kind == fakezk.WatchChild
	})
}

// grouped lists keys, and below each its values, indented by a tab.
func (s *Server) grouped(m *member, split func(fakezk.WatchInfo) (key, value string)) string {
	groups := map[string][]string{}
	for _, w := range s.watches(m) {
		key, value := split(w)
		groups[key] = append(groups[key], value)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintln(&b, key)
		slices.Sort(groups[key])
		for _, value := range slices.Compact(groups[key]) {
			fmt.Fprintf(&b, "\t%s\n", value)
		}
	}
	return b.String()
}

func (s *Server) dump(*member) string {
	owned := map[int64][]string{}
	s.servers.Walk("/", func(path string, n fakezk.NodeInfo) {
		if n.Stat.EphemeralOwner != 0 {
			owned[n.Stat.EphemeralOwner] = append(owned[n.Stat.EphemeralOwner], path)
		}
	})
	var b strings.Builder
	sessions := s.servers.Sessions()
	fmt.Fprintf(&b, "SessionTracker dump:\nGlobal Sessions(%d):\n", len(sessions))
	for _, session := range sessions {
		fmt.Fprintf(&b, "%s\t%dms\n", sessionName(session.ID), session.Timeout)
	}
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owned))
	for _, id := range slices.Sorted(maps.Keys(owned)) {
		fmt.Fprintf(&b, "%s:\n", sessionName(id))
		for _, path := range owned[id] {
			fmt.Fprintf(&b, "\t%s\n", path)
		}
	}
	return b.String()
}
