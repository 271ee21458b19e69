package engine

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process.
type Server struct {
	nats *server.Server
}

// ServerConfig says where a server listens and who may use it.
type ServerConfig struct {
	Dir    string      // its files are in jetstream/ of it
	Listen string      // host:port
	Token  string      // that everybody needs
	TLS    *tls.Config // nil: none
}

// startLimit is how long a server may take to recover its files and to listen.
const startLimit = time.Minute

// Serve starts a server. It syncs every message to the disk before it acknowledges it.
func Serve(c ServerConfig) (*Server, error) {
	host, service, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return nil, fmt.Errorf("port %q: not a number", service)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	s, err := server.NewServer(&server.Options{
		Host: host, Port: port, Authorization: c.Token, TLSConfig: c.TLS, TLS: c.TLS != nil, TLSTimeout: 5,
		JetStream: true, StoreDir: c.Dir, SyncAlways: true, NoSigs: true, NoLog: true, DisableShortFirstPing: true,
	})
	if err != nil {
		return nil, err
	}
	fatal := make(fatals, 1)
	s.SetLoggerV2(fatal, false, false, false)
	go s.Start()
	ready := make(chan bool, 1)
	go func() { ready <- s.ReadyForConnections(startLimit) }()
	select {
	case err = <-fatal:
	case ok := <-ready:
		if !ok {
			err = fmt.Errorf("it was not ready after %v", startLimit)
		}
	}
	if err != nil {
		s.Shutdown()
		return nil, fmt.Errorf("the server of NATS did not start: %w", err)
	}
	return &Server{s}, nil
}

// fatals is a log of which only the first fatal message is wanted: why a server did not start.
type fatals chan error

func (f fatals) Fatalf(format string, v ...any) {
	select {
	case f <- fmt.Errorf(format, v...):
	default:
	}
}
func (fatals) Noticef(string, ...any) {}
func (fatals) Warnf(string, ...any)   {}
func (fatals) Errorf(string, ...any)  {}
func (fatals) Debugf(string, ...any)  {}
func (fatals) Tracef(string, ...any)  {}

// InProcessConn is a connection without the network, for [Access].
func (s *Server) InProcessConn() (net.Conn, error) { return s.nats.InProcessConn() }

// Addr is where the server listens.
func (s *Server) Addr() *net.TCPAddr { return s.nats.Addr().(*net.TCPAddr) }

// Broken says that the server has given up its streams, as it does when the disk is full.
func (s *Server) Broken() bool { return !s.nats.JetStreamEnabled() }

// Close stops the server.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
