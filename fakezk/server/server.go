package server

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// Config describes a server. The zero value is one member with ZooKeeper's defaults, on no port yet.
type Config struct {
	Ensemble fakezk.Config

	// MaxClientCnxns limits the connections of one host to a member; 0: no limit. ZooKeeper's default is 60.
	MaxClientCnxns int

	// Greeting is how long a client may take until it has a session; then its connection is closed. 0: 10 s, as in
	// ZooKeeper (zookeeper.nio.sessionlessCnxnTimeout).
	Greeting time.Duration

	Faults *Faults      // that strike by themselves; nil: none
	Log    *slog.Logger // errors of clients; nil: discarded
}

// Server is an ensemble that clients can connect to. All methods may be called at any time, from any goroutine.
type Server struct {
	cfg     Config
	started time.Time

	mu       sync.Mutex
	servers  *fakezk.Ensemble
	members  []*member
	clients  map[fakezk.ConnID]*connection
	accepted int             // connections
	queued   []fakezk.ConnID // connections for which the ensemble has messages
	noQuorum bool            // for one of two reasons: LoseQuorum, or a majority of members is dead
	lost     bool            // between LoseQuorum and RegainQuorum
	strikes  *strikes
	ahead    time.Duration // what Advance has added to the clock

	running sync.WaitGroup
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
}

// member is one of the servers.
type member struct {
	index     int
	listeners []net.Listener
	open      map[*connection]bool
	hosts     map[string]int
	dead      bool          // see Kill
	resume    chan struct{} // not nil: it hangs, until this is closed
}

// ErrClosed is returned by Listen and Open after Close.
var ErrClosed = errors.New("server: it has been closed")

// New returns a server without a port: see [Server.Listen], [Server.Serve] and [Server.ServeConn]. Close it after use.
// It fails if the faults cannot be.
func New(cfg Config) (*Server, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	s := &Server{cfg: cfg, started: time.Now(), clients: map[fakezk.ConnID]*connection{}}
	s.cfg.Ensemble.SessionBase = cmp.Or(s.cfg.Ensemble.SessionBase, s.started.UnixMilli()<<24>>8)
	s.cfg.Ensemble = s.cfg.Ensemble.WithDefaults()
	s.servers = fakezk.New(s.cfg.Ensemble)
	s.cfg.Greeting = cmp.Or(s.cfg.Greeting, sessionless*time.Millisecond)
	s.servers.OnQueued = func(id fakezk.ConnID) { s.queued = append(s.queued, id) }
	if err := s.newStrikes(cfg.Faults); err != nil {
		return nil, err
	}
	for i := range s.cfg.Ensemble.Replicas {
		s.members = append(s.members, &member{
			index: i, open: map[*connection]bool{}, hosts: map[string]int{},
		})
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.keepTime)
	return s, nil
}

// Members is how many servers the ensemble has.
func (s *Server) Members() int { return len(s.members) }

// id is the number of a member in the configuration; a standalone server has none.
func (s *Server) id(m *member) int {
	if len(s.members) == 1 {
		return 0
	}
	return m.index + 1
}

// alive counts the members that are not dead. mu is held.
func (s *Server) alive() (n int) {
	for _, m := range s.members {
		if !m.dead {
			n++
		}
	}
	return n
}

// now is the servers' time, in milliseconds since 1970. mu is held.
func (s *Server) now() int64 { return s.started.Add(time.Since(s.started) + s.ahead).UnixMilli() }

// keepTime expires sessions once a tick, as ZooKeeper does.
func (s *Server) keepTime() {
	ticker := time.NewTicker(time.Duration(s.cfg.Ensemble.Tick) * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.do(func() { s.servers.Tick(s.now()) })
		case <-s.ctx.Done():
			return
		}
	}
}

// do changes the ensemble and sends the resulting messages.
func (s *Server) do(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.deliver(nil)
}

// deliver encodes queued messages and starts to write them, except on the connection whose goroutine writes itself.
// mu is held.
func (s *Server) deliver(except *connection) {
	if s.ctx.Err() != nil {
		s.queued = s.queued[:0]
		return
	}
	s.strikeEvents()
	for _, id := range s.queued {
		c := s.clients[id]
		if c == nil || c.held || c.member.resume != nil || s.servers.Pending(id) == 0 {
			continue
		}
		c.take()
		if c != except {
			s.running.Go(c.flush)
		}
	}
	s.queued = s.queued[:0]
}

// Listen opens a port for a member and serves it until Close. The address is that of net.Listen; port 0 is any free
// port, see [Server.Addr].
func (s *Server) Listen(member int, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("server: server %d cannot listen: %w", member+1, err)
	}
	return s.Open(member, l)
}

// Open serves a member at a listener until Close, which closes it. After Close it returns ErrClosed at once.
func (s *Server) Open(member int, l net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.start(func() { s.Serve(member, l) }) {
		l.Close()
		return ErrClosed
	}
	s.members[member].listeners = append(s.members[member].listeners, l)
	return nil
}

// start starts a goroutine that Close waits for. It returns false if the server has ended. mu is held.
func (s *Server) start(f func()) bool {
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Go(f)
	return true
}

// Addr is the first address of a member; "" if there is none.
func (s *Server) Addr(member int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.members[member].listeners) == 0 {
		return ""
	}
	return s.members[member].listeners[0].Addr().String()
}

// ConnectString has the addresses of all members, with commas between them.
func (s *Server) ConnectString() string {
	var all []string
	for i := range s.members {
		if a := s.Addr(i); a != "" {
			all = append(all, a)
		}
	}
	return strings.Join(all, ",")
}

// Serve accepts clients of a member until the listener or the server is closed. When it cannot accept one, as when the
// process has no file descriptor left, it logs that and goes on.
func (s *Server) Serve(member int, l net.Listener) {
	stop := context.AfterFunc(s.ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || err != nil && s.ctx.Err() != nil {
			return
		} else if err != nil {
			s.cfg.Log.Warn("no connection could be accepted: "+err.Error(), "server", member+1)
			time.Sleep(acceptPause)
			continue
		}
		s.mu.Lock()
		started := s.start(func() { s.ServeConn(member, c) })
		s.mu.Unlock()
		if !started {
			c.Close()
			return
		}
	}
}

// acceptPause is how long to wait when the system has no resources for another connection.
const acceptPause = 10 * time.Millisecond

// ServeConn serves one client of a member until the connection ends, and closes it.
func (s *Server) ServeConn(member int, nc net.Conn) {
	in := bufio.NewReaderSize(nc, readBuffer)
	c := &connection{
		server: s, member: s.members[member], net: nc, in: in, id: -1,
	}
	defer nc.Close()
	if !c.admit() {
		return
	}
	defer c.leave()
	c.serve()
}

// awake locks mu when a member does not hang, or the server has ended.
func (s *Server) awake(m *member) {
	for {
		s.mu.Lock()
		resume := m.resume
		if resume == nil || s.ctx.Err() != nil {
			return
		}
		s.mu.Unlock()
		select {
		case <-resume:
		case <-s.ctx.Done():
		}
	}
}

// Close ends the server: it cuts all connections and frees all ports. The error is nil.
func (s *Server) Close() error {
	s.mu.Lock()
	s.stop()
	for _, m := range s.members {
		for c := range m.open {
			c.net.Close()
		}
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}
