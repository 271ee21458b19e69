package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// Config says what worker to start. Command, Kind, Servers and SessionTimeout are needed.
type Config struct {
	Command        string        // for the shell
	Kind           string        // the workload
	Servers        string        // host:port,host:port
	SessionTimeout time.Duration // in whole milliseconds

	// Stderr gets what the processes write to their standard error; nil: nobody does, but error messages
	// have the end of it all the same. It must take writes from several goroutines.
	Stderr io.Writer

	// Fail is told, once, that nothing more can be done with the client, and why: an answer outside of
	// the protocol, or a worker that cannot be started again. It must not block.
	Fail func(error)

	// StartTimeout is how long a process may take until it is ready. Default 30 s.
	StartTimeout time.Duration

	// GiveUp is how long a worker may take to answer an operation that was given up, before its process
	// is killed. Default 10 s.
	GiveUp time.Duration
}

func (cfg Config) withDefaults() Config {
	if cfg.Fail == nil {
		cfg.Fail = func(error) {}
	}
	if cfg.StartTimeout == 0 {
		cfg.StartTimeout = 30 * time.Second
	}
	if cfg.GiveUp == 0 {
		cfg.GiveUp = 10 * time.Second
	}
	return cfg
}

// assignment is the first line for a worker.
func (cfg Config) assignment() Assignment {
	s := Assignment{Version: Version, Kind: cfg.Kind, Servers: cfg.Servers, TimeoutMS: cfg.SessionTimeout.Milliseconds()}
	if cfg.Kind == "semaphore" {
		s.Permits = workload.RemotePermits
	}
	return s
}

// deathsMax is how many processes of a client may die unasked, one after the other, without having answered
// anything.
const deathsMax = 5

// closeMax is how long a worker may take to end its session and itself.
const closeMax = 2 * time.Second

// Client is a client whose recipe is served by a worker. It is a [workload.Remote].
type Client struct {
	cfg      Config
	starting chan struct{} // of one: held by who starts a process

	mu           sync.Mutex
	incarnation  *incarnation // the present one, or the last
	incarnations int
	closed       bool
	err          error // why nothing more can be done
	can          []string
	session      int64
	connected    bool
	expiriesSeen int
	broken       int
	deaths       int  // unasked, since the last answer
	asked        bool // the present process was told to end
}

var (
	_ workload.Remote = (*Client)(nil)
	_ live.Process    = (*Client)(nil)
)

// Start starts a worker and returns when it is ready. The context bounds the start, not the life of the
// client. The error says what the worker did, with the end of its standard error.
func Start(ctx context.Context, config Config) (*Client, error) {
	c := &Client{cfg: config.withDefaults(), starting: make(chan struct{}, 1)}
	_, err := c.present(ctx, 0)
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// errClosed is the error of a call of a client that was closed.
var errClosed = fmt.Errorf("worker: the client has been closed: %w", recipes.ErrClosed)

// errGone is the error of a call for a process that is no more.
var errGone = fmt.Errorf("worker: the process that held it is no more: %w", recipes.ErrLost)

// Do implements [workload.Remote].
func (c *Client) Do(ctx context.Context, call workload.RemoteCall) (workload.RemoteAnswer, error) {
	l, err := c.present(ctx, call.Incarnation)
	if err != nil {
		return workload.RemoteAnswer{}, err
	}
	if call.Incarnation == 0 { // what has a hold has turned to its object
		if err := l.turn(ctx, call.User, call.Path); err != nil {
			return workload.RemoteAnswer{}, err
		}
	}
	r, err := l.ask(ctx, call.User, call.Op, call.Arg)
	if err != nil {
		return workload.RemoteAnswer{}, workload.RemoteError(call, err.Error(), true, r.result())
	}
	c.answered()
	session, _ := r.session() // was read when it came
	answer := workload.RemoteAnswer{Result: r.result(), Session: session, Incarnation: l.number}
	if r.Outcome != outcomeOK {
		return workload.RemoteAnswer{Session: session, Incarnation: l.number}, workload.RemoteError(call, r.Error, r.Outcome == outcomeUnknown, r.result())
	}
	return answer, nil
}

// present returns the process that is there, or else starts one. If a certain one is called for, it is that
// one or none.
func (c *Client) present(ctx context.Context, number int) (*incarnation, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case c.starting <- struct{}{}:
		defer func() { <-c.starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l, err := c.alive()
	switch {
	case err != nil:
		return nil, err
	case number != 0 && (l == nil || l.number != number):
		return nil, errGone
	case l != nil:
		return l, nil
	}
	return c.restart(ctx)
}

// alive returns the process that is there, or nil, or why nothing more can be done.
func (c *Client) alive() (*incarnation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return nil, c.err
	case c.closed:
		return nil, errClosed
	case c.incarnation == nil || isClosed(c.incarnation.over):
		return nil, nil
	}
	return c.incarnation, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (c *Client) restart(ctx context.Context) (*incarnation, error) {
	c.mu.Lock()
	c.incarnations++
	c.asked = false
	number := c.incarnations
	c.mu.Unlock()
	l, err := c.live(ctx, number)
	if err != nil {
		if ctx.Err() == nil && number > 1 {
			c.fail(err)
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.incarnation = l
	if c.closed { // meanwhile
		l.proc.kill()
		return nil, errClosed
	}
	return l, nil
}

// fail notes that nothing more can be done with the client.
func (c *Client) fail(err error) {
	c.mu.Lock()
	first := c.err == nil && !c.closed
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if first {
		c.cfg.Fail(err)
	}
}

// Err returns why nothing more can be done with the client; nil if something can.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// begun takes the first line of a process.
func (c *Client) begun(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.can = r.Can
	c.session, _ = r.session()
	c.connected = c.session != 0
}

// heard takes what a process says of its session.
func (c *Client) heard(r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.State {
	case Connected:
		if session, _ := r.session(); session != 0 {
			c.session = session
		}
	case Suspended:
		c.broken++
	case Lost:
		c.expiriesSeen++
		c.session = 0
	}
	c.connected = r.State == Connected
}

func (c *Client) answered() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deaths = 0
}

// died takes note of the end of a process, and of its session, whenever that will be.
func (c *Client) died(l *incarnation) {
	c.mu.Lock()
	c.session, c.connected = 0, false
	c.expiriesSeen++
	if !c.asked && !c.closed {
		c.deaths++
	}
	tooOften := c.deaths > deathsMax
	c.mu.Unlock()
	if tooOften {
		c.fail(fmt.Errorf("worker: %s: %d processes died one after the other without an answer; the last one: %v", c.cfg.Command, deathsMax+1, l.proc))
	}
}

// Can implements [workload.Remote].
func (c *Client) Can(op string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.can, op)
}

// SessionID implements [workload.Remote].
func (c *Client) SessionID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Connected implements [workload.Remote].
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.connected
}

// Alive implements [workload.Remote].
func (c *Client) Alive() bool {
	l, err := c.alive()
	return err == nil && l != nil
}

// ExpiriesSeen implements [workload.Remote].
func (c *Client) ExpiriesSeen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expiriesSeen
}

// Broken implements [workload.Remote].
func (c *Client) Broken() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// Pid returns the process that is there; false if there is none.
func (c *Client) Pid() (int, bool) {
	l, err := c.alive()
	if err != nil || l == nil {
		return 0, false
	}
	return l.proc.pid, true
}

// HeldBack returns for how long the processes that are there have waited for a processor, altogether; 0 if that is not
// known.
func (c *Client) HeldBack() time.Duration {
	pid, there := c.Pid()
	if !there {
		return 0
	}
	return heldBack(pid)
}

// Pause stops the process where it stands (SIGSTOP), as a long garbage collection does: it keeps its
// connections and does nothing. It is an error if there is no process.
func (c *Client) Pause() error { return c.sleep(syscall.SIGSTOP, true) }

// Resume lets the process go on (SIGCONT). It is an error if there is none.
func (c *Client) Resume() error { return c.sleep(syscall.SIGCONT, false) }

func (c *Client) sleep(s syscall.Signal, paused bool) error {
	l, err := c.alive()
	switch {
	case err != nil:
		return err
	case l == nil:
		return errNoProcess
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.proc.signal(s); err != nil {
		return err
	}
	if l.paused && !paused {
		l.naps++
	}
	l.paused = paused
	return nil
}

// Kill kills the process (SIGKILL) and returns when it has ended. Its session ends when the servers find
// out. The next call starts another process. It is an error if there is none to kill.
func (c *Client) Kill() error {
	l, err := c.alive()
	switch {
	case err != nil:
		return err
	case l == nil:
		return errNoProcess
	}
	c.mu.Lock()
	c.asked = true
	c.mu.Unlock()
	if err := l.proc.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-l.over
	return nil
}

// Close ends the client: its process sees the end of its input, has a moment to end its session, and is
// killed if it takes longer. It may be called again.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	l := c.incarnation
	c.mu.Unlock()
	if l == nil {
		return
	}
	limit := time.NewTimer(closeMax)
	defer limit.Stop()
	l.proc.in.Close()
	if err := l.proc.signal(syscall.SIGCONT); err != nil && !errors.Is(err, errNoProcess) {
		l.proc.kill()
	}
	select {
	case <-l.over:
	case <-limit.C:
		l.proc.kill()
		<-l.over
	}
}
