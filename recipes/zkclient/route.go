package zkclient

import (
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// roundPause is how long the client rests when it has tried all servers in vain.
const roundPause = 50 * time.Millisecond

// Bounds of the time that a server has at first to be connected to, and to answer a connect request.
const (
	answerMin = 100 * time.Millisecond
	answerMax = time.Second
)

// answerGrowth is how many times as much time servers have at most when all of them are slow.
const answerGrowth = 16

// route is the way to a server: go-zookeeper's HostProvider and its dialer in one, because the two together decide
// when to try which server, and for how long.
//
// It never tells go-zookeeper that a round is over (retryStart), since that costs a second and the queued requests;
// only after close does it, since nothing else ends go-zookeeper's search. It rests between rounds in dial and not in
// Next, which is called with a lock held that Conn.Server needs.
type route struct {
	dialer zk.Dialer
	first  time.Duration // that servers have at first for dialling and for the connect response, each
	closed chan struct{}

	mu      sync.Mutex
	servers []string
	tried   int // since the last success
	current int
	answer  time.Duration // that servers have now
	slow    bool          // a server of this round did not answer in time
	open    *newConn      // the connection that has no session yet
	lastErr error
	once    sync.Once
}

func newRoute(dialer zk.Dialer, sessionTimeout time.Duration) *route {
	if dialer == nil {
		dialer = net.DialTimeout
	}
	first := min(max(sessionTimeout/4, answerMin), answerMax)
	return &route{dialer: dialer, first: first, answer: first, closed: make(chan struct{}), current: -1}
}

// Init implements zk.HostProvider. Names are resolved at each attempt, not here.
func (r *route) Init(servers []string) error {
	r.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (r *route) Len() int { return len(r.servers) }

// Next implements zk.HostProvider.
func (r *route) Next() (server string, retryStart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried++
	r.current = (r.current + 1) % len(r.servers)
	return r.servers[r.current], r.isClosed()
}

// Connected implements zk.HostProvider: the session is established.
func (r *route) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried, r.lastErr, r.answer, r.slow = 0, nil, r.first, false
	if r.open != nil {
		r.open.establish()
		r.open = nil
	}
}

// dial implements zk.Dialer. How long it may take is the route's business, not go-zookeeper's.
func (r *route) dial(network, address string, _ time.Duration) (net.Conn, error) {
	if !r.rest() {
		return nil, net.ErrClosed
	}
	answer := r.patience()
	conn, err := r.dialer(network, address, answer)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.slow = r.slow || timedOut(err)
		r.lastErr = err
		return nil, err
	}
	r.lastErr = errors.New(address + " accepted the connection but has not answered: it hangs, or is not part of " +
		"a majority")
	r.open = &newConn{Conn: conn, deadline: time.Now().Add(answer)}
	return r.open, nil
}

// patience is how long the next server has to answer: twice as long in the next round if one was too slow in a round
// without success, since the machine or the network may be slow.
func (r *route) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil { // it has not answered
		r.slow = r.slow || !time.Now().Before(r.open.deadline)
		r.open = nil
	}
	if r.slow && r.tried > 1 && (r.tried-1)%len(r.servers) == 0 {
		r.answer, r.slow = min(2*r.answer, answerGrowth*r.first), false
	}
	return r.answer
}

func timedOut(err error) bool {
	var of net.Error
	return errors.As(err, &of) && of.Timeout()
}

// rest waits a little after each full round; it is false if the client was closed.
func (r *route) rest() bool {
	r.mu.Lock()
	again := r.tried > len(r.servers)
	first := (r.tried-1)%len(r.servers) == 0
	r.mu.Unlock()
	if !again || !first {
		return !r.isClosed()
	}
	timer := time.NewTimer(roundPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.closed:
		return false
	}
}

func (r *route) isClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

func (r *route) close() { r.once.Do(func() { close(r.closed) }) }

// trouble says why there is no session.
func (r *route) trouble() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lastErr == nil {
		return "is a server running there?"
	}
	return r.lastErr.Error()
}

func (r *route) String() string { return strings.Join(r.servers, ",") }

// newConn allows no later deadline for reading than its own until the session is established.
type newConn struct {
	net.Conn
	mu          sync.Mutex
	deadline    time.Time
	established bool
}

func (c *newConn) establish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.established = true
}

// SetReadDeadline is what go-zookeeper calls before it reads the connect response (with 10 receive timeouts), between
// its two parts (with none), and before every later frame.
func (c *newConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.established && (t.IsZero() || t.After(c.deadline)) {
		t = c.deadline
	}
	return c.Conn.SetReadDeadline(t)
}
