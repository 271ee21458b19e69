package recipes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// Conn is what a recipe needs from a ZooKeeper client: the methods of *zk.Conn, with its types and its errors. A
// *zk.Conn satisfies it unchanged, and so does *goclient.Conn, so that the same recipe runs in production, in simulation
// and against a real ensemble.
//
// An implementation must behave like go-zookeeper (v1.0.4, conn.go) in these respects: a watch channel delivers at most
// one event and is then closed; a request in flight when the connection breaks fails with [zk.ErrConnectionClosed] or
// a net error and its outcome is unknown; after the session expired the client opens a new one by itself, under the
// same Conn.
//
//   - CreateProtectedEphemeralSequential may send up to three creates, each followed by Children if its reply was
//     lost. If that reply is lost, too, the znode stays behind. The GUID in its name is the simulator's where
//     [NewGUID]'s is.
//   - AddAuth lasts: the client shows the credentials again on each later connection.
//   - Server is the server that is connected, or was last, host and port. A simulated one has a name that cannot be
//     resolved.
//   - Close ends the session, for all who share the connection: ephemeral znodes go, and watches end with
//     [zk.ErrClosing]. Requests under way, whether they are carried out or not, and all later ones fail with
//     [zk.ErrConnectionClosed] at once, so an endless retry never blocks again. Without a connection the session is
//     left to run out. Close returns within a second in simulation; go-zookeeper's may take three. On real servers
//     under torture the sessions are the run's, which ends when a recipe closes one.
//   - State and SessionID are what the client believes; a session that has expired at the servers is believed in
//     until a server says so.
//
// The channel of events that zk.Connect also returns is [SessionEvents]. Conn does not have SetLogger, which belongs to
// the code that connects, nor Reconfig and IncrementalReconfig, because simulated servers do not reconfigure.
//
// A recipe may instead use an interface of its own with some of these methods: a Conn satisfies it.
type Conn interface {
	AddAuth(scheme string, auth []byte) error
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	Close()
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flag int32, acl []zk.ACL) (string, error)
	CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error)
	CreateTTL(path string, data []byte, flag int32, acl []zk.ACL, ttl time.Duration) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	GetACL(path string) ([]zk.ACL, *zk.Stat, error)
	Multi(ops ...interface{}) ([]zk.MultiResponse, error)
	Server() string
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error)
	SessionID() int64
	State() zk.State
	Sync(path string) (string, error)
}

var _ Conn = (*zk.Conn)(nil)

// NewGUID returns 32 hexadecimal digits that no other call returns, for names by which a client finds its own znode
// again after a lost reply.
//
// They come from crypto/rand, unless conn has a method NewGUID of its own: a simulated connection does, because there
// all randomness must come from the simulator. Within a connection that hides that method, in a simulated world
// crypto/rand is the simulator's, too.
func NewGUID(conn Conn) string { return call.NewGUID(conn) }

// BeginsToWait tells a connection that its caller is about to wait for a time, if it has a method for that: a simulated
// connection does, because a simulator decides when time passes.
func BeginsToWait(conn Conn) { call.BeginsToWait(conn) }

// Wrapper is a connection around another one, for types that embed it: it passes on what a connection can have besides,
// which a type that embeds a plain Conn hides.
type Wrapper struct{ Conn }

// NewGUID takes names from where the connection has them, see [NewGUID].
func (w Wrapper) NewGUID() string { return NewGUID(w.Conn) }

// BeginsToWait tells the connection, see [BeginsToWait].
func (w Wrapper) BeginsToWait() { BeginsToWait(w.Conn) }

// SessionEvents implements [EventSource].
func (w Wrapper) SessionEvents() <-chan zk.Event { return SessionEvents(w.Conn) }

// protectedPrefix begins the names of protected znodes, and protectedTries is how often one is created (go-zookeeper
// 1.0.4, conn.go).
const (
	protectedPrefix = "_c_"
	protectedTries  = 3
)

// CreateProtected is CreateProtectedEphemeralSequential by conn's own Create and Children, with a name by [NewGUID]:
// for connections that wrap another one and have to see each request. It sends what go-zookeeper sends.
func CreateProtected(conn Conn, path string, data []byte, acl []zk.ACL) (created string, err error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return "", zk.ErrInvalidPath
	}
	parent := path[:slash]
	prefix := protectedPrefix + NewGUID(conn)
	protected := fmt.Sprintf("%s/%s-%s", parent, prefix, path[slash+1:])
	for range protectedTries {
		created, err = conn.Create(protected, data, zk.FlagEphemeralSequential, acl)
		switch err {
		case nil:
			return created, nil
		case zk.ErrSessionExpired: // and the znode with it
		case zk.ErrConnectionClosed:
			if found, err := findProtected(conn, parent, prefix); found != "" || err != nil {
				return found, err
			}
		default:
			return "", err
		}
	}
	return "", err
}

// findProtected looks for the znode of a create whose reply was lost; "" if there is none.
func findProtected(conn Conn, parent, prefix string) (string, error) {
	children, _, err := conn.Children(parent)
	i := slices.IndexFunc(children, func(name string) bool { return strings.HasPrefix(name, prefix) })
	if err != nil || i < 0 {
		return "", err
	}
	return parent + "/" + children[i], nil
}
