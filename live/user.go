package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/live/worker/confined"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// user is a user of a round, with its client's session.
type user struct {
	round           *round
	session         *Session
	clientN, indexN int
}

func (l *round) user(client, index int) *user { return &user{l, l.sessions[client], client, index} }

// Client implements [workload.User], as do the other methods.
func (u *user) Client() int       { return u.clientN }
func (u *user) Index() int        { return u.indexN }
func (u *user) Life() int         { return 0 } // who uses a process that has crashed goes on with the next
func (u *user) ExpiriesSeen() int { return u.session.ExpiriesSeen() }

// SawExpiryBefore is false: the order of events inside a client is unknown, so belief is not judged.
func (u *user) SawExpiryBefore() bool { return false }

func (u *user) Begin(name, arg string, cancelable bool) (context.Context, *world.Op) {
	l := u.round
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	op := &world.Op{Name: name, Arg: arg, Client: u.clientN, User: u.indexN, Call: l.run.stamp()}
	op.Number, op.SessionAt = op.Call, u.session.Conn.SessionID()
	l.look(op.Call)
	l.ops = append(l.ops, op)
	l.cancels[op], l.cancelable[op] = cancel, cancelable
	l.run.nemesis.operationBegan()
	return ctx, op
}

func (u *user) Note(op *world.Op, about any) {
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	op.Data = about
}

// Lasts has the round look at lost whenever an operation begins or ends: while it is open, the hold surely lasts.
func (u *user) Lasts(op *world.Op, lost <-chan struct{}) {
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	if lost != nil {
		u.round.held = append(u.round.held, held{op: op, lost: lost})
	} else {
		u.round.held = slices.DeleteFunc(u.round.held, func(h held) bool { return h.op == op })
	}
	u.round.look(u.round.run.stamp())
}

func (u *user) Now() int64 { return u.round.run.stamp() }

func (u *user) End(op *world.Op, outcome world.Outcome, result string, err error) {
	l := u.round
	now := l.run.stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancels[op]()
	delete(l.cancels, op)
	op.Return, op.Outcome, op.Result, op.Err = now, outcome, result, err
	op.SessionAt, op.ExpiriesSeen = u.session.Conn.SessionID(), u.session.ExpiriesSeen()
	l.look(now)
}

// held is what a user got by an operation, and by what it is told that it is over.
type held struct {
	op   *world.Op
	lost <-chan struct{}
	open int64 // the last stamp at which it had surely not been told
}

// look notes what is over, at a stamp that was taken before. The round is locked.
func (l *round) look(at int64) {
	l.held = slices.DeleteFunc(l.held, func(h held) bool {
		select {
		case <-h.lost:
			h.op.Told = max(h.open, h.op.Call)
			return true
		default:
			return false
		}
	})
	for i := range l.held {
		l.held[i].open = max(l.held[i].open, at)
	}
}

// AwaitLiveness returns false: only after all users have finished is it known that the faults are over.
func (u *user) AwaitLiveness() bool { return false }

// AwaitOthers waits until the other users have finished, and ends the torture: what comes next is to look at what is left.
func (u *user) AwaitOthers() {
	defer func() {
		u.round.awaitHealthy()
		u.round.heal()
	}()
	u.round.mu.Lock()
	last := u.round.active == 1
	u.round.lonely = true
	u.round.mu.Unlock()
	defer func() {
		u.round.mu.Lock()
		u.round.lonely = false
		u.round.mu.Unlock()
	}()
	if last {
		return
	}
	select {
	case <-u.round.alone:
	case <-u.round.ctx.Done():
	}
}

// Conn reaches the round's object and nothing else. A client in another process confines itself, if it is ours.
func (u *user) Conn() recipes.Conn {
	if _, remote := worker.RemoteOf(u.session.Conn); remote {
		return u.session.Conn
	}
	return confined.To(u.session.Conn, u.round.object, func(err error) { u.round.run.fail(fmt.Errorf("live: %w", err)) })
}

// Do takes a moment, as work under a lock does; without it holds would be too short to overlap.
func (u *user) Do(_ string, f func() string) {
	u.Wait(workTime * waitShare)
	u.awake()
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	f()
}

// Wait lets a fiftieth of the time pass: requests take so much less here than the simulated sessions' timeouts are, and
// whoever waits for the user must not seem to wait for ever.
func (u *user) Wait(d time.Duration) {
	select {
	case <-time.After(d / waitShare):
	case <-u.round.ctx.Done():
	}
}

const waitShare = 50

// workTime is several times the time of a request.
const workTime = 3 * time.Millisecond
