package outcome

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Log is what the users of one round asked ZooKeeper to change, what was answered, and what they read. It
// knows whose handle a request went through, and never which operation meant it: a recipe may work in the background,
// before an operation or after it. What follows for operations is for rules to say that hold whichever it was.
//
// Invariant: whatever was sent is in the log before it is sent, and an operation before it begins,
// so that in the log of one handle a request stands after every operation that can have caused it.
type Log struct {
	of   rules
	path string // the object's

	mu      sync.Mutex
	handles int
	entries []logEntry
}

// logEntry is the beginning of an operation, or one elementary request.
type logEntry struct {
	handle int
	began  int64 // number of the operation that begins; 0: it is a request

	kind    requestKind
	path    string // of a create that was done: as it was made, with its sequence number
	data    string // written or read
	flags   int32  // of a create
	expires bool   // a create of a znode that the servers may remove by themselves: a container, or with a TTL
	version int32  // which a set or a delete requires; of a read: the znode's
	czxid   int64  // of a read: the znode's
	answer  answer
	bundle  int // the same, and not 0, for the requests of one multi
}

type requestKind uint8

const (
	requestCreate requestKind = iota
	requestDelete
	requestSet
	requestRead
	requestCheck
)

// answer is what is known of a request's effect.
type answer uint8

const (
	unanswered answer = iota // it may have had its effect, or may have it later
	done
	refused // it had no effect
)

// answerOf reads a reply. Whatever is not known to be ZooKeeper's refusal counts as no answer, which
// resolves fewer outcomes, and none wrongly.
func answerOf(err error) answer {
	switch {
	case err == nil:
		return done
	case workload.Refused(err):
		return refused
	}
	return unanswered
}

// changes reports whether the request may have changed something.
func (e *logEntry) changes() bool {
	return e.began == 0 && e.kind <= requestSet && e.answer != refused
}

// plain reports whether the znode of a create stays until it is deleted.
func (e *logEntry) plain() bool {
	return !e.expires && (e.flags == zk.FlagPersistent || e.flags == zk.FlagSequence)
}

// NewLog is the log of an episode of a kind about the object at a path; nil if outcomes of that kind cannot be
// resolved.
func NewLog(kind, path string) *Log {
	of, can := byKind[kind]
	if !can {
		return nil
	}
	return &Log{of: of, path: path}
}

// Around is an episode whose requests are logged.
func (l *Log) Around(e workload.Episode) workload.Episode { return logged{e, l} }

// logged is an episode whose users' requests are logged.
type logged struct {
	workload.Episode
	log *Log
}

func (e logged) Run(u workload.User) { e.Episode.Run(e.log.user(u)) }

// Needed reports whether the log, with the tree, may resolve an outcome that matters. It is false of no log.
func (l *Log) Needed(ops []*world.Op) bool { return l != nil && l.of.matters(ops) }

// With is what was logged so far, and a tree that was read before.
func (l *Log) With(tree map[string]Znode) *Requests {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Requests{rules: l.of, path: l.path, log: slices.Clone(l.entries), tree: tree}
}

// sent logs requests that are about to be sent as one, and returns where they stand.
func (l *Log) sent(entries ...logEntry) (first int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = len(l.entries)
	if len(entries) > 1 {
		for i := range entries {
			entries[i].bundle = first + 1
		}
	}
	l.entries = append(l.entries, entries...)
	return first
}

// answered notes the answer to requests that were sent as one; note adds what it says.
func (l *Log) answered(first, n int, err error, note func(i int, e *logEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		e := &l.entries[first+i]
		e.answer = answerOf(err)
		if err == nil && note != nil {
			note(i, e)
		}
	}
}

// user returns a user whose requests are logged, through a handle of its own.
func (l *Log) user(u workload.User) workload.User {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles++
	return &loggedUser{User: u, via: &loggedConn{recipes.Wrapper{Conn: u.Conn()}, l, l.handles}}
}

// loggedUser is a user of either world whose requests are logged.
type loggedUser struct {
	workload.User
	via *loggedConn
}

func (u *loggedUser) Conn() recipes.Conn { return u.via }

func (u *loggedUser) Begin(name, arg string, cancelable bool) (context.Context, *world.Op) {
	ctx, op := u.User.Begin(name, arg, cancelable)
	u.via.log.sent(logEntry{handle: u.via.handle, began: op.Number})
	return ctx, op
}

// loggedConn logs what goes through it: all that changes something, and the data that is read. It
// sends nothing of its own.
type loggedConn struct {
	recipes.Wrapper
	log    *Log
	handle int
}

func (c *loggedConn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return c.create(logEntry{path: path, data: string(data), flags: flags}, func() (string, error) {
		return c.Conn.Create(path, data, flags, acl)
	})
}

func (c *loggedConn) CreateContainer(path string, data []byte, flag int32, acl []zk.ACL) (string, error) {
	return c.create(logEntry{path: path, data: string(data), flags: flag, expires: true}, func() (string, error) {
		return c.Conn.CreateContainer(path, data, flag, acl)
	})
}

func (c *loggedConn) CreateTTL(path string, data []byte, flag int32, acl []zk.ACL, ttl time.Duration) (string, error) {
	return c.create(logEntry{path: path, data: string(data), flags: flag, expires: true}, func() (string, error) {
		return c.Conn.CreateTTL(path, data, flag, acl, ttl)
	})
}

func (c *loggedConn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	return recipes.CreateProtected(c, path, data, acl)
}

func (c *loggedConn) create(e logEntry, send func() (string, error)) (string, error) {
	e.handle, e.kind = c.handle, requestCreate
	at := c.log.sent(e)
	made, err := send()
	c.log.answered(at, 1, err, func(_ int, e *logEntry) { e.path = made })
	return made, err
}

func (c *loggedConn) Delete(path string, version int32) error {
	at := c.log.sent(logEntry{handle: c.handle, kind: requestDelete, path: path, version: version})
	err := c.Conn.Delete(path, version)
	c.log.answered(at, 1, err, nil)
	return err
}

func (c *loggedConn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	at := c.log.sent(logEntry{handle: c.handle, kind: requestSet, path: path, data: string(data), version: version})
	stat, err := c.Conn.Set(path, data, version)
	c.log.answered(at, 1, err, nil)
	return stat, err
}

func (c *loggedConn) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, err := c.Conn.Get(path)
	c.read(path, data, stat, err)
	return data, stat, err
}

func (c *loggedConn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := c.Conn.GetW(path)
	c.read(path, data, stat, err)
	return data, stat, watch, err
}

// read logs what was read, when it has been: it changes nothing.
func (c *loggedConn) read(path string, data []byte, stat *zk.Stat, err error) {
	if err == nil {
		c.log.sent(logEntry{
			handle: c.handle, kind: requestRead, answer: done,
			path: path, data: string(data), version: stat.Version, czxid: stat.Czxid,
		})
	}
}

func (c *loggedConn) Multi(ops ...any) ([]zk.MultiResponse, error) {
	entries := make([]logEntry, len(ops))
	for i, op := range ops {
		entries[i] = c.part(op)
	}
	at := c.log.sent(entries...)
	results, err := c.Conn.Multi(ops...)
	c.log.answered(at, len(ops), err, func(i int, e *logEntry) {
		if e.kind == requestCreate && i < len(results) {
			e.path = results[i].String
		}
	})
	return results, err
}

// part is one request of a multi.
func (c *loggedConn) part(op any) logEntry {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return logEntry{handle: c.handle, kind: requestCreate, path: op.Path, data: string(op.Data), flags: op.Flags}
	case *zk.DeleteRequest:
		return logEntry{handle: c.handle, kind: requestDelete, path: op.Path, version: op.Version}
	case *zk.SetDataRequest:
		return logEntry{handle: c.handle, kind: requestSet, path: op.Path, data: string(op.Data), version: op.Version}
	}
	return logEntry{handle: c.handle, kind: requestCheck}
}
