package chaosproxy

import (
	"log/slog"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// Link is a proxy of one client. All methods may be called at any time.
//
// Faults are armed for the client's requests, which are counted from then on. So a client that behaves equally meets
// equal faults, and a fault always strikes while something is under way. It reports at once when it strikes.
//
// A Link also knows, for each session of its client, until when it was surely alive: for a session timeout after
// the last request that a server answered was sent, unless a fault ended it. ZooKeeper ends no session sooner
// (Programmer's Guide, "ZooKeeper Sessions"), so whatever the session held, it held until then. A request without an
// answer says nothing: the session may have ended before it arrived.
//
// A server that has lost its leader goes on answering reads and pings for a while ([LinkConfig.Alone]). The leader, which
// ends sessions, does not hear of those, so that much is taken off. What involves the leader needs no such care: a
// session was alive when a write that was carried out or refused was sent, and for a timeout from when the client
// connected.
type Link struct {
	*Proxy
	record

	mu    sync.Mutex
	begun func(strike.Strike)
}

// LinkConfig configures a link.
type LinkConfig struct {
	Servers []string     // addresses
	Dial    proxy.Dialer // to servers; nil for plain TCP
	Log     *slog.Logger

	// Alone is how long a server that has lost its leader may go on answering clients: the servers' syncLimit; 0 if
	// they all reach each other; negative if unknown.
	Alone time.Duration
}

// NewLink returns a link.
func NewLink(cfg LinkConfig) (*Link, error) {
	l := &Link{record: newRecord(cfg.Alone), begun: func(strike.Strike) {}}
	var err error
	l.Proxy, err = New(Config{
		Servers: cfg.Servers, Dial: cfg.Dial, Struck: func(strike.Strike) {}, Log: cfg.Log, link: l,
	})
	return l, err
}

// Arm lets the faults of a plan strike at the requests of client 1, which are counted from now on, and disarms those
// armed before. It calls begun when one strikes, before anything is done.
func (l *Link) Arm(plan strike.Plan, begun func(strike.Strike)) {
	l.mu.Lock()
	l.begun = begun
	l.mu.Unlock()
	l.Proxy.mu.Lock()
	defer l.Proxy.mu.Unlock()
	l.engine.Rearm(plan)
}

// begins reports that a fault strikes.
func (l *Link) begins(s strike.Strike) {
	l.mu.Lock()
	begun := l.begun
	l.mu.Unlock()
	begun(s)
}
