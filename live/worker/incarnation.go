package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zktorture/zktorture/linearizability"
)

// incarnation is one process of a client, and the conversation with it.
type incarnation struct {
	client *Client
	number int
	proc   *process
	ready  chan reply    // its first line
	over   chan struct{} // closed when it has ended and its last line has been read

	mu      sync.Mutex
	paused  bool
	slept   bool  // it was paused since the last look
	last    int64 // id of a question
	waiting map[int64]question
	objects map[int]string // by user: the path of its object

	writing sync.Mutex
}

// question is an operation without an answer.
type question struct {
	op     string
	answer chan reply // of one
}

// live starts a process and waits until it is ready.
func (c *Client) live(ctx context.Context, number int) (*incarnation, error) {
	l, err := c.spawn(number)
	if err != nil {
		return nil, err
	}
	if err := l.begin(ctx); err != nil {
		l.proc.kill()
		<-l.over
		return nil, err
	}
	return l, nil
}

// spawn starts a process.
func (c *Client) spawn(number int) (*incarnation, error) {
	proc, err := spawn(c.cfg.Command, c.cfg.Stderr)
	if err != nil {
		return nil, err
	}
	l := &incarnation{
		client: c, number: number, proc: proc, ready: make(chan reply, 1), over: make(chan struct{}),
		waiting: map[int64]question{}, objects: map[int]string{},
	}
	go l.read()
	return l, nil
}

// begin tells the process what to serve.
func (l *incarnation) begin(ctx context.Context) error {
	l.write(l.client.cfg.assignment()) // if that fails it has died
	select {
	case r := <-l.ready:
		return l.begun(r)
	case <-l.over:
		return l.ended()
	case <-time.After(l.client.cfg.StartTimeout):
		return fmt.Errorf("worker: %s: it was not ready after %v: %v", l.client.cfg.Command, l.client.cfg.StartTimeout, l.proc)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begun is what the first line of the process comes to.
func (l *incarnation) begun(r reply) error {
	if r.Error != "" {
		return fmt.Errorf("worker: %s: it says: %s", l.client.cfg.Command, r.Error)
	}
	return nil
}

// ended is what a process comes to that has ended meanwhile, by its first line, if it wrote one.
func (l *incarnation) ended() error {
	select {
	case r := <-l.ready:
		return l.begun(r)
	default:
	}
	if err := l.client.Err(); err != nil {
		return err
	}
	return fmt.Errorf("worker: %s: it died before it was ready: %v", l.client.cfg.Command, l.proc)
}

// write sends a line. If that fails the process has ended, which read sees.
func (l *incarnation) write(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // our own types
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.proc.in.Write(append(text, '\n'))
}

// read takes the lines of the process until its end.
func (l *incarnation) read() {
	lines := bufio.NewScanner(l.proc.out)
	lines.Buffer(nil, lineMax)
	first := true
	for lines.Scan() {
		if err := l.take(lines.Bytes(), first); err != nil {
			l.client.fail(fmt.Errorf("worker: %s wrote a line that is not in the protocol: %.300s: %w",
				l.client.cfg.Command, lines.Bytes(), err))
			break
		}
		first = false
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		l.client.fail(fmt.Errorf("worker: %s wrote a line of more than %d bytes", l.client.cfg.Command, lineMax))
	}
	l.proc.kill()
	l.proc.out.Close()
	l.client.died(l)
	close(l.over)
}

// take takes a line of the process.
func (l *incarnation) take(line []byte, first bool) error {
	r, err := parseReply(line)
	session, _ := r.session()
	switch way := l.client.cfg.Way; {
	case err != nil:
		return err
	case session != 0 && way != nil && !way.Granted(session):
		return fmt.Errorf("the servers have granted no session 0x%x to this client, by the addresses that it was given",
			uint64(session))
	case first != (r.Version != 0):
		return fmt.Errorf("the first line, and no other, says that it is ready")
	case first:
		l.client.begun(r)
		l.ready <- r
		return nil
	case r.ID != 0:
		return l.deliver(r)
	}
	l.client.heard(r)
	return nil
}

// deliver hands an answer to its question.
func (l *incarnation) deliver(r reply) error {
	l.mu.Lock()
	q, asked := l.waiting[r.ID]
	delete(l.waiting, r.ID)
	l.mu.Unlock()
	switch {
	case !asked:
		return fmt.Errorf("nothing with the id %d is under way", r.ID)
	case r.Outcome == outcomeOK && !fits(l.client.cfg.Kind, q.op, r.result()):
		return fmt.Errorf("%v cannot be the result of %s", r.result(), q.op)
	}
	q.answer <- r
	return nil
}

// turn gives a user an object, unless it has that.
func (l *incarnation) turn(ctx context.Context, user int, path string) error {
	l.mu.Lock()
	there := l.objects[user] == path
	l.mu.Unlock()
	if there {
		return nil
	}
	r, err := l.ask(ctx, user, opObject, linearizability.Str(path))
	switch {
	case err != nil:
		return err
	case r.Outcome != outcomeOK:
		return fmt.Errorf("worker: %s: user %d cannot turn to %s: %s", l.client.cfg.Command, user, path, r.Error)
	}
	l.mu.Lock()
	l.objects[user] = path
	l.mu.Unlock()
	return nil
}

var errDied = errors.New("worker: its process died before it had answered")

// ask asks for an operation and waits for the answer. When ctx ends it cancels the operation and waits on for a
// bounded time.
func (l *incarnation) ask(ctx context.Context, user int, op string, arg linearizability.Value) (reply, error) {
	q := question{op, make(chan reply, 1)}
	l.mu.Lock()
	l.last++
	id := l.last
	l.waiting[id] = q
	l.mu.Unlock()
	c := command{ID: id, User: &user, Op: op}
	if !arg.IsNull() {
		c.Arg = &arg
	}
	l.write(c)
	select {
	case r := <-q.answer:
		return r, nil
	case <-l.over:
		return l.late(q)
	case <-ctx.Done():
	}
	l.write(command{Cancel: id})
	return l.await(q)
}

// late is the answer that came before the end of the process, if one did.
func (l *incarnation) late(q question) (reply, error) {
	select {
	case r := <-q.answer:
		return r, nil
	default:
		return reply{}, errDied
	}
}

// await waits for the answer to a cancelled operation. A process that does not answer is killed, so that it does not
// acquire anything later.
func (l *incarnation) await(q question) (reply, error) {
	for l.sleeping(); ; {
		select {
		case r := <-q.answer:
			return r, nil
		case <-l.over:
			return l.late(q)
		case <-time.After(l.client.cfg.GiveUp):
			if !l.sleeping() {
				l.proc.kill()
			}
		}
	}
}

// sleeping reports whether the process is paused, or was since the last look.
func (l *incarnation) sleeping() (slept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slept, l.slept = l.slept, l.paused
	return slept
}
