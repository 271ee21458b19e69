package chaosproxy

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// Config configures a proxy.
type Config struct {
	Listen  string // address to listen on; a free port of the loopback interface by default
	Servers []string
	Dial    proxy.Dialer   // to servers; nil for plain TCP
	Faults  []strike.Fault // of those that strike.Faults has OnProxy; none for a plain proxy
	Every   int            // one request in so many draws a fault; needed if there are faults
	Seed    uint64
	Struck  func(strike.Strike) // called for each fault that strikes, one at a time
	Log     *slog.Logger        // for what is malformed, and for servers that do not do what they should

	link *Link // of the only client; nil if there are others
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
	proxy   *proxy.Proxy
	lasting sync.WaitGroup

	mu     sync.Mutex
	engine *strike.Engine
	struck map[strike.Fault]int
	healed chan struct{} // closed and replaced by Heal
}

// New returns a proxy that listens.
func New(cfg Config) (*Proxy, error) {
	if cfg.Struck == nil {
		return nil, errors.New("chaosproxy: Struck is needed, because nothing else reports the faults")
	}
	lottery := strike.Lottery{Ways: strike.Ways(strike.OnProxy), Faults: cfg.Faults, Every: cfg.Every, Seed: cfg.Seed}
	if err := lottery.Validate(); err != nil {
		return nil, fmt.Errorf("chaosproxy: %w", err)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	p := &Proxy{cfg: cfg, struck: map[strike.Fault]int{}, healed: make(chan struct{})}
	p.engine = strike.NewEngine(strike.Config{One: cfg.link != nil, Lottery: lottery})
	p.mu.Lock() // until there is a proxy
	defer p.mu.Unlock()
	forwards := proxy.Config{Listen: cfg.Listen, Servers: cfg.Servers, Dial: cfg.Dial, Log: cfg.Log,
		Director: p.direct, Ended: p.ended}
	if cfg.link != nil {
		forwards.Arrived = cfg.link.arrived
	}
	var err error
	p.proxy, err = proxy.New(forwards)
	return p, err
}

// Addr is the address on which clients reach it.
func (p *Proxy) Addr() string { return p.proxy.Addr() }

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() error {
	p.Heal()
	err := p.proxy.Close()
	p.lasting.Wait()
	return err
}

// Heal ends all that lasts and disarms the rest. Clients can reach their servers when it returns.
func (p *Proxy) Heal() {
	p.mu.Lock()
	p.engine.Rearm(nil)
	close(p.healed)
	p.healed = make(chan struct{})
	p.mu.Unlock()
	p.silence(false)
	p.proxy.CutHalfOpen()
}

// Stats returns what has happened so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	open, opened, requests := p.engine.Stats()
	return Stats{Open: open, Clients: opened, Requests: requests, Struck: maps.Clone(p.struck)}
}

// tell counts and reports a fault that strikes now.
func (p *Proxy) tell(s strike.Strike) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck[s.Fault]++
	s.Time = time.Now()
	p.cfg.Struck(s)
}
