package server

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// wordBytes is the length of a four-letter word.
const wordBytes = 4

// version is what the members say that they are: the version that they behave as. Clients parse the date.
const version = "3.8.0-zktorture, built on 01/25/2022 08:44 GMT"

// words are the four-letter words that a member answers, all without a list of those that are allowed
// (4lw.commands.whitelist).
var words = map[string]func(*Server, *member) string{
	"ruok": func(*Server, *member) string { return "imok" },
	"isro": (*Server).access,
	"srvr": serving((*Server).summary),
	"stat": serving(func(s *Server, m *member) string {
		return fmt.Sprintf("Zookeeper version: %s\nClients:\n%s\n%s", version, s.listConnections(m), s.summary(m))
	}),
	"cons": serving((*Server).listConnections),
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
	case m.index == 0:
		return "leader"
	}
	return "follower"
}

func (s *Server) summary(m *member) string {
	sum := s.sum(m)
	return fmt.Sprintf("Zookeeper version: %s\nLatency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: 0\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		version, sum.received, sum.sent, len(s.sorted(m)), s.servers.ZxidOf(m.index), s.mode(m), s.servers.Count(m.index).Nodes)
}

func (s *Server) sum(m *member) (sum counts) {
	for _, c := range s.sorted(m) {
		sum.received += c.counts.received
		sum.sent += c.counts.sent
	}
	return sum
}

func (s *Server) listConnections(m *member) string {
	var b strings.Builder
	timeouts := map[int64]int64{}
	for _, session := range s.servers.Sessions() {
		timeouts[session.ID] = session.Timeout
	}
	for _, c := range s.sorted(m) {
		fmt.Fprintf(&b, " /%v[1](queued=0,recved=%d,sent=%d,sid=0x%x,est=%d,to=%d)\n",
			c.net.RemoteAddr(), c.counts.received, c.counts.sent, uint64(c.session), c.since.UnixMilli(), timeouts[c.session])
	}
	return b.String()
}

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
		"peer_state": map[string]string{"leader": "leading - broadcast", "follower": "following - broadcast"}[s.mode(m)],
	}
	if values["peer_state"] == "" {
		delete(values, "peer_state")
	}
	if s.mode(m) == "leader" {
		values["synced_followers"], values["followers"] = len(s.members)-1, len(s.members)-1
	}
	return values
}

func (s *Server) configuration(m *member) string {
	e := s.servers.Config()
	port := "0"
	if len(m.listeners) > 0 {
		_, port, _ = strings.Cut(m.listeners[0].Addr().String(), ":")
	}
	return fmt.Sprintf("clientPort=%s\ntickTime=%d\nmaxClientCnxns=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=%d\n",
		port, e.Tick, s.cfg.MaxClientCnxns, e.MinSession, e.MaxSession, m.index+1)
}

func (s *Server) environment(*member) string {
	return fmt.Sprintf("Environment:\nzookeeper.version=%s\nhost.name=localhost\nos.name=%s\nos.arch=%s\ngo.version=%s\n",
		version, runtime.GOOS, runtime.GOARCH, runtime.Version())
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
	return s.grouped(m, func(w fakezk.WatchInfo) (key, value string) { return w.Path, sessionName(w.Session) })
}

func (s *Server) watchesBySession(m *member) string {
	return s.grouped(m, func(w fakezk.WatchInfo) (key, value string) { return sessionName(w.Session), w.Path })
}

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// watches are those at a member.
func (s *Server) watches(m *member) []fakezk.WatchInfo {
	return slices.DeleteFunc(s.servers.AllWatches(), func(w fakezk.WatchInfo) bool { return w.Replica != m.index })
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
