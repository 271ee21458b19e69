package workload

// Recipes in processes of their own.
//
// A [Remote] is a client whose recipe runs in another process, perhaps in another language: package
// worker has one. It has a ZooKeeper session of its own, which the users of the client share as those of a
// client in this process do. What the users do is the same script, and what is judged of it is the same.
//
// What differs: the requests of another process are not seen here, so unknown outcomes are not resolved by
// its log, and stay unknown; and a process may die in the middle, and another one take its place, which
// knows nothing of what the first one held.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// Remote is a client in a process of its own. Its methods may be called from several goroutines.
type Remote interface {
	// Do carries out an operation and returns its answer. When ctx ends the recipe is told to give up. The
	// error says that the operation failed; it is [recipes.ErrUnknownOutcome] if it may have happened all
	// the same, as it is when the process dies meanwhile, and [recipes.ErrLost] if the process that was
	// called for is no more.
	Do(ctx context.Context, call RemoteCall) (RemoteAnswer, error)
	// Can tells whether the recipe has an operation that not every recipe of its kind has.
	Can(op string) bool
	// SessionID is the session that the process said last it has; 0 if none.
	SessionID() int64
	// Connected tells whether the process has a session and said last that it reaches its servers.
	Connected() bool
	// Alive tells whether there is a process. If there is none, the next operation starts one.
	Alive() bool
	// ExpiriesSeen counts the sessions that have ended to the client's knowledge: those that the process said it
	// had lost, and processes that died. Broken counts the connections that the process said it had lost.
	ExpiriesSeen() int
	Broken() int
	// Close ends the process. Operations under way fail.
	Close()
}

// RemoteCall is one operation of a user of a client.
type RemoteCall struct {
	User        int
	Path        string // the object's
	Op          string // as in a history
	Arg         linearizability.Value
	Incarnation int // number of the process that is to do it; 0: whichever is there
}

// RemoteAnswer is what came of an operation.
type RemoteAnswer struct {
	Result linearizability.Value
	// Session is the one in which the whole operation took place; 0 if it is not known, or changed
	// meanwhile, so that nothing can be said of what is held in it.
	Session     int64
	Incarnation int // number of the process that answered, from 1
}

// RemoteKinds lists the kinds whose recipes may be in another process. A double barrier is none of them: who was inside,
// and for how long, cannot be told of a process that died.
func RemoteKinds() []string {
	return namesOf(slices.DeleteFunc(Kinds(), func(k *Kind) bool { return k.remote == nil }))
}

// RemoteWorkload is the workload of a kind for a recipe in other processes. It is for real servers only,
// with sessions from [RemoteSession]. The name is what verdicts call the recipe.
func RemoteWorkload(kind, name string) (*Workload, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	if k.remote == nil {
		return nil, fmt.Errorf("a recipe for %s cannot be in a process of its own yet: there are %s", kind, strings.Join(RemoteKinds(), ", "))
	}
	return &Workload{kind: kind, terms: terms{recipe: name}, model: k.Model, plan: remotely(k.remote), remote: k.remote}, nil
}

// remotely plans an episode for clients in processes of their own.
func remotely(plan func(*sim.Plan, string) Episode) func(*sim.Plan, string) Episode {
	return func(p *sim.Plan, path string) Episode {
		return &remoteEpisode{Episode: plan(p, path), sessions: map[int64]int64{}}
	}
}

// InProcesses is the same workload for clients in processes of their own, where they can be paused and killed. The error
// says why they cannot be.
func (w *Workload) InProcesses() (*Workload, error) {
	plan := w.remote
	if k, err := KindNamed(w.kind); plan == nil && w.terms.recipe == Ours && err == nil {
		plan = k.remote
	}
	if plan == nil {
		return nil, fmt.Errorf("clients of %s (%s) cannot be in processes of their own yet: there are %s, and locks", w.kind, w.terms.recipe, strings.Join(RemoteKinds(), ", "))
	}
	return &Workload{kind: w.kind, terms: w.terms, model: w.model, plan: remotely(plan), remote: plan}, nil
}

// RemoteConn stands for the connection of a client in a process of its own. The observer is a connection of this process
// to the same servers.
func RemoteConn(r Remote, observer recipes.Conn) recipes.Conn {
	return &remoteConn{Conn: observer, remote: r}
}

// RemoteOf returns the client for which a connection stands, if it is a [RemoteConn].
func RemoteOf(c recipes.Conn) (r Remote, ok bool) {
	if conn, is := c.(*remoteConn); is {
		return conn.remote, true
	}
	return nil, false
}

// remoteConn stands for a client's connection where one in this process is expected.
type remoteConn struct {
	recipes.Conn // the observer
	remote       Remote
	user         int
	session      int64 // that of the user's last answer
}

// SessionID is the client's, not the observer's.
func (c *remoteConn) SessionID() int64 { return c.remote.SessionID() }

// Sync tells whether the client reaches its servers. A process that is no more need not.
func (c *remoteConn) Sync(path string) (string, error) {
	if c.remote.Alive() && !c.remote.Connected() {
		return "", zk.ErrConnectionClosed
	}
	return path, nil
}

// remoteEpisode is an episode whose clients are in other processes. It is no resolver, because their requests
// are not seen.
type remoteEpisode struct {
	Episode

	mu        sync.Mutex
	sessions  map[int64]int64 // by number of an operation: the session in which it took place
	simulated bool            // there was a client that is in no process
}

func (e *remoteEpisode) Run(u User) {
	conn, ok := u.Conn().(*remoteConn)
	if !ok {
		e.refuse()
		return
	}
	e.Episode.Run(&remoteUser{User: u, episode: e, handle: &remoteConn{Conn: conn.Conn, remote: conn.remote, user: u.Index()}})
}

// refuse lets a client do nothing that is in this process.
func (e *remoteEpisode) refuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.simulated = true
}

func (e *remoteEpisode) History(v *View) linearizability.History {
	e.attribute(v)
	return e.Episode.History(v)
}

func (e *remoteEpisode) Judge(v *View) Judgement {
	if e.simulated {
		return Judgement{Judgement: sim.Judgement{Unknown: "a recipe in a process of its own runs on real servers only"}}
	}
	e.attribute(v)
	return e.Episode.Judge(v)
}

// attribute puts operations into the sessions in which they took place: the client may have got another
// one between an answer and the moment at which the user noted what it had. What was got hold of in a session
// of which nothing is known, or not when it ended, was held for an unknown time, perhaps for none: it counts as
// not held, and accuses nobody.
func (e *remoteEpisode) attribute(v *View) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, op := range v.Ops {
		session, over := e.sessions[op.Number]
		if !over {
			continue
		}
		op.SessionAt = session
		end, ended := v.SessionEnd(session)
		if op.Data != nil && (session == 0 || ended && end < op.Call) {
			op.Data, op.Outcome = nil, sim.Fail
		}
	}
}

func (e *remoteEpisode) note(op *sim.Op, session int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[op.Number] = session
}

// remoteUser is a user of a client in another process.
type remoteUser struct {
	User
	episode *remoteEpisode
	handle  *remoteConn
}

func (u *remoteUser) Conn() recipes.Conn { return u.handle }

func (u *remoteUser) End(op *sim.Op, outcome sim.Outcome, result string, err error) {
	u.episode.note(op, u.handle.session)
	u.User.End(op, outcome, result, err)
}
