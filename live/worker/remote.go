package worker

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
)

// Remote is a client in a process of its own. Its methods may be called from several goroutines.
type Remote interface {
	// Do carries out an operation and returns its answer. When ctx ends the recipe is told to give up. The error says
	// that the operation failed; it is [recipes.ErrUnknownOutcome] if it may have happened nevertheless, such as when the
	// process dies meanwhile, and [recipes.ErrLost] if the process with the number Call.Incarnation has ended.
	Do(ctx context.Context, call Call) (Answer, error)
	// Can reports whether the recipe has an operation that not every recipe of its kind has.
	Can(op string) bool
	// SessionID is the session that the process last reported; 0 if none.
	SessionID() int64
	// Connected reports whether the process last reported that it has a session and reaches its servers.
	Connected() bool
	// Alive reports whether there is a process. If there is none, the next operation starts one.
	Alive() bool
	// ExpiriesSeen counts the sessions that the client knows to have ended: those that the process reported as lost,
	// and those of processes that died. Broken counts the connections that the process reported as lost.
	ExpiriesSeen() int
	Broken() int
	// Close ends the process. Operations under way fail.
	Close()
}

// Call is one operation of a user of a client.
type Call struct {
	User        int
	Path        string // the object's
	Op          string // as in a history
	Arg         linearizability.Value
	Incarnation int // number of the process that is to do it; 0: whichever is there
}

// Answer is the result of an operation.
type Answer struct {
	Result linearizability.Value
	// Session is the session in which the whole operation took place; 0 if it is not known or changed meanwhile.
	Session     int64
	Incarnation int // number of the process that answered, from 1
}

// ConnOf stands for the connection of a client in a process of its own. The observer is a connection of this process to
// the same servers.
func ConnOf(r Remote, observer recipes.Conn) recipes.Conn {
	return &remoteConn{Conn: observer, remote: r}
}

// RemoteOf returns the client for which a connection stands, if it is one of [ConnOf].
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
	incarnation  int   // of the process that the user's last call reached; 0: none
}

// OneObject says that each user has one object at a time, and nothing else goes over its session.
func (c *remoteConn) OneObject() {}

// SessionID is the client's, not the observer's.
func (c *remoteConn) SessionID() int64 { return c.remote.SessionID() }

// Sync reports whether the client reaches its servers. A process that is no more need not.
func (c *remoteConn) Sync(path string) (string, error) {
	if c.remote.Alive() && !c.remote.Connected() {
		return "", zk.ErrConnectionClosed
	}
	return path, nil
}
