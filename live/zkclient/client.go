package zkclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Client is a *zk.Conn with settings under which it keeps its session when servers fail. With go-zookeeper's own it
// loses the session, or a second, in situations that ZooKeeper would survive (all seen with v1.0.4, conn.go):
//
//   - After it has tried every server once it waits a full second, and fails the requests that are queued with
//     zk.ErrNoServer. A Client waits 50 ms, and lets them queue.
//   - It waits for the answer to its connect request for up to 6.7 session timeouts. A server that hangs accepts
//     connections all the same, so the client stays with it until its session has expired. A Client goes on to the
//     next server after a quarter of the session timeout; after twice that if all were too slow, and so on, because
//     then it is the machine that is slow.
//   - The channel of events holds 6 and drops the rest. A Client's holds 1024 and counts what it drops, and
//     [Config.OnEvent] sees every one.
//   - It logs every connection. A Client logs nothing.
//
// The price: while no server can be reached, calls block until one can be, or the Client is closed. Give every call a
// time limit of your own.
type Client struct {
	*zk.Conn
	route  *route
	events chan zk.Event

	showing sync.Mutex
	unshown []Credential // guarded by showing

	mu      sync.Mutex
	dropped int
	changed chan struct{} // closed and replaced by each session event
}

// Config says how to connect. Servers and SessionTimeout are needed.
type Config struct {
	// Servers is a connect string as [ParseServers] takes it, but without a chroot, which go-zookeeper does not know.
	Servers string

	// SessionTimeout is what is asked for; the server may grant another one. 10 ms to 24 days.
	SessionTimeout time.Duration

	// OnEvent, if set, is called with every session and watch event, in order. It must not block: the connection
	// waits for it.
	OnEvent func(zk.Event)

	// Dial, if set, opens connections instead of net.DialTimeout: over [TLS], for example.
	Dial zk.Dialer

	// Auth is shown to the servers before [Client.WaitSession] returns, and again on every later connection.
	Auth []Credential
}

// Connect begins to open a session and returns at once; see [Client.WaitSession].
func Connect(servers string, sessionTimeout time.Duration) (*Client, error) {
	return Config{Servers: servers, SessionTimeout: sessionTimeout}.Connect()
}

// eventsMax is how many events wait for a slow reader of [Client.Events].
const eventsMax = 1024

// Connect begins to open a session and returns at once; see [Client.WaitSession]. It is an error if the configuration
// makes no sense; that no server can be reached is not.
func (cfg Config) Connect() (*Client, error) {
	addresses, err := cfg.addresses()
	if err != nil {
		return nil, err
	}
	c := &Client{
		route:   newRoute(cfg.Dial, cfg.SessionTimeout),
		events:  make(chan zk.Event, eventsMax),
		changed: make(chan struct{}),
		unshown: slices.Clone(cfg.Auth),
	}
	conn, own, err := zk.Connect(addresses, cfg.SessionTimeout,
		zk.WithHostProvider(c.route), zk.WithDialer(c.route.dial),
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false),
		zk.WithEventCallback(func(event zk.Event) { c.publish(event, cfg.OnEvent) }))
	if err != nil {
		return nil, fmt.Errorf("zkclient: cannot connect to %s: %w", cfg.Servers, err)
	}
	c.Conn = conn
	go c.closeEventsAfter(own)
	return c, nil
}

func (cfg Config) addresses() ([]string, error) {
	addresses, chroot, err := ParseServers(cfg.Servers)
	switch {
	case err != nil:
		return nil, err
	case chroot != "":
		return nil, fmt.Errorf("zkclient: connect string %q: go-zookeeper has no chroot: "+
			"leave %q out and put it before the paths of the recipes", cfg.Servers, chroot)
	case cfg.SessionTimeout < 10*time.Millisecond || cfg.SessionTimeout > math.MaxInt32*time.Millisecond:
		return nil, fmt.Errorf("zkclient: session timeout is %v: it must be between 10ms and 24 days",
			cfg.SessionTimeout)
	}
	return addresses, nil
}

// ZK is go-zookeeper's own connection, for code that takes nothing else. Do not close it: see [Client.Close].
func (c *Client) ZK() *zk.Conn { return c.Conn }

// Events returns session and watch events in order. It is closed some time after Close. Package recipes hands them to
// several readers: recipes.WithEvents(client, client.Events()).
func (c *Client) Events() <-chan zk.Event { return c.events }

// Dropped returns how many events found the channel of [Client.Events] full and were dropped.
func (c *Client) Dropped() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}

// WaitSession returns when the client has a session and has shown its credentials, or with an error when ctx ends
// before, when they are refused, or when waiting does not help: no server has a name that is known, and the certificate
// that it has to have.
func (c *Client) WaitSession(ctx context.Context) error {
	if err := c.awaitSession(ctx); err != nil {
		return err
	}
	return c.authenticate(ctx)
}

// errVain is why a session is not waited for.
var errVain = errors.New("zkclient: none of the servers can be reached, however long one waits")

// Trouble says why there is no session at the moment.
func (c *Client) Trouble() string {
	c.route.mu.Lock()
	defer c.route.mu.Unlock()
	return c.route.why()
}

func (c *Client) awaitSession(ctx context.Context) error {
	for {
		changed := c.nextChange() // before looking, so that no change is missed
		if c.State() == zk.StateHasSession {
			return nil
		}
		select {
		case <-changed:
		case <-c.route.closed:
			return errors.New("zkclient: no session: the client has been closed")
		case <-c.route.vain:
			if !c.route.isClosed() {
				return c.route.noSession(errVain)
			}
		case <-ctx.Done():
			return c.route.noSession(ctx.Err())
		}
	}
}

// Close ends the session if a server can be reached within a second, and the client in any case. It may be called
// again. Do not call the Close of the *zk.Conn inside, which would leave the client looking for a server for ever if
// there is none.
func (c *Client) Close() {
	c.route.close()
	c.Conn.Close()
}

func (c *Client) nextChange() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// publish runs on the goroutines of the connection, of which one at a time has events.
func (c *Client) publish(event zk.Event, onEvent func(zk.Event)) {
	if onEvent != nil {
		onEvent(event)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.events <- event:
	default:
		c.dropped++
	}
	if event.Type == zk.EventSession {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// closeEventsAfter waits until the connection's loop has ended: its own channel is closed then.
func (c *Client) closeEventsAfter(own <-chan zk.Event) {
	for range own {
	}
	close(c.events)
}
