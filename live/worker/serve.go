package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/zktorture/zktorture/linearizability"
)

// Host is what [Serve] serves: a session, and objects of a recipe.
type Host struct {
	Can     []string     // operations that not every recipe of the kind has
	Session func() int64 // the present session; 0 if there is none
	Object  func(path string) (Served, error)
	Close   func()
}

// State is the state of a session.
type State string

// States of a session. A suspended one does not reach its servers.
const (
	Connected State = "connected"
	Suspended State = "suspended"
	Lost      State = "lost"
)

// Open opens a session and prepares to serve an assignment. It calls tell with each change of the session, from any
// goroutine, until the host is closed.
type Open func(ctx context.Context, a Assignment, tell func(State)) (*Host, error)

// Serve is a worker: it reads an assignment and then commands from in, carries each out on a goroutine of its own,
// and writes the answers to out. When in or ctx ends it cancels what is under way and returns. The error is of lines
// outside of the protocol.
func Serve(ctx context.Context, in io.Reader, out io.Writer, open Open) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, lineMax)
	if !lines.Scan() {
		return lines.Err()
	}
	var a Assignment
	if err := parse(lines.Bytes(), &a); err != nil {
		return badCommand(lines.Bytes(), err)
	}
	s := &server{out: out, cancels: map[int64]context.CancelFunc{}, objects: map[int]Served{}}
	if err := s.begin(ctx, a, open); err != nil {
		s.write(reply{Version: Version, Error: err.Error()})
		return nil
	}
	defer s.host.Close()
	for lines.Scan() {
		var c command
		if err := parse(lines.Bytes(), &c); err != nil {
			return badCommand(lines.Bytes(), err)
		}
		if err := s.take(ctx, c); err != nil {
			return badCommand(lines.Bytes(), err)
		}
	}
	return lines.Err()
}

func badCommand(line []byte, err error) error {
	return fmt.Errorf("worker: a command that is not in the protocol: %.300s: %w", line, err)
}

// server carries out commands.
type server struct {
	host *Host

	mu      sync.Mutex
	cancels map[int64]context.CancelFunc // of what is under way, by id
	objects map[int]Served               // by user

	writing sync.Mutex
	out     io.Writer
	begun   bool // the first line has been written
}

// begin opens the session and writes the first line.
func (s *server) begin(ctx context.Context, a Assignment, open Open) (err error) {
	if a.Version != Version {
		return fmt.Errorf("the runner has version %d of the protocol, this worker version %d", a.Version, Version)
	}
	if s.host, err = open(ctx, a, s.tell); err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.put(reply{Version: Version, Can: s.host.Can, Session: sessionText(s.host.Session())})
	s.begun = true
	return nil
}

// tell passes on a change of the session, unless it was before the first line, which has the session.
func (s *server) tell(state State) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if !s.begun {
		return
	}
	r := reply{State: state}
	if state != Lost {
		r.Session = sessionText(s.host.Session())
	}
	s.put(r)
}

func (s *server) write(r reply) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.put(r)
}

// put writes a line. If that fails the runner is gone.
func (s *server) put(r reply) {
	if line, err := json.Marshal(r); err == nil {
		s.out.Write(append(line, '\n'))
	}
}

// take starts to carry out a command.
func (s *server) take(ctx context.Context, c command) error {
	switch {
	case c.Cancel != 0:
		s.cancel(c.Cancel)
		return nil
	case c.ID == 0 || c.User == nil || c.Op == "":
		return errors.New("it has neither id, user and op, nor cancel")
	case c.Op == opObject:
		err := s.turn(*c.User, c.arg().String())
		s.write(answerOf(c, linearizability.Null, err, s.host.Session()))
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	do := s.objects[*c.User][c.Op]
	if do == nil {
		return fmt.Errorf("user %d has no object with the operation %s", *c.User, c.Op)
	}
	ctx, s.cancels[c.ID] = context.WithCancel(ctx)
	go s.carryOut(ctx, c, do)
	return nil
}

func (c command) arg() linearizability.Value {
	if c.Arg == nil {
		return linearizability.Null
	}
	return *c.Arg
}

// cancel cancels the command with an id, unless it has been answered.
func (s *server) cancel(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[id]; cancel != nil {
		cancel()
	}
}

// turn gives a user another object.
func (s *server) turn(user int, path string) error {
	served, err := s.host.Object(path)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[user] = served
	return nil
}

// carryOut carries out an operation and answers.
//
// Invariant: a session that is there before and after was there all the time, since none comes twice.
func (s *server) carryOut(ctx context.Context, c command, do operation) {
	session := s.host.Session()
	result, err := do(ctx, c.arg())
	if s.host.Session() != session {
		session = 0
	}
	s.mu.Lock()
	s.cancels[c.ID]()
	delete(s.cancels, c.ID)
	s.mu.Unlock()
	s.write(answerOf(c, result, err, session))
}

func answerOf(c command, result linearizability.Value, err error, session int64) reply {
	r := reply{ID: c.ID, Outcome: outcomeOK, Session: sessionText(session)}
	if !result.IsNull() {
		r.Result = &result
	}
	if err == nil {
		return r
	}
	r.Outcome, r.Error = outcomeFail, err.Error()
	if outcomeOpen(err) {
		r.Outcome = outcomeUnknown
	}
	return r
}
