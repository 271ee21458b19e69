package worker

import (
	"path"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// episode is an episode whose clients are in other processes.
type episode struct {
	workload.Episode
	path string // the object's

	mu        sync.Mutex
	sessions  map[int64]int64  // by number of an operation: the session in which it took place
	processes map[int64]int    // likewise, if they die with their users: the process that was asked for it; 0: none
	began     map[int]standing // by client, when the episode began
	fragile   bool             // see kind
	own       bool             // of a user's kind
	unjudged  map[int64]string // by call: the grants that are not judged, and why
	simulated bool             // there was a client that is in no process
}

// standing is a client, and what it has gone through.
type standing struct {
	Remote
	connected bool
	losses    int       // of connections and sessions, as the process says
	joined    time.Time // as its servers say: when it connected last; zero if that is not seen
}

func standingOf(r Remote) standing {
	s := standing{Remote: r, connected: r.Connected(), losses: r.Broken() + r.ExpiriesSeen()}
	if seen, can := r.(interface{ Joined() time.Time }); can {
		s.joined = seen.Joined()
	}
	return s
}

// steady reports whether the client has had the same session and connection all the time since.
func (s standing) steady() bool { return s.connected && standingOf(s.Remote) == s }

// episode is an episode of the kind for clients in other processes.
func (k kind) episode(planned workload.Episode, path string) workload.Episode {
	e := &episode{Episode: planned, path: path, sessions: map[int64]int64{}, began: map[int]standing{},
		unjudged: map[int64]string{}}
	e.fragile, e.own = k.fragile, k.own != nil
	if k.mortal {
		e.processes = map[int64]int{}
	}
	return e
}

// Parents are the episode's without the object, which the recipe makes as its library does. Made by go-zookeeper it
// would have the data null, which other libraries never write, and kazoo's counter and semaphore cannot read. A user's
// kind says itself what is there.
func (e *episode) Parents() []string {
	if e.own {
		return e.Episode.Parents()
	}
	return without(e.path, e.Episode.Parents())
}

func without(object string, parents []string) []string {
	others := slices.DeleteFunc(parents, func(p string) bool { return p == object })
	return append([]string{path.Dir(object)}, others...)
}

func (e *episode) Run(u workload.User) {
	conn, ok := u.Conn().(*remoteConn)
	if !ok {
		e.refuse()
		return
	}
	e.begin(u.Client(), standingOf(conn.remote))
	own := &remoteConn{Conn: conn.Conn, remote: conn.remote, user: u.Index()}
	e.Episode.Run(&remoteUser{User: u, episode: e, conn: own})
}

// begin notes how a client stands when the first of its users begins.
func (e *episode) begin(client int, s standing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, begun := e.began[client]; !begun {
		e.began[client] = s
	}
}

// refuse lets a client do nothing that is in this process.
func (e *episode) refuse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.simulated = true
}

// MayWaitForever: where others wait for what a process makes, and one of the processes or its session may have ended, they
// wait for what may be gone.
func (e *episode) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	inOrder := e.Episode.MayWaitForever(all, waiting)
	if len(inOrder) == 0 && e.fragile && !e.steady() {
		return waiting
	}
	return inOrder
}

// steady reports whether all clients have had the same session and connection all the time.
func (e *episode) steady() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.began {
		if !s.steady() {
			return false
		}
	}
	return true
}

func (e *episode) History(v *workload.View) linearizability.History {
	e.attribute(v)
	h := e.Episode.History(v)
	for i, o := range h {
		if why, is := e.unjudged[o.Call]; is {
			h[i].Note = why
		}
	}
	return h
}

func (e *episode) Judge(v *workload.View) workload.Judgement {
	if e.simulated {
		const unknown = "a recipe in another process runs only on real servers"
		return workload.Judgement{Judgement: world.Judgement{Unknown: unknown}}
	}
	e.attribute(v)
	return e.Episode.Judge(v)
}

// attribute puts operations into the sessions in which they took place: the client may have got another one between an
// answer and the moment at which the user noted what it had. What was acquired in a session that is not known, or of
// which it is not known when it ended, was held for an unknown time, perhaps for none. It counts as not held, so that
// no violation rests on it.
func (e *episode) attribute(v *workload.View) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.live(v)
	for _, op := range v.Ops {
		session, over := e.sessions[op.Number]
		if !over {
			continue
		}
		op.SessionAt = session
		end, ended := v.SessionEnd(session)
		if session != 0 && (!ended || end >= op.Call) {
			continue
		}
		if _, holds := op.Data.(*workload.Held); holds {
			op.Data, op.Outcome = nil, world.Fail
			e.unjudged[op.Call] = vagueGrant
			if session == 0 && e.began[op.Client].steady() {
				e.unjudged[op.Call] = blindGrant
			}
		} else if op.Name == "enter" && op.Outcome == world.OK {
			op.Outcome = world.Unknown // it was inside, nobody knows for how long
		}
	}
}

// live gives operations to the lives of their users, if these end with their processes: a member of a double barrier
// whose process has died has not left. What no process was asked for was not done.
func (e *episode) live(v *workload.View) {
	v.Ops = slices.DeleteFunc(slices.Clone(v.Ops), func(op *world.Op) bool {
		process, over := e.processes[op.Number]
		if process > 1 {
			op.Incarnation = process - 1
		}
		return over && process == 0
	})
}

// note notes where an operation took place, which its user has asked for last.
func (e *episode) note(op *world.Op, asked *remoteConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sessions[op.Number] = asked.session
	if e.processes != nil {
		e.processes[op.Number] = asked.incarnation
	}
}

// remoteUser is a user of a client in another process.
type remoteUser struct {
	workload.User
	episode *episode
	conn    *remoteConn
}

func (u *remoteUser) Conn() recipes.Conn { return u.conn }

func (u *remoteUser) End(op *world.Op, outcome world.Outcome, result string, err error) {
	u.episode.note(op, u.conn)
	u.User.End(op, outcome, result, err)
}
