// Package link is a proxy between one client and its servers, on which faults strike.
//
// Faults are armed for the client's requests, which are counted from then on. So a client that behaves equally meets
// equal faults, and a fault always strikes while something is under way. It reports at once when it strikes.
//
// A [Link] also knows, for each session of its client, until when it was surely alive: for a session timeout after
// the last request that a server answered was sent, unless a fault ended it. ZooKeeper ends no session sooner
// (Programmer's Guide, "ZooKeeper Sessions"), so whatever the session held, it held until then. A request without an
// answer says nothing: the session may have ended before it arrived.
//
// A server that has lost its leader goes on answering reads and pings for a while ([Config.Alone]). The leader, which
// ends sessions, does not hear of those, so that much is taken off. What involves the leader needs no such care: a
// session was alive when a write that was carried out or refused was sent, and for a timeout from when the client
// connected.
package link

import (
	"log/slog"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
)

// Config configures a link.
type Config struct {
	Servers []string     // addresses
	Dial    proxy.Dialer // to servers; nil for plain TCP
	Log     *slog.Logger

	// Alone is how long a server that has lost its leader may go on answering clients: the servers' syncLimit; 0 if
	// they all reach each other; negative if unknown.
	Alone time.Duration
}

// Link is a proxy of one client. All methods may be called at any time.
type Link struct {
	*chaosproxy.Proxy
	record

	mu    sync.Mutex
	begun func(strike.Strike)
}

// New returns a link.
func New(cfg Config) (*Link, error) {
	l := &Link{record: newRecord(cfg.Alone), begun: func(strike.Strike) {}}
	var err error
	l.Proxy, err = chaosproxy.New(chaosproxy.Config{
		Servers: cfg.Servers, Dial: cfg.Dial, Client: l, Struck: func(strike.Strike) {}, Log: cfg.Log,
	})
	return l, err
}

// Arm lets faults strike at the requests of client 1, which are counted from now on, and disarms the faults armed
// before. It calls begun when one strikes, before anything is done.
func (l *Link) Arm(plan strike.Plan, begun func(strike.Strike)) {
	l.mu.Lock()
	l.begun = begun
	l.mu.Unlock()
	l.Proxy.Arm(plan)
}

// Begun implements [chaosproxy.Client].
func (l *Link) Begun(s strike.Strike) {
	l.mu.Lock()
	begun := l.begun
	l.mu.Unlock()
	begun(s)
}
