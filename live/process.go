package live

import (
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
)

// Process is a client's process, which faults strike.
type Process interface {
	Pause() error  // stops it where it stands, as a long garbage collection does
	Resume() error // lets it go on
	Kill() error   // ends it without a last word; the client's next operation starts another
}

var _ Process = (*worker.Client)(nil)

// RemoteSession is the session of a client in a process of its own. The observer is a connection of this
// process to the same servers; it is not closed with the session.
func RemoteSession(r worker.Remote, observer recipes.Conn) *Session {
	process, _ := r.(Process)
	conn := worker.ConnOf(r, observer)
	return &Session{Conn: conn, Close: r.Close, ExpiriesSeen: r.ExpiriesSeen, Broken: r.Broken, Process: process}
}

// strikeProcess pauses or kills a client's process: at once, or a moment later, when it knows the answer to the
// request and has gone on. What the client's users do is the client's: they stop with it.
func (l *round) strikeProcess(f Fault) {
	process := l.sessions[f.Client-1].Process
	if process == nil {
		return
	}
	if f.Variant == "later" {
		l.wait(workTime / 2)
	}
	if f.Fault == strike.Crash {
		process.Kill() // nothing to do if it has died already
		return
	}
	awake := make(chan struct{})
	l.mu.Lock()
	l.asleep[f.Client-1] = awake
	l.mu.Unlock()
	process.Pause()
	l.wait(time.Duration(f.ForMS) * time.Millisecond)
	process.Resume()
	l.mu.Lock()
	delete(l.asleep, f.Client-1)
	l.mu.Unlock()
	close(awake)
}

// wait sleeps, at most until the round is healed.
func (l *round) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.healed:
	}
}

// awake waits while the user's client is paused.
func (u *user) awake() {
	for {
		u.round.mu.Lock()
		awake, asleep := u.round.asleep[u.clientN]
		u.round.mu.Unlock()
		if !asleep {
			return
		}
		select {
		case <-awake:
		case <-u.round.ctx.Done():
			return
		}
	}
}
