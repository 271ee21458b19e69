package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
)

// session goes on from the books on the disk, until the campaign has ended or an error.
type session struct {
	*Coordinator
	c      *engine.Campaign
	keeper *keeper
	before uint64 // the log's answers up to this place were there before the session

	answers chan engine.Logged
	beats   chan engine.Beat
	failed  chan error // of reading the log

	counted []engine.Logged // since the books were written
	began   time.Time
	written time.Time // the books
	again   time.Time // tasks that wait for long were asked for
}

// Times of the coordinator.
const (
	tickEvery  = time.Second / 4
	writeEvery = 2 * time.Second
	againEvery = 30 * time.Second
)

// open reads the books and opens the campaign in JetStream.
func (s *session) open(ctx context.Context, nc *nats.Conn) error {
	books, err := s.keeper.read()
	if err != nil {
		return fatalError{err}
	}
	if s.c, err = engine.Open(ctx, nc, engine.ID(s.Plan.Digest()), s.Engine); err != nil {
		return err
	}
	log, err := s.c.Log(ctx)
	if err != nil {
		return err
	}
	if !log.Made.Equal(books.LogMade) || log.Used < books.Seq { // another log: the one that was is lost
		books.LogMade, books.Seq = log.Made, 0
	}
	s.before = log.Last
	s.begin(books)
	if err := s.recordPlan(ctx); err != nil {
		return err
	}
	return s.listenTo(ctx)
}

func (s *session) begin(b *books) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.books, s.passed, s.began, s.again = b, time.Now(), time.Now(), time.Now()
	if b.Began.IsZero() {
		b.Began = s.passed
	}
}

// recordPlan puts the plan where workers find it.
func (s *session) recordPlan(ctx context.Context) error {
	if _, err := s.c.Plan(ctx); !errors.Is(err, engine.ErrNone) {
		return err
	}
	text, err := os.ReadFile(s.Folder.PlanFile())
	if err != nil {
		return err
	}
	return s.c.SetPlan(ctx, text)
}

// listenTo lets heartbeats, questions and answers come.
func (s *session) listenTo(ctx context.Context) error {
	s.answers, s.beats, s.failed = make(chan engine.Logged), make(chan engine.Beat), make(chan error, 1)
	if err := s.c.Statuses(func() any { return s.Status() }); err != nil {
		return err
	}
	if err := s.c.Beats(func(b engine.Beat) { send(ctx, s.beats, b) }); err != nil {
		return err
	}
	go func() {
		s.failed <- s.c.Answers(ctx, s.books.Seq, func(l engine.Logged) error { return send(ctx, s.answers, l) })
	}()
	return nil
}

func send[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run leads the campaign. However it ends, the books are written.
func (s *session) run(ctx context.Context) (*campaign.Report, error) {
	err := s.serve(ctx)
	if err = errors.Join(err, s.write(context.WithoutCancel(ctx))); err != nil {
		return nil, err
	}
	report := s.report()
	text, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	return report, s.c.End(ctx, text)
}

func (s *session) serve(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for !s.books.allJobs() {
		if err := s.ask(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.failed:
			return err
		case l := <-s.answers:
			if err := s.count(l); err != nil {
				return err
			}
		case b := <-s.beats:
			if err := s.hear(b); err != nil {
				return err
			}
		case <-tick.C:
			if err := s.tick(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask asks for what is wanted, once all is counted that was answered before.
func (s *session) ask(ctx context.Context) error {
	if s.books.Seq < s.before {
		return nil
	}
	s.mu.Lock()
	list := s.books.wanted(s.window())
	s.mu.Unlock()
	for _, t := range list {
		if err := s.c.Ask(ctx, t); err != nil {
			return err
		}
	}
	if !s.started {
		s.started = true
		if s.Started != nil {
			s.Started(s.joining(s.c.ID))
		}
	}
	s.wellAgain()
	return nil
}

// window is how many tasks are open at a time: some more than the workers do, so that none waits. Of a campaign that
// ends when its time is over these are few, as they are done after that.
func (s *session) window() int {
	slots := max(s.crew.slots(time.Now()), 1)
	if s.Plan.Units() == 0 {
		return 2 * slots
	}
	return 4*slots + 16
}

// hear notes the heartbeat of a worker. It returns an error if the server does not write the worker's answers, and that
// is not what a session before this one has seen.
func (s *session) hear(b engine.Beat) error {
	s.mu.Lock()
	s.crew.note(b, time.Now())
	s.mu.Unlock()
	if b.Trouble != "" && time.Since(s.began) > troubleAfter {
		return fmt.Errorf("the server cannot write the answers of worker %s: %s", b.Name, b.Trouble)
	}
	return nil
}

// troubleAfter is how long a session believes that troubles are older than itself.
const troubleAfter = 5 * time.Second

// count counts an answer. Only a full disk and the like are errors of it.
func (s *session) count(l engine.Logged) error {
	if l.Crash != "" && l.Kind == engine.Unit {
		name, err := s.Folder.keepCrash(l.N, l.Crash)
		if err != nil {
			return err
		}
		l.Failed += fmt.Sprintf("; torture replay %s, in the folder of the campaign, runs it again", name)
	}
	s.mu.Lock()
	err := s.books.count(l, time.Now())
	s.mu.Unlock()
	s.counted = append(s.counted, l)
	if err != nil {
		s.Say(err.Error())
	}
	return nil
}

func (s *session) tick(ctx context.Context) error {
	now := time.Now()
	s.mu.Lock()
	s.books.pass(now.Sub(s.passed))
	s.passed = now
	s.mu.Unlock()
	if now.Sub(s.again) >= againEvery {
		s.again = now
		if err := s.askAgain(ctx); err != nil {
			return err
		}
	}
	if now.Sub(s.written) < writeEvery {
		return nil
	}
	s.written = now
	if s.server != nil && s.server.Broken() {
		return errNoRoom
	}
	return s.write(ctx)
}

// askAgain asks again for units that are not answered: those that are in the queue still are not put there twice. None
// should have left it without an answer; but a disk may lose what it said it had.
func (s *session) askAgain(ctx context.Context) error {
	for _, q := range s.books.unanswered() {
		if err := s.c.Ask(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// write writes the books, and removes from the log what they have counted.
func (s *session) write(ctx context.Context) error {
	if err := s.keeper.write(s.books); err != nil {
		return err
	}
	if len(s.counted) == 0 {
		return nil
	}
	for _, l := range s.counted {
		if err := s.c.Drop(ctx, l); err != nil {
			return err
		}
	}
	s.counted = nil
	return s.c.Forget(ctx, s.books.Seq)
}
