package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// Config configures a client. Command, Kind, Servers and SessionTimeout are needed.
type Config struct {
	Command        string        // for the shell
	Kind           string        // the workload
	Servers        string        // host:port,host:port
	SessionTimeout time.Duration // in whole milliseconds

	// Stderr gets the standard error of the processes, from several goroutines. It may be nil; error messages have
	// the end of it all the same.
	Stderr io.Writer

	// Fail is called once if the client fails, with the reason: a line outside of the protocol, or a worker that
	// cannot be started again. It must not block.
	Fail func(error)

	// Way, if not nil, is where the processes reach their servers: Servers are its addresses. A process that claims a
	// session which the servers have not granted by this way is no worker.
	Way Way

	// StartTimeout bounds how long a process takes until it is ready. Default 2 min, for busy machines.
	StartTimeout time.Duration

	// GiveUp bounds how long a worker takes to answer a cancelled operation before it is killed. Time in which it is
	// paused does not count. Default 30 s.
	GiveUp time.Duration
}

// Way sees what passes between a client and its servers.
type Way interface {
	Granted(session int64) bool // the servers have granted it
	Joined() time.Time          // when they let the client connect last
}

func (cfg Config) withDefaults() Config {
	if cfg.Fail == nil {
		cfg.Fail = func(error) {}
	}
	cfg.StartTimeout, cfg.GiveUp = cmp.Or(cfg.StartTimeout, 2*time.Minute), cmp.Or(cfg.GiveUp, 30*time.Second)
	return cfg
}

// assignment is the first line for a worker.
func (cfg Config) assignment() Assignment {
	a := Assignment{
		Version: Version, Kind: cfg.Kind, Servers: cfg.Servers, TimeoutMS: cfg.SessionTimeout.Milliseconds(),
		Operations: kindNamed(cfg.Kind).operations(),
	}
	if k, err := workload.KindNamed(cfg.Kind); err == nil {
		a.Permits, a.Parties = k.Model.Parameters.Permits, k.Model.Parameters.Parties
	}
	return a
}

// deathsMax is how many processes of a client may die in a row without being killed and without an answer.
const deathsMax = 5

// closeMax bounds how long a worker takes to end its session and itself.
const closeMax = 2 * time.Second

// Client is a client whose recipe is served by a worker. It is a [Remote].
type Client struct {
	cfg      Config
	starting chan struct{} // a semaphore of one

	mu           sync.Mutex
	incarnation  *incarnation // the last
	incarnations int
	closed       bool
	err          error // why the client has failed
	can          []string
	session      int64
	connected    bool
	expiriesSeen int
	broken       int
	deaths       int  // since the last answer, without a kill
	killed       bool // the last process was killed
}

var _ Remote = (*Client)(nil)

// Start starts a worker and returns when it is ready. The context bounds the start, not the life of the client. The
// error has the end of the worker's standard error.
func Start(ctx context.Context, config Config) (*Client, error) {
	c := &Client{cfg: config.withDefaults(), starting: make(chan struct{}, 1)}
	_, err := c.present(ctx, 0)
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

var (
	errClosed = fmt.Errorf("worker: the client has been closed: %w", recipes.ErrClosed)
	errGone   = fmt.Errorf("worker: the process that held it has ended: %w", recipes.ErrLost)
)

// Do implements [Remote].
func (c *Client) Do(ctx context.Context, call Call) (Answer, error) {
	l, err := c.present(ctx, call.Incarnation)
	if err != nil {
		return Answer{}, err
	}
	if call.Incarnation == 0 { // else the process has the object
		if err := l.turn(ctx, call.User, call.Path); err != nil {
			return Answer{}, err
		}
	}
	r, err := l.ask(ctx, call.User, call.Op, call.Arg)
	if err != nil {
		return Answer{Incarnation: l.number}, callError(call, err.Error(), true, r.result())
	}
	c.answered()
	session, _ := r.session() // was checked when it came
	answer := Answer{Session: session, Incarnation: l.number}
	if r.Outcome != outcomeOK {
		return answer, callError(call, r.Error, r.Outcome == outcomeUnknown, r.result())
	}
	answer.Result = r.result()
	return answer, nil
}

// present returns the process that is there, or starts one. A number other than 0 demands that process.
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

// alive returns the process that is there, nil if there is none, or why the client has ended.
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
	c.killed = false
	number := c.incarnations
	c.mu.Unlock()
	if number > 1 { // who calls may give up, and the next one needs the process
		ctx = context.WithoutCancel(ctx)
	}
	l, err := c.live(ctx, number)
	if err != nil {
		if number > 1 {
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

// fail ends the client with an error.
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

// died notes the end of a process, and of its session, which the servers will find out.
func (c *Client) died(l *incarnation) {
	c.mu.Lock()
	c.session, c.connected = 0, false
	c.expiriesSeen++
	if !c.killed && !c.closed {
		c.deaths++
	}
	tooOften := c.deaths > deathsMax
	c.mu.Unlock()
	if tooOften {
		c.fail(fmt.Errorf("worker: %s: %d processes died one after the other without an answer; the last one: %v",
			c.cfg.Command, deathsMax+1, l.proc))
	}
}

// What a [Remote] says.

func (c *Client) Can(op string) bool { return slices.Contains(locked(c, &c.can), op) }
func (c *Client) SessionID() int64   { return locked(c, &c.session) }
func (c *Client) Connected() bool    { return locked(c, &c.connected) }
func (c *Client) ExpiriesSeen() int  { return locked(c, &c.expiriesSeen) }
func (c *Client) Broken() int        { return locked(c, &c.broken) }

// Joined returns when the client connected to its servers last; zero if that is not seen.
func (c *Client) Joined() time.Time {
	if c.cfg.Way == nil {
		return time.Time{}
	}
	return c.cfg.Way.Joined()
}

// Err returns why the client has failed; nil if it has not.
func (c *Client) Err() error { return locked(c, &c.err) }

func locked[T any](c *Client, field *T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *field
}

// Alive implements [Remote].
func (c *Client) Alive() bool {
	_, err := c.running()
	return err == nil
}

// running returns the process that is there, or the error of doing something to it.
func (c *Client) running() (*incarnation, error) {
	l, err := c.alive()
	if err == nil && l == nil {
		err = errNoProcess
	}
	return l, err
}

// Pid returns the process that is there; false if there is none.
func (c *Client) Pid() (int, bool) {
	l, err := c.running()
	if err != nil {
		return 0, false
	}
	return l.proc.pid, true
}

// Pause stops the process with SIGSTOP, as a long garbage collection does: it keeps its connections and does nothing.
// It is an error if there is no process.
func (c *Client) Pause() error { return c.sleep(proc.Stop, true) }

// Resume continues the process with SIGCONT. It is an error if there is none.
func (c *Client) Resume() error { return c.sleep(proc.Continue, false) }

func (c *Client) sleep(s syscall.Signal, paused bool) error {
	l, err := c.running()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.proc.signal(s); err != nil {
		return err
	}
	l.slept = l.slept || paused
	l.paused = paused
	return nil
}

// Kill kills the process with SIGKILL and returns when it has ended. Its session expires at the servers. The next
// call starts another process. It is an error if there is none to kill.
func (c *Client) Kill() error {
	l, err := c.running()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	if err := l.proc.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-l.over
	return nil
}

// Close ends the client: its process sees the end of its input, has a moment to end its session, and is killed if it
// takes longer. It may be called again.
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
	if err := l.proc.signal(proc.Continue); err != nil && !errors.Is(err, errNoProcess) {
		l.proc.kill()
	}
	select {
	case <-l.over:
	case <-limit.C:
		l.proc.kill()
		<-l.over
	}
}
