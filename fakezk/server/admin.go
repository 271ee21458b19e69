package server

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// command is one of those of ZooKeeper's AdminServer (server/admin/Commands).
type command struct {
	names  []string // the first is the name, the others are aliases
	always bool     // also when the member does not serve
	answer func(x status, r *http.Request) object
}

// commands are in the order in which they are listed.
var commands = []command{
	{names: []string{"configuration", "conf", "config"}, answer: bare(status.adminConfiguration)},
	{names: []string{"connection_stat_reset", "crst"}, answer: bare(func(x status) object {
		x.member.resetConnections()
		return nil
	})},
	{names: []string{"connections", "cons"}, answer: bare(func(x status) object {
		return object{{"connections", x.adminConnections(false)}, {"secure_connections", []any{}}}
	})},
	{names: []string{"dirs"}, answer: bare(func(x status) object {
		bytes := folderSize(x.server.cfg.Data)
		return object{{"datadir_size", bytes}, {"logdir_size", bytes}}
	})},
	{names: []string{"dump"}, answer: bare(status.adminDump)},
	{names: []string{"environment", "env", "envi"}, always: true,
		answer: bare(func(status) object { return environment() })},
	{names: []string{"get_trace_mask", "gtmk"}, answer: bare(func(x status) object {
		return object{{"tracemask", x.member.traceMask}}
	})},
	{names: []string{"hash"}, answer: bare(func(status) object { return object{{"digests", []any{}}} })},
	{names: []string{"initial_configuration", "icfg"}, answer: bare(status.adminInitial)},
	{names: []string{"is_read_only", "isro"}, answer: bare(func(x status) object {
		return object{{"read_only", x.server.noQuorum}}
	})},
	{names: []string{"last_snapshot", "lsnp"}, answer: bare(func(x status) object {
		zxid, at := x.lastSnapshot()
		return object{{"zxid", fmt.Sprintf("%x", zxid)}, {"timestamp", at.Unix()}}
	})},
	{names: []string{"leader", "lead"}, answer: bare(status.adminLeader)},
	{names: []string{"monitor", "mntr"}, answer: bare(status.metrics)},
	{names: []string{"observer_connection_stat_reset", "orst"},
		answer: bare(func(status) object { return nil })},
	{names: []string{"observers", "obsr"}, answer: bare(func(status) object {
		return object{{"synced_observers", 0}, {"observers", []any{}}}
	})},
	{names: []string{"ruok"}, answer: bare(func(status) object { return nil })},
	{names: []string{"server_stats", "srvr"}, answer: bare(status.adminStats)},
	{names: []string{"set_trace_mask", "stmk"}, answer: status.adminSetMask},
	{names: []string{"stat_reset", "srst"}, answer: bare(func(x status) object {
		x.member.counts = newTraffic()
		return nil
	})},
	{names: []string{"stats", "stat"}, answer: bare(func(x status) object {
		connections := x.adminConnections(true)
		return append(x.adminStats(), field{"connections", connections}, field{"secure_connections", []any{}})
	})},
	{names: []string{"system_properties", "sysp"}, always: true,
		answer: bare(func(status) object { return properties() })},
	{names: []string{"voting_view"}, answer: bare(status.adminVoters)},
	{names: []string{"watch_summary", "wchs"}, answer: bare(func(x status) object {
		connections, paths, total := x.countWatches()
		return object{{"num_connections", connections}, {"num_paths", paths}, {"num_total_watches", total}}
	})},
	{names: []string{"watches", "wchc"}, answer: bare(func(x status) object {
		return object{{"session_id_to_watched_paths", groupedBy(x.watches(), func(w fakezk.WatchInfo) (string, any) {
			return strconv.FormatInt(w.Session, 10), w.Path
		})}}
	})},
	{names: []string{"watches_by_path", "wchp"}, answer: bare(func(x status) object {
		return object{{"path_to_session_ids", groupedBy(x.watches(), func(w fakezk.WatchInfo) (string, any) {
			return w.Path, w.Session
		})}}
	})},
	{names: []string{"zabstate"}, answer: bare(status.adminZab)},
}

func bare(answer func(status) object) func(status, *http.Request) object {
	return func(x status, _ *http.Request) object { return answer(x) }
}

// listCommands is the page /commands (JettyAdminServer).
func listCommands(w http.ResponseWriter, _ *http.Request) {
	for _, c := range commands {
		fmt.Fprintf(w, "<a href=\"/commands/%s\">%s</a>\n<br/>\n", c.names[0], c.names[0])
	}
}

// command answers a command of a member: that of the parameter server, or the leader.
func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	i := slices.IndexFunc(commands, func(c command) bool { return slices.Contains(c.names, name) })
	s.mu.Lock()
	defer s.mu.Unlock()
	index, err := s.servers.Leader(), error(nil)
	if number := r.URL.Query().Get("server"); number != "" {
		index, err = parseMember(number, len(s.members))
	}
	x, answer := status{server: s, member: s.members[index]}, object{{"command", name}}
	switch {
	case err != nil:
		answer = append(answer, field{"error", err.Error()})
	case i < 0:
		answer = append(answer, field{"error", "Unknown command: " + name})
	case !commands[i].always && (x.member.dead || !s.serves()):
		answer = append(answer, field{"error", notServing})
	default:
		answer = append(commands[i].answer(x, r), field{"command", commands[i].names[0]})
		if answer[0].name != "error" {
			answer = append(answer, field{"error", nil})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(answer.append(nil, ""))
}

func (x status) adminConfiguration() object {
	e := x.server.cfg.Ensemble
	_, text := x.member.address()
	port, _ := strconv.Atoi(text)
	return object{
		{"client_port", port}, {"data_dir", x.server.cfg.Data}, {"data_log_dir", x.server.cfg.Data}, {"tick_time", e.Tick},
		{"max_client_cnxns", x.server.cfg.MaxClientCnxns}, {"min_session_timeout", e.MinSession},
		{"max_session_timeout", e.MaxSession}, {"server_id", x.server.id(x.member)}, {"client_port_listen_backlog", -1},
	}
}

// lastSnapshot is when a snapshot was made last, and of which transaction. Without data there is the empty tree.
func (x status) lastSnapshot() (zxid int64, at time.Time) {
	if x.server.data == nil {
		return 0, x.server.started
	}
	return x.server.data.snapshotZxid, x.server.data.snapshotAt
}

// adminInitial is what a zoo.cfg for this server would say.
func (x status) adminInitial() object {
	e := x.server.cfg.Ensemble
	_, port := x.member.address()
	text := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%s\nmaxClientCnxns=%d\n4lw.commands.whitelist=*\n",
		e.Tick, x.server.cfg.Data, port, x.server.cfg.MaxClientCnxns)
	return object{{"initial_configuration", text}}
}

func (x status) adminConnections(brief bool) []any {
	list, timeouts := []any{}, x.timeouts()
	for _, c := range x.member.connections() {
		x := object{
			{"remote_socket_address", c.net.RemoteAddr().String()}, {"interest_ops", 1},
			{"outstanding_requests", len(c.sent)}, {"packets_received", c.counts.received},
			{"packets_sent", c.counts.sent},
		}
		if l := c.counts.latency; !brief && c.session != 0 {
			x = append(x, object{
				{"session_id", c.session}, {"last_operation", c.last.name()}, {"established", c.since.UnixMilli()},
				{"session_timeout", timeouts[c.session]}, {"last_cxid", c.last.xid}, {"last_zxid", c.last.zxid},
				{"last_response_time", c.last.at}, {"last_latency", l.last}, {"min_latency", l.least},
				{"avg_latency", int64(l.mean())}, {"max_latency", l.most},
			}...)
		}
		list = append(list, x)
	}
	return list
}

func (x status) adminDump() object {
	sets, owned := map[string][]any{}, map[string][]any{}
	for _, session := range x.server.servers.Sessions() {
		if x.mode() != "follower" {
			at := strconv.FormatInt(session.Deadline, 10)
			sets[at] = append(sets[at], session.ID)
		}
	}
	for id, paths := range x.owned() {
		for _, path := range paths {
			owner := strconv.FormatInt(id, 10)
			owned[owner] = append(owned[owner], path)
		}
	}
	return object{{"expiry_time_to_session_ids", sorted(sets)}, {"session_id_to_ephemeral_paths", sorted(owned)}}
}

func (x status) adminLeader() object {
	if len(x.server.members) == 1 {
		return object{{"error", "server is not initialized"}}
	}
	leader := x.server.members[x.server.servers.Leader()]
	host, _ := leader.address()
	return object{{"is_leader", x.mode() == "leader"}, {"leader_id", x.server.id(leader)}, {"leader_ip", host}}
}

func (x status) adminStats() object {
	n, bytes := x.member.counts, folderSize(x.server.cfg.Data)
	sizes := object{
		{"last_buffer_size", n.size.last}, {"min_buffer_size", n.size.least}, {"max_buffer_size", n.size.most},
	}
	stats := object{
		{"packets_sent", n.sent}, {"packets_received", n.received}, {"fsync_threshold_exceed_count", 0},
		{"client_response_stats", sizes}, {"data_dir_size", bytes}, {"log_dir_size", bytes}, {"provider_null", false},
		{"server_state", x.mode()}, {"last_processed_zxid", x.server.servers.ZxidOf(x.member.index)},
		{"outstanding_requests", x.outstanding()}, {"avg_latency", n.latency.mean()},
		{"max_latency", n.latency.most}, {"min_latency", n.latency.least},
		{"num_alive_client_connections", len(x.member.open)}, {"uptime", x.uptime()}, {"auth_failed_count", 0},
		{"non_mtlsremote_conn_count", 0}, {"non_mtlslocal_conn_count", 0},
	}
	return object{
		{"version", version}, {"read_only", x.server.noQuorum}, {"server_stats", stats}, {"client_response", sizes},
		{"node_count", x.server.servers.Count(x.member.index).Nodes},
	}
}

func (x status) adminSetMask(r *http.Request) object {
	mask, err := strconv.ParseInt(r.URL.Query().Get("traceMask"), 10, 64)
	if err != nil {
		return object{{"error", "setTraceMask requires long traceMask argument"}}
	}
	x.member.traceMask = mask
	return object{{"tracemask", mask}}
}

// adminVoters are the members. There are no addresses between these servers.
func (x status) adminVoters() object {
	voters := object{}
	if len(x.server.members) > 1 {
		for _, m := range x.server.members {
			address := net.JoinHostPort(m.address())
			voters = append(voters, field{strconv.Itoa(x.server.id(m)), object{
				{"server_addresses", []any{}}, {"election_addresses", []any{}}, {"client_address", address},
				{"learner_type", "participant"},
			}})
		}
	}
	return object{{"current_config", voters}}
}

func (x status) adminZab() object {
	if len(x.server.members) == 1 {
		return object{{"voting", false}, {"zabstate", ""}}
	}
	zxid := x.server.servers.ZxidOf(x.member.index)
	return object{
		{"myid", x.server.id(x.member)}, {"is_leader", x.mode() == "leader"}, {"voting", true},
		{"last_zxid", fmt.Sprintf("0x%x", zxid)}, {"zab_epoch", zxid >> 32}, {"zab_counter", zxid & 0xffffffff},
		{"zabstate", "broadcast"},
	}
}

// groupedBy lists values by their keys, in order.
func groupedBy(watches []fakezk.WatchInfo, split func(fakezk.WatchInfo) (key string, value any)) object {
	groups := map[string][]any{}
	for _, w := range watches {
		if key, value := split(w); !slices.Contains(groups[key], value) {
			groups[key] = append(groups[key], value)
		}
	}
	return sorted(groups)
}

func sorted(groups map[string][]any) (x object) {
	x = object{}
	for key, values := range groups {
		x = append(x, field{key, values})
	}
	slices.SortFunc(x, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return x
}

// object is a JSON object whose fields are in order.
type object []field

type field struct {
	name  string
	value any
}

// append appends the text of an object as Jackson prints it, which people match with grep: a space before each colon, a
// field a line, lists in one.
func (x object) append(b []byte, indent string) []byte {
	if len(x) == 0 {
		return append(b, "{ }"...)
	}
	inner, between := indent+"  ", "{\n"
	for _, f := range x {
		b = append(b, between+inner...)
		b = append(appendValue(b, f.name, inner), " : "...)
		b = appendValue(b, f.value, inner)
		between = ",\n"
	}
	return fmt.Appendf(b, "\n%s}", indent)
}

func appendValue(b []byte, value any, indent string) []byte {
	switch v := value.(type) {
	case object:
		return v.append(b, indent)
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, ' ')
			b = appendValue(b, element, indent)
		}
		return append(b, " ]"...)
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // there are only texts, numbers and truths
	}
	return append(b, text...)
}
