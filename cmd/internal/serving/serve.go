package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/resource/memory"
)

// ServeCmd is a ZooKeeper server for tests.
type ServeCmd struct {
	Size      int         `default:"1" help:"The number of servers: 1, 3 or 5." range:"1,3,5"`
	Port      int         `default:"0" help:"The port of the first server; the others get the ports after it. 0: any free ports." range:"0..65535"`
	Control   string      `placeholder:"ADDR" help:"Serve an HTTP API at http://ADDR with which tests inject faults: see docs/serve.md."`
	Config    string      `placeholder:"zoo.cfg" help:"Settings as ZooKeeper reads them, such as tickTime, maxSessionTimeout or clientPortAddress; the server says which of them it does not have."`
	Faults    serveFaults `default:"none" placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out."`
	Log       string      `default:"faults.jsonl" placeholder:"FILE" help:"With --faults: append a line of JSON to this file for each fault that struck (${default})."`
	oddsFlags `embed:""`
}

// Ready is the line that announces that clients can connect.
type Ready struct {
	Servers []string `json:"servers"`
	Connect string   `json:"connect"`           // for clients
	Control string   `json:"control,omitempty"` // a URL
	Seed    *uint64  `json:"seed,omitempty"`    // of the faults
}

func (s *ServeCmd) Run(c *console.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	memory.TightenGC()
	cfg, err := console.Interruptible(c, s.settings)
	if err != nil {
		return console.OfFile("--config "+s.Config, err)
	}
	if len(cfg.ignored) > 0 {
		fmt.Fprintf(c.Stderr, "torture: --config %s: without %s\n", s.Config, strings.Join(cfg.ignored, ", "))
	}
	faults := s.faults()
	log, strikes, err := s.openLog(faults)
	if err != nil {
		return err
	}
	defer log.Close()
	ports, err := s.listen(cfg.host)
	if err != nil {
		return err
	}
	defer closeAll(ports)
	cfg.ensemble.Replicas = len(ports)
	servers, err := server.New(server.Config{
		Ensemble: cfg.ensemble, MaxClientCnxns: cfg.maxClientCnxns, Faults: faults,
		Log: slog.New(slog.NewTextHandler(c.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	defer servers.Close()
	at, err := s.open(servers, ports, faults)
	if err != nil {
		return err
	}
	reach.WarnBeyond(c, "clientPortAddress", ports[0].Addr(), "use the servers")
	if at.Control, err = s.control(c, servers); err != nil {
		return err
	}
	if err := json.NewEncoder(c.Stdout).Encode(at); err != nil {
		return err
	}
	select {
	case <-c.Done():
	case <-strikes.failed:
	}
	return errors.Join(servers.Close(), strikes.err, log.Close())
}

func (s *ServeCmd) Rules() []console.Rule {
	return append([]console.Rule{
		console.When(len(s.Faults.faults) > 0, "log", "needs --faults"),
	}, s.oddsFlags.Rules(len(s.Faults.faults) > 0)...)
}

func (s *ServeCmd) check() error {
	if s.Port+s.Size > 1<<16 {
		return fmt.Errorf("--port %d: there are fewer than %d ports from there on", s.Port, s.Size)
	}
	return nil
}

// settings reads the zoo.cfg, if there is one.
func (s *ServeCmd) settings() (*settings, error) {
	if s.Config == "" {
		return readZooCfg(nil)
	}
	file, err := os.Open(s.Config)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readZooCfg(file)
}

// listen opens the ports.
func (s *ServeCmd) listen(host string) (ports []net.Listener, err error) {
	for i := range s.Size {
		port := s.Port
		if port != 0 {
			port += i
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			closeAll(ports)
			return nil, fmt.Errorf("server %d cannot listen: %w", i+1, err)
		}
		ports = append(ports, l)
	}
	return ports, nil
}

func closeAll(ports []net.Listener) {
	for _, l := range ports {
		l.Close()
	}
}

// open lets clients in.
func (s *ServeCmd) open(servers *server.Server, ports []net.Listener, faults *server.Faults) (at Ready, err error) {
	for i, l := range ports {
		if err := servers.Open(i, l); err != nil {
			return at, err
		}
		at.Servers = append(at.Servers, l.Addr().String())
	}
	at.Connect = strings.Join(at.Servers, ",")
	if faults != nil {
		at.Seed = &faults.Seed
	}
	return at, nil
}

// control serves the control port, if there is one, and returns its URL.
func (s *ServeCmd) control(c *console.Context, servers *server.Server) (string, error) {
	if s.Control == "" {
		return "", nil
	}
	l, err := net.Listen("tcp", s.Control)
	if err != nil {
		return "", fmt.Errorf("--control: %w", err)
	}
	web := &http.Server{Handler: servers.Control(), ReadHeaderTimeout: 10 * time.Second}
	go web.Serve(l)
	context.AfterFunc(c, func() { web.Close() })
	reach.WarnBeyond(c, "--control", l.Addr(), "inject faults and read all data")
	return "http://" + l.Addr().String(), nil
}

// faults are what strikes by itself; nil: nothing.
func (s *ServeCmd) faults() *server.Faults {
	faults := s.Faults.faults
	if strings.Contains(s.Faults.text, "all") { // without those that cannot strike; to name one is an error
		faults = slices.DeleteFunc(faults, func(f strike.Fault) bool { return !f.Strikes(s.Size) })
	}
	if len(faults) == 0 {
		return nil
	}
	return &server.Faults{Strike: faults, Every: s.every(), Seed: s.seed()}
}

// openLog opens the log of what strikes, and lets the faults, if there are any, tell it.
func (s *ServeCmd) openLog(faults *server.Faults) (file io.WriteCloser, strikes *strikeLog, err error) {
	strikes = &strikeLog{failed: make(chan struct{})}
	if faults == nil {
		return console.NopCloser{Writer: io.Discard}, strikes, nil
	}
	if file, err = openLog(s.Log, nil); err != nil {
		return nil, nil, err
	}
	strikes.out, faults.Struck = json.NewEncoder(file), strikes.write
	return file, strikes, nil
}
