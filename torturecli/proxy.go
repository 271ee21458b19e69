package torturecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/internal/gc"
	"github.com/zktorture/zktorture/wire/strike"
	"github.com/zktorture/zktorture/zkclient"
)

// proxyCmd is a proxy between foreign clients and servers.
type proxyCmd struct {
	Listen       string `help:"The address that clients connect to, without TLS." default:"127.0.0.1:21810"`
	Servers      string `required:"" placeholder:"A:2181,…" help:"Addresses of the servers, without a chroot, which belongs in the clients' connect string."`
	Expose       bool   `help:"With --tls-cert: allow a --listen address that other machines can reach. Whoever connects to it acts with that certificate." needs:"tls-cert"`
	Faults       string `help:"The faults that may strike: loss, hold, refuse, stall, watch and expiry, with commas between them; all; or none." default:"all"`
	Log          string `placeholder:"FILE" help:"Append a line of JSON to this file for each fault that struck. Default: standard output."`
	oddsFlags    `embed:""`
	tlsFlags     `embed:""`
	metricsFlags `embed:""`
}

// oddsFlags say how often faults strike, and which.
type oddsFlags struct {
	Every int     `placeholder:"N" help:"One request in N draws a fault. Default: 100, or none with --rate." range:"1.." excludes:"rate,faults=none"`
	Rate  float64 `placeholder:"N" help:"Instead of --every: N faults a minute for each client, however many requests it makes." range:">0" excludes:"faults=none"`
	Seed  *uint64 `help:"Equal seeds give equal clients equal faults. Default: a new one, which is printed." excludes:"faults=none"`
}

// everyDefault is the default of --every, in requests.
const everyDefault = 100

// Run executes the command.
func (p *proxyCmd) Run(c *commandContext) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	reach, err := p.reach()
	if err != nil {
		return err
	}
	gc.Tighten()
	log, err := openLog(p.Log, c.out)
	if err != nil {
		return err
	}
	defer log.Close()
	strikes := &strikeLog{out: json.NewEncoder(log), failed: make(chan struct{})}
	cfg.Struck, cfg.Log = strikes.write, slog.New(slog.NewTextHandler(c.err, nil))
	chaos, err := chaosproxy.New(cfg)
	if err != nil {
		return err
	}
	defer chaos.Close()
	stop, err := p.serve(c, &proxyMetrics{chaos})
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(c.err, "torture: %s forwards to %s; faults %s, seed %d\n", chaos.Addr(), strings.Join(cfg.Servers, ","),
		p.Faults, cfg.Seed)
	if reach != "" {
		fmt.Fprintln(c.err, "torture: "+reach)
	}
	follow(c, chaos, strikes.failed)
	err = errors.Join(chaos.Close(), strikes.err, log.Close())
	fmt.Fprintln(c.err, "torture: "+statusLine(chaos.Stats()))
	return err
}

func (p *proxyCmd) config(c *commandContext) (chaosproxy.Config, error) {
	addresses, chroot, err := zkclient.ParseServers(p.Servers)
	if err != nil {
		return chaosproxy.Config{}, err
	}
	if chroot != "" {
		return chaosproxy.Config{}, fmt.Errorf("--servers: a chroot belongs in the clients' connect string: "+
			"move %s there", chroot)
	}
	if err := wireFaultNames(chaosproxy.Faults).findAll(c, p.Faults); err != nil {
		return chaosproxy.Config{}, err
	}
	faults, err := strike.Parse(p.Faults, chaosproxy.Faults)
	if err != nil {
		return chaosproxy.Config{}, fmt.Errorf("--faults: %w", err)
	}
	dial, err := p.dialer()
	if err != nil {
		return chaosproxy.Config{}, err
	}
	return chaosproxy.Config{Listen: p.Listen, Servers: addresses, Dial: proxy.Dialer(dial), Faults: faults,
		Odds: p.odds(), Seed: p.seed()}, nil
}

// reach says how other machines can use the proxy, or is empty. With a certificate they would act as the user, which
// must be allowed explicitly.
func (p *proxyCmd) reach() (string, error) {
	address, err := net.ResolveTCPAddr("tcp", p.Listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("--listen: %w", err)
	case address.IP.IsLoopback():
		return "", nil
	case p.TLSCert != "" && !p.Expose:
		return "", fmt.Errorf("--listen %s can be reached from other machines, "+
			"and whoever connects would act with the certificate of --tls-cert: "+
			"listen on 127.0.0.1, or add --expose to allow that", p.Listen)
	}
	return fmt.Sprintf("%s can be reached from other machines, and anyone who connects reaches the servers",
		p.Listen), nil
}

func (p *oddsFlags) odds() strike.Odds {
	odds := strike.Odds{Every: p.Every, PerMinute: p.Rate}
	if odds == (strike.Odds{}) {
		odds.Every = everyDefault
	}
	return odds
}

func (p *oddsFlags) seed() uint64 {
	if p.Seed == nil {
		return rand.Uint64() >> 32
	}
	return *p.Seed
}

// openLog opens the log.
func openLog(name string, standard io.Writer) (io.WriteCloser, error) {
	if name == "" {
		return nopCloser{standard}, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	return file, nil
}

// strikeLog writes a line for each fault that struck. A write error ends the command, as unlogged faults are useless.
type strikeLog struct {
	mu     sync.Mutex
	out    *json.Encoder
	once   sync.Once
	failed chan struct{}
	err    error
}

func (l *strikeLog) write(s strike.Strike) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Encode(s); err != nil {
		l.once.Do(func() {
			l.err = fmt.Errorf("--log: %w", err)
			close(l.failed)
		})
	}
}

// statusEvery is the interval of the status line.
const statusEvery = 500 * time.Millisecond

// follow updates the status line, on a terminal, until the command ends.
func follow(c *commandContext, chaos *chaosproxy.Proxy, failed <-chan struct{}) {
	line, began := newLine(c, false, `{{string . "text"}}`), time.Now()
	defer line.end()
	again := time.NewTicker(statusEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			line.show(fmt.Sprintf("%v %s", time.Since(began).Round(time.Second), statusLine(chaos.Stats())), 0, 0)
		case <-failed:
			return
		case <-c.Done():
			return
		}
	}
}

func statusLine(s chaosproxy.Stats) string {
	line := fmt.Sprintf("%d connections open, %d clients, %d requests, %d faults", s.Open, s.Clients,
		s.Requests, s.Total())
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(s.Struck)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, s.Struck[kind]))
	}
	if len(kinds) > 0 {
		line += ": " + strings.Join(kinds, ", ")
	}
	return line
}

var (
	connectionsOpen = describe("proxy_connections", "Connections that are open.")
	clientsTotal    = describe("proxy_clients_total", "Sessions that clients have opened.")
	requestsTotal   = describe("proxy_requests_total", "Requests that clients have made; pings and the like apart.")
)

// proxyMetrics are the metrics of a proxy.
type proxyMetrics struct{ proxy *chaosproxy.Proxy }

// Describe implements prometheus.Collector.
func (m *proxyMetrics) Describe(descs chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(m, descs)
}

// Collect implements prometheus.Collector.
func (m *proxyMetrics) Collect(metrics chan<- prometheus.Metric) {
	s := m.proxy.Stats()
	metrics <- prometheus.MustNewConstMetric(connectionsOpen, prometheus.GaugeValue, float64(s.Open))
	count(metrics, clientsTotal, float64(s.Clients))
	count(metrics, requestsTotal, float64(s.Requests))
	countEach(metrics, faultsTotal, s.Struck)
}
