package zkclient

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
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
	trouble string        // why there is no session; "" if that is not known
	hungUp  string        // a server that has closed a connection in place of an answer
	final   int           // servers in turn that no waiting makes reachable
	vain    chan struct{} // closed when that is so of all
	once    sync.Once
}

func newRoute(dialer zk.Dialer, sessionTimeout time.Duration) *route {
	if dialer == nil {
		dialer = net.DialTimeout
	}
	first := min(max(sessionTimeout/4, answerMin), answerMax)
	return &route{dialer: dialer, first: first, answer: first, closed: make(chan struct{}),
		vain: make(chan struct{}), current: -1}
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
	r.tried, r.trouble, r.hungUp, r.answer, r.slow, r.final = 0, "", "", r.first, false, 0
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
		r.trouble, r.hungUp = because(address, err), ""
		r.noteFinal(err)
		return nil, err
	}
	r.final = 0
	if r.hungUp != address {
		r.trouble = address + " accepted the connection but has not answered: it hangs, or is not part of a majority"
	}
	r.open = &newConn{Conn: conn, deadline: time.Now().Add(answer), address: address, silent: func(why string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.trouble, r.hungUp = why, address
	}}
	return r.open, nil
}

// noteFinal counts a server that cannot be reached. Waiting does not help where a name is not known, or a certificate
// is not what it has to be.
func (r *route) noteFinal(err error) {
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.As(err, new(x509.HostnameError)) || errors.As(err, new(x509.CertificateInvalidError)) {
		r.final++
	} else {
		r.final = 0
	}
	if r.final == len(r.servers) && !r.isVain() {
		close(r.vain)
	}
}

func (r *route) isVain() bool {
	select {
	case <-r.vain:
		return true
	default:
		return false
	}
}

// because says why a server cannot be connected to, and what to do.
func because(address string, err error) string {
	var name *net.DNSError
	var expired x509.CertificateInvalidError
	var remote *net.OpError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "there is no host " + name.Name + ": see how it is spelt, and if this machine can look it up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens at " + address + ": see that a server runs there, and at the port"
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return address + " has a certificate of an authority that is not trusted: name the authority in TLS.CA"
	case errors.As(err, new(x509.HostnameError)):
		return address + " has a certificate for another name: give that as TLS.ServerName"
	case errors.As(err, &expired):
		return address + " has a certificate that is not valid (" + expired.Error() + "): renew it, or set this machine's clock"
	case errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(err.Error(), "certificate"):
		return fmt.Sprintf("%s does not accept the client's certificate, or misses one (%v): name in TLS.Cert one that "+
			"an authority has signed that the server trusts", address, remote.Err)
	case remote != nil && remote.Op == "remote error":
		return fmt.Sprintf("%s refuses this client's TLS (%v): see which versions and ciphers it allows", address, remote.Err)
	case errors.As(err, new(tls.RecordHeaderError)), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return address + " does not answer in TLS: name its secure port, or leave TLS out"
	case timedOut(err):
		return address + " cannot be reached: see to its address, and what is between"
	}
	return err.Error()
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

// noSession is the error of a context that has ended without a session.
func (r *route) noSession(ended error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return noSession{fmt.Sprintf("cannot connect to %v: %s", r, r.why()), ended}
}

// why says why there is no session. The route is locked.
func (r *route) why() string { return cmp.Or(r.trouble, "is a server running there?") }

type noSession struct {
	text  string
	ended error
}

func (e noSession) Error() string { return e.text }
func (e noSession) Unwrap() error { return e.ended }

func (r *route) String() string { return strings.Join(r.servers, ",") }

// newConn allows no later deadline for reading than its own until the session is established.
type newConn struct {
	net.Conn
	address string
	silent  func(why string) // is told that there will be no answer

	mu          sync.Mutex
	deadline    time.Time
	established bool
}

func (c *newConn) establish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.established = true
}

// tlsAlert is the first byte of what a TLS server says to who does not speak TLS. An answer begins with 0.
const tlsAlert = 21

// Read is net.Conn's, and notes what comes in place of an answer.
func (c *newConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	established := c.established
	c.mu.Unlock()
	switch {
	case established:
	case n > 0 && b[0] == tlsAlert:
		c.silent(c.address + " speaks TLS: name the authority of its certificate in TLS.CA, or another port")
		return 0, io.EOF
	case err == io.EOF || errors.Is(err, syscall.ECONNRESET):
		c.silent(c.address + " closes the connection in place of an answer: it is not part of a majority, or speaks TLS (TLS.CA)")
	case err != nil && !timedOut(err):
		c.silent(because(c.address, err))
	}
	return n, err
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
