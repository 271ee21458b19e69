package torturecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/server"
)

// serveCmd is a ZooKeeper server for tests.
type serveCmd struct {
	Servers        int           `default:"1" help:"How many servers: 1, 3 or 5."`
	Host           string        `default:"127.0.0.1" help:"Address to listen on. There are no passwords: whoever reaches it can use it."`
	Port           int           `default:"0" help:"Port of the first server; the next have the next ones. 0: any that are free."`
	Control        string        `placeholder:"ADDR" help:"Serve at http://ADDR what tests use to make bad things happen: docs/serve.md."`
	Tick           time.Duration `default:"2s" help:"tickTime. Sessions take from 2 to 20 of them, unless said otherwise."`
	MinSession     time.Duration `help:"minSessionTimeout. Default: 2 ticks."`
	MaxSession     time.Duration `help:"maxSessionTimeout. Default: 20 ticks."`
	MaxClientCnxns int           `default:"60" help:"How many connections a host may have to a server; 0 for any number."`
	Data           string        `placeholder:"DIR" help:"Keep znodes and sessions in a folder. Without it nothing is written."`
	TTL            bool          `help:"Znodes with a time to live (zookeeper.extendedTypesEnabled)."`
	Faults         string        `default:"none" help:"What may strike: a list of loss, hold, refuse, stall, watch, expiry; all or none."`
	Log            string        `default:"faults.jsonl" placeholder:"FILE" help:"Append a line of JSON for each fault that struck to a file (${default}), if there are --faults."`
	oddsFlags      `embed:""`
}

// ready is the line that announces that clients can connect.
type ready struct {
	Servers []string `json:"servers"`
	Connect string   `json:"connect"`           // for clients
	Control string   `json:"control,omitempty"` // a URL
	Seed    *uint64  `json:"seed,omitempty"`    // of the faults
}

// Run executes the command.
func (s *serveCmd) Run(c *commandContext) error {
	if err := s.check(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.err, nil))
	servers, err := server.New(server.Config{
		Ensemble: s.ensemble(), MaxClientCnxns: s.MaxClientCnxns, Data: s.Data, Log: log,
	})
	if err != nil {
		return err
	}
	defer servers.Close()
	bad := &badDays{flags: s, log: log, failed: make(chan struct{})}
	defer bad.close()
	at, err := bad.listen(servers)
	if err != nil {
		return err
	}
	if at.Control, err = s.control(c, servers); err != nil {
		return err
	}
	if err := json.NewEncoder(c.out).Encode(at); err != nil {
		return err
	}
	select {
	case <-c.Done():
	case <-bad.failed:
	case <-servers.Done():
	}
	return errors.Join(servers.Close(), bad.close())
}

func (s *serveCmd) check() error {
	switch {
	case s.Servers != 1 && s.Servers != 3 && s.Servers != 5:
		return fmt.Errorf("--servers %d: there can be 1, 3 or 5", s.Servers)
	case s.Port < 0 || s.Port+s.Servers > 1<<16:
		return fmt.Errorf("--port %d: there are no %d ports from there on", s.Port, s.Servers)
	case s.Tick < time.Millisecond || s.MinSession < 0 || s.MaxSession < 0:
		return errors.New("--tick has to be at least 1ms, --min-session and --max-session at least 0")
	case s.MaxSession != 0 && s.MaxSession < cmp.Or(s.MinSession, 2*s.Tick):
		return fmt.Errorf("--max-session %v is less than --min-session %v",
			s.MaxSession, cmp.Or(s.MinSession, 2*s.Tick))
	case s.MaxClientCnxns < 0:
		return errors.New("--max-client-cnxns cannot be negative; 0 stands for any number")
	}
	return nil
}

func (s *serveCmd) ensemble() fakezk.Config {
	return fakezk.Config{Replicas: s.Servers, Tick: s.Tick.Milliseconds(), MinSession: s.MinSession.Milliseconds(),
		MaxSession: s.MaxSession.Milliseconds(), TTL: s.TTL, Order: rand.Uint64()}
}

// address is the address of a server for clients.
func (s *serveCmd) address(member int) string {
	port := s.Port
	if port != 0 {
		port += member
	}
	return net.JoinHostPort(s.Host, strconv.Itoa(port))
}

// control serves the control port, if there is one, and returns its URL.
func (s *serveCmd) control(c *commandContext, servers *server.Server) (string, error) {
	if s.Control == "" {
		return "", nil
	}
	l, err := net.Listen("tcp", s.Control)
	if err != nil {
		return "", fmt.Errorf("--control: %w", err)
	}
	web := &http.Server{Handler: servers.Control(), ReadHeaderTimeout: metricsPatience}
	go web.Serve(l)
	context.AfterFunc(c, func() { web.Close() })
	return "http://" + l.Addr().String(), nil
}

// badDays are the proxies that inject faults, one before each server, if there are faults.
type badDays struct {
	flags   *serveCmd
	log     *slog.Logger
	proxies []*chaosproxy.Proxy
	strikes *strikeLog
	file    io.Closer
	failed  chan struct{}
}

// listen opens all ports.
func (b *badDays) listen(servers *server.Server) (at ready, err error) {
	faults, err := chaosproxy.ParseFaults(b.flags.Faults)
	if err != nil {
		return at, fmt.Errorf("--faults: %w", err)
	}
	if len(faults) > 0 {
		out, err := openLog(b.flags.Log, nil)
		if err != nil {
			return at, err
		}
		b.file, b.strikes = out, &strikeLog{out: json.NewEncoder(out), failed: b.failed}
		seed := b.flags.seed()
		at.Seed = &seed
	}
	for i := range servers.Members() {
		address := b.flags.address(i)
		if b.strikes != nil {
			address = "127.0.0.1:0"
		}
		if err := servers.Listen(i, address); err != nil {
			return at, err
		}
		address = servers.Addr(i)
		if b.strikes != nil {
			if address, err = b.before(i, address, faults, *at.Seed); err != nil {
				return at, err
			}
		}
		at.Servers = append(at.Servers, address)
	}
	at.Connect = strings.Join(at.Servers, ",")
	return at, nil
}

// before puts a proxy before a server, and returns its address.
func (b *badDays) before(member int, address string, faults []string, seed uint64) (string, error) {
	p, err := chaosproxy.New(chaosproxy.Config{
		Listen: b.flags.address(member), Servers: []string{address},
		Faults: faults, Odds: b.flags.odds(), Seed: seed + uint64(member), Struck: b.strikes.write, Log: b.log,
	})
	if err != nil {
		return "", err
	}
	b.proxies = append(b.proxies, p)
	return p.Addr(), nil
}

func (b *badDays) close() (err error) {
	for _, p := range b.proxies {
		err = errors.Join(err, p.Close())
	}
	b.proxies = nil
	if b.strikes != nil {
		err = errors.Join(err, b.strikes.err, b.file.Close())
		b.strikes = nil
	}
	return err
}
