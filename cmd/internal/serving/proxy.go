package serving

import (
	"cmp"
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

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/live/zkclient"
)

// ProxyCmd is a proxy between foreign clients and servers.
type ProxyCmd struct {
	Listen         string      `help:"The address that clients connect to, without TLS." default:"127.0.0.1:21810"`
	Servers        string      `required:"" placeholder:"A:2181,…" help:"Addresses of the servers, without a chroot, which belongs in the clients' connect string."`
	Faults         proxyFaults `placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out." default:"all"`
	Log            string      `placeholder:"FILE" help:"Append a line of JSON to this file for each fault that struck. Default: standard output."`
	oddsFlags      `embed:""`
	reach.TLSFlags `embed:""`
}

// oddsFlags say how often faults strike, and which.
type oddsFlags struct {
	Every int     `placeholder:"NUMBER" help:"One request in so many draws a fault. Default: 100." range:"1.."`
	Seed  *uint64 `help:"Same seed and same requests: same faults. Default: a new one, which is printed."`
}

func (p *ProxyCmd) Rules() []console.Rule {
	return append(p.TLSFlags.Rules(), p.oddsFlags.Rules(len(p.Faults.faults) > 0)...)
}

func (o *oddsFlags) Rules(faults bool) []console.Rule {
	return []console.Rule{
		console.When(faults, "every seed", "cannot be used with --faults none"),
	}
}

// everyDefault is the default of --every, in requests.
const everyDefault = 100

func (p *ProxyCmd) Run(c *console.Context) error {
	cfg, err := p.config()
	if err != nil {
		return err
	}
	at, err := p.reach()
	if err != nil {
		return err
	}
	memory.TightenGC()
	log, err := openLog(p.Log, c.Stdout)
	if err != nil {
		return err
	}
	defer log.Close()
	strikes := &strikeLog{out: json.NewEncoder(log), failed: make(chan struct{})}
	cfg.Struck, cfg.Log = strikes.write, slog.New(slog.NewTextHandler(c.Stderr, nil))
	chaos, err := chaosproxy.New(cfg)
	if err != nil {
		return err
	}
	defer chaos.Close()
	fmt.Fprintf(c.Stderr, "torture: %s forwards to %s; faults %s, seed %d\n", chaos.Addr(), strings.Join(cfg.Servers, ","),
		p.Faults.text, cfg.Seed)
	if at != "" {
		fmt.Fprintln(c.Stderr, "torture: "+at)
	}
	follow(c, chaos, strikes.failed)
	err = errors.Join(chaos.Close(), strikes.err, log.Close())
	fmt.Fprintln(c.Stderr, "torture: "+statusLine(chaos.Stats()))
	return err
}

func (p *ProxyCmd) config() (chaosproxy.Config, error) {
	addresses, chroot, err := zkclient.ParseServers(p.Servers)
	if err != nil {
		return chaosproxy.Config{}, err
	}
	if chroot != "" {
		return chaosproxy.Config{}, fmt.Errorf("--servers: a chroot belongs in the clients' connect string: "+
			"move %s there", chroot)
	}
	dial, err := p.Dialer()
	if err != nil {
		return chaosproxy.Config{}, err
	}
	return chaosproxy.Config{Listen: p.Listen, Servers: addresses, Dial: proxy.Dialer(dial), Faults: p.Faults.faults,
		Every: p.every(), Seed: p.seed()}, nil
}

// reach says how other machines can use the proxy, or is empty. With a certificate they would act as the user, which
// is refused.
func (p *ProxyCmd) reach() (string, error) {
	address, err := net.ResolveTCPAddr("tcp", p.Listen)
	switch {
	case err != nil:
		return "", fmt.Errorf("--listen: %w", err)
	case address.IP.IsLoopback():
		return "", nil
	case p.TLSCert != "":
		return "", fmt.Errorf("--listen %s can be reached from other machines, "+
			"and whoever connects would act with the certificate of --tls-cert: "+
			"listen on 127.0.0.1", p.Listen)
	}
	return fmt.Sprintf("%s can be reached from other machines, and anyone who connects reaches the servers",
		p.Listen), nil
}

func (p *oddsFlags) every() int { return cmp.Or(p.Every, everyDefault) }

func (p *oddsFlags) seed() uint64 {
	if p.Seed == nil {
		return rand.Uint64() >> 32
	}
	return *p.Seed
}

// openLog opens the log.
func openLog(name string, standard io.Writer) (io.WriteCloser, error) {
	if name == "" {
		return console.NopCloser{Writer: standard}, nil
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
func follow(c *console.Context, chaos *chaosproxy.Proxy, failed <-chan struct{}) {
	line, began := console.NewLine(c, false), time.Now()
	defer line.End()
	again := time.NewTicker(statusEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			line.Show(fmt.Sprintf("%v %s", time.Since(began).Round(time.Second), statusLine(chaos.Stats())), 0, 0)
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
