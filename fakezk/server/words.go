package server

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// wordBytes is the length of a four-letter word.
const wordBytes = 4

// version is the version that members report. Clients parse the date.
const version = "3.8.0-zktorture, built on 01/25/2022 08:44 GMT"

// words are the four-letter words by which clients, tests and health checks ask a member how it is. None needs
// 4lw.commands.whitelist.
var words = map[string]func(s *Server, m *member) string{
	"ruok": func(*Server, *member) string { return "imok" },
	"isro": func(s *Server, _ *member) string {
		if s.noQuorum {
			return "null"
		}
		return "rw"
	},
	"srvr": (*Server).summary,
	"stat": (*Server).summary,
	"mntr": (*Server).metrics,
	"conf": func(s *Server, m *member) string {
		_, port := m.address()
		e := s.cfg.Ensemble
		return fmt.Sprintf("clientPort=%s\ntickTime=%d\nmaxClientCnxns=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=%d\n",
			port, e.Tick, s.cfg.MaxClientCnxns, e.MinSession, e.MaxSession, s.id(m))
	},
}

// notServing is what ZooKeeper says instead of an answer while it has no quorum.
const notServing = "This ZooKeeper instance is not currently serving requests\n"

// say answers a four-letter word. It waits while the member hangs.
func (c *connection) say(word string) {
	c.server.awake(c.member)
	defer c.server.mu.Unlock()
	answer := notServing
	if word == "ruok" || word == "isro" || !c.server.noQuorum {
		answer = words[word](c.server, c.member)
	}
	delete(c.member.open, c)
	c.write([]byte(answer))
}

func (s *Server) mode(m *member) string {
	switch {
	case len(s.members) == 1:
		return "standalone"
	case m.index == s.servers.Leader() || m.index == s.servers.Deposed():
		return "leader"
	}
	return "follower"
}

func (s *Server) summary(m *member) string {
	return fmt.Sprintf("Zookeeper version: %s\nLatency min/avg/max: 0/0.0/0\nReceived: 0\nSent: 0\nConnections: %d\n"+
		"Outstanding: 0\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		version, len(m.open), s.servers.ZxidOf(m.index), s.mode(m), s.servers.Count(m.index).Nodes)
}

func (s *Server) metrics(m *member) string {
	n := s.servers.Count(m.index)
	var b strings.Builder
	for _, x := range []struct {
		name  string
		value any
	}{
		{"version", version}, {"server_state", s.mode(m)}, {"znode_count", n.Nodes}, {"ephemerals_count", n.Ephemerals},
		{"watch_count", n.Watches}, {"approximate_data_size", n.Bytes}, {"num_alive_connections", len(m.open)},
		{"global_sessions", len(s.servers.Sessions())}, {"uptime", time.Since(s.started).Milliseconds()},
	} {
		fmt.Fprintf(&b, "zk_%s\t%v\n", x.name, x.value)
	}
	return b.String()
}

// address is the first one of a member; of one that has none, port 0.
func (m *member) address() (host, port string) {
	if len(m.listeners) == 0 {
		return loopback, "0"
	}
	host, port, _ = net.SplitHostPort(m.listeners[0].Addr().String())
	return host, port
}

func sessionName(id int64) string { return fmt.Sprintf("0x%x", uint64(id)) }

// sessionless is within how many milliseconds a connection has to have a session
// (zookeeper.nio.sessionlessCnxnTimeout).
const sessionless = 10_000
