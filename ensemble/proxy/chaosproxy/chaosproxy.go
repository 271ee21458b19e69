package chaosproxy

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire/strike"
)

// Config configures a proxy.
type Config struct {
	Listen  string // address to listen on; a free port of the loopback interface by default
	Servers []string
	Dial    proxy.Dialer   // to servers; nil for plain TCP
	Faults  []strike.Fault // of [Faults]; none for a plain proxy
	Odds    strike.Odds    // needed if there are faults
	Seed    uint64
	Struck  func(strike.Strike) // called for each fault that strikes, one at a time
	Log     *slog.Logger        // for what is malformed, and for servers that do not do what they should
}

// Stats is what has happened so far.
type Stats struct {
	Open     int // connections
	Clients  int // sessions that were opened
	Requests int // pings and the like apart
	Struck   map[strike.Fault]int
}

// Total is how many faults struck.
func (s Stats) Total() (n int) {
	for _, times := range s.Struck {
		n += times
	}
	return n
}

// Proxy is a proxy that injects faults. All methods may be called at any time.
type Proxy struct {
	cfg     Config
	lottery strike.Lottery
	proxy   *proxy.Proxy

	mu       sync.Mutex
	clients  map[int64]*client // by session
	lines    map[int]*line     // by connection
	opened   int
	requests int
	struck   map[strike.Fault]int
}

// New returns a proxy that listens.
func New(cfg Config) (*Proxy, error) {
	if cfg.Struck == nil {
		return nil, errors.New("chaosproxy: Struck is needed, because nothing else reports the faults")
	}
	if len(cfg.Faults) > 0 {
		if err := cfg.Odds.Validate(); err != nil {
			return nil, fmt.Errorf("chaosproxy: %w", err)
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	lottery := strike.Lottery{Ways: ways, Faults: cfg.Faults, Odds: cfg.Odds, Seed: cfg.Seed}
	p := &Proxy{
		cfg: cfg, lottery: lottery,
		clients: map[int64]*client{}, lines: map[int]*line{}, struck: map[strike.Fault]int{},
	}
	p.mu.Lock() // until there is a proxy
	defer p.mu.Unlock()
	var err error
	p.proxy, err = proxy.New(proxy.Config{
		Listen: cfg.Listen, Servers: cfg.Servers, Dial: cfg.Dial, Director: p.direct, Ended: p.ended, Log: cfg.Log,
	})
	return p, err
}

// Addr is the address on which clients reach it.
func (p *Proxy) Addr() string { return p.proxy.Addr() }

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() error { return p.proxy.Close() }

// Stats returns what has happened so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: len(p.lines), Clients: p.opened, Requests: p.requests, Struck: maps.Clone(p.struck)}
}

// tell counts and reports a fault that strikes now.
func (p *Proxy) tell(s strike.Strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck[s.Fault]++
	s.Time = time.Now()
	p.cfg.Struck(s)
}
