package badday

import (
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
)

// Config says between whom the proxy stands, and what it does.
type Config struct {
	Listen  string // address to listen on; a free port of the loopback interface by default
	Servers []string
	Dial    proxy.Dialer // to servers; nil for plain TCP
	Faults  []string     // of [Names]; none for a plain proxy
	Odds    Odds         // needed if there are faults
	Seed    uint64
	Struck  func(Strike) // called for each fault that strikes, one at a time
	Log     *slog.Logger // for what is malformed, and for servers that do not do what they should
}

// Strike is a fault that struck.
type Strike struct {
	Time       time.Time `json:"time"`
	Fault      string    `json:"fault"`
	Variant    string    `json:"variant,omitempty"`
	ForMS      int64     `json:"for_ms,omitempty"` // how long it lasts, in milliseconds, if it does
	Client     int       `json:"client"`           // clients are numbered as they open sessions, from 1
	Connection int       `json:"connection"`       // and connections as they come, from 1
	Session    string    `json:"session"`          // in hexadecimal, as the servers log it
	Request    int       `json:"request"`          // n-th of the client, which drew the fault
	Op         string    `json:"op"`               // of that request
	Path       string    `json:"path,omitempty"`
	Server     string    `json:"server"`
}

// Stats is what has happened so far.
type Stats struct {
	Open     int // connections
	Clients  int // sessions that were opened
	Requests int // pings and the like apart
	Struck   map[string]int
}

// Total is how many faults struck.
func (s Stats) Total() (n int) {
	for _, times := range s.Struck {
		n += times
	}
	return n
}

// Day is a proxy under which clients have a bad day. All methods may be called at any time.
type Day struct {
	cfg   Config
	proxy *proxy.Proxy

	mu       sync.Mutex
	clients  map[int64]*client // by session
	lines    map[int]*line     // by connection
	opened   int
	requests int
	struck   map[string]int
}

// New returns a proxy that listens.
func New(cfg Config) (*Day, error) {
	if cfg.Struck == nil {
		return nil, errors.New("badday: Struck is needed: nobody would know what happened")
	}
	if len(cfg.Faults) > 0 {
		if err := cfg.Odds.validate(); err != nil {
			return nil, err
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	d := &Day{cfg: cfg, clients: map[int64]*client{}, lines: map[int]*line{}, struck: map[string]int{}}
	d.mu.Lock() // until there is a proxy
	defer d.mu.Unlock()
	var err error
	d.proxy, err = proxy.New(proxy.Config{Listen: cfg.Listen, Servers: cfg.Servers, Dial: cfg.Dial, Director: d.direct, Ended: d.ended, Log: cfg.Log})
	return d, err
}

// Addr is the address on which clients reach it.
func (d *Day) Addr() string { return d.proxy.Addr() }

// Close cuts all connections and ends the proxy.
func (d *Day) Close() error { return d.proxy.Close() }

// Stats returns what has happened so far.
func (d *Day) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{Open: len(d.lines), Clients: d.opened, Requests: d.requests, Struck: maps.Clone(d.struck)}
}

// tell counts and reports a fault that strikes now.
func (d *Day) tell(s Strike) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.struck[s.Fault]++
	s.Time = time.Now()
	d.cfg.Struck(s)
}
