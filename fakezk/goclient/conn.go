package goclient

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/digest"
)

// Conn has the methods of go-zookeeper's *zk.Conn, with its types, its errors and its habits: a request under way
// when the connection breaks fails with zk.ErrConnectionClosed and its outcome is unknown; a reply with an error
// still carries a zero Stat; after an expiry the client opens a new session by itself; watch channels deliver one
// event and are closed; the global event channel drops what does not fit.
//
// A Conn is a handle on a [Client]. Several handles may share one, as the users of one session share one *zk.Conn.
type Conn struct {
	*Client
	user  int
	guids atomic.Uint64
	asked atomic.Int64         // the session that SessionID has last returned
	spare atomic.Pointer[Call] // memory to reuse, …
	first Call                 // … this to begin with
}

// Handle returns a handle on the client for one of its users. Its requests carry the user's number.
func (c *Client) Handle(user int) *Conn {
	h := &Conn{Client: c, user: user}
	h.first.done = make(chan error, 1)
	h.spare.Store(&h.first)
	return h
}

// BeginsToWait tells a simulator that its caller is about to wait for a time. Recipes need not call it, see
// world.Terms.
func (c *Conn) BeginsToWait() {
	if c.OnWait != nil {
		c.OnWait()
	}
}

// NewGUID returns 32 hexadecimal digits, the same in every run, so that equal runs have equal paths.
func (c *Conn) NewGUID() string { return GUID(c.GUIDSeed, c.user, c.guids.Add(1)) }

// GUIDLength is how many digits an identity has.
const GUIDLength = 32

// GUID is the n-th identity, from 1, that NewGUID returns to a user of the client with the seed.
func GUID(seed uint32, user int, n uint64) string {
	x := digest.Mix(uint64(seed)<<32 | uint64(user)<<24 | n)
	var guid [16]byte
	binary.BigEndian.PutUint64(guid[:8], x)
	binary.BigEndian.PutUint64(guid[8:], digest.Mix(x))
	var text [GUIDLength]byte
	hex.Encode(text[:], guid[:])
	return string(text[:])
}

// ask sends a request about one znode, unless its path is invalid.
func (c *Conn) ask(r *fakezk.Request) (answer, error) {
	if err := validatePath(r.Path, false); err != nil {
		return answer{}, err
	}
	return c.request(r)
}

// answer is what has come of a request.
type answer struct {
	reply *fakezk.Response
	watch chan zk.Event
}

// request sends a request and waits for what comes of it. Then nobody else has the call any more. Requests are passed
// by address, and copied into the call: a large frame makes the stack of each goroutine of a recipe grow.
func (c *Conn) request(r *fakezk.Request) (answer, error) {
	call := c.submit(r)
	err := <-call.done
	c.survive(err)
	a := answer{call.reply, call.watch}
	c.spare.Store(call)
	return a, err
}

// submit sends a request, unless the client is closed.
func (c *Conn) submit(r *fakezk.Request) *Call {
	call := c.spare.Swap(nil)
	if call == nil {
		call = &Call{done: make(chan error, 1)}
	}
	*call = Call{Request: *r, User: c.user, client: c.Client, done: call.done}
	if c.dead.Load() && !c.closed.Load() {
		<-c.buried
	}
	switch {
	case c.killed.Load(), c.dead.Load() && c.refused.Add(1) > refusedMax:
		call.done <- errKilled
	case c.closed.Load():
		if c.OnRefused != nil {
			c.OnRefused()
		}
		call.done = make(chan error, 1) // of the caller's bubble, which may be a later one than the client's
		call.done <- c.over()
	default:
		c.network.Submit(call)
	}
	return call
}

// refusedMax is how many calls of a process that has died are refused at the end, so that its goroutines end as after
// Close: one that tries for ever is ended.
const refusedMax = 100

// survive ends a goroutine whose process has died.
func (c *Conn) survive(err error) {
	if err == errKilled {
		runtime.Goexit()
	}
}

// stat is what go-zookeeper returns beside an error: nil if the connection was lost or nothing was sent, else a Stat,
// zero if the reply was an error.
func (a answer) stat(err error) *zk.Stat {
	if err == zk.ErrConnectionClosed || err == zk.ErrInvalidPath {
		return nil
	}
	return &a.response().Stat
}

func (a answer) response() *fakezk.Response {
	if a.reply == nil {
		return &fakezk.Response{}
	}
	return a.reply
}

// AddAuth adds credentials to the connection and sends them again after each reconnect.
func (c *Conn) AddAuth(scheme string, auth []byte) error {
	_, err := c.request(&fakezk.Request{Op: wire.OpAuth, Scheme: scheme, Auth: auth})
	return err
}

// Children returns the names of a znode's children, in no particular order.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpGetChildren2, Path: path})
	return a.response().Children, a.stat(err), err
}

// ChildrenW is Children and leaves a watch for created and deleted children and for the deletion of the znode itself.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpGetChildren2, Path: path, Watch: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return a.reply.Children, &a.reply.Stat, a.watch, nil
}

// Get returns the data of a znode.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpGetData, Path: path})
	return bytes.Clone(a.response().Data), a.stat(err), err // the server's stays its own
}

// GetW is Get and leaves a watch for a change of the data and for the deletion.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpGetData, Path: path, Watch: true})
	if err != nil {
		return nil, nil, nil, err
	}
	return bytes.Clone(a.reply.Data), &a.reply.Stat, a.watch, nil
}

// Set replaces the data of a znode; version -1 matches any.
func (c *Conn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpSetData, Path: path, Data: data, Version: version})
	return a.stat(err), err
}

// Create creates a znode and returns its path, with the sequence number if one was asked for.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return c.create(&fakezk.Request{Op: wire.OpCreate, Path: path, Data: data, Flags: flags, ACL: acl})
}

// CreateContainer creates a container znode: the server removes it some time after its last child is gone.
func (c *Conn) CreateContainer(path string, data []byte, flag int32, acl []zk.ACL) (string, error) {
	return c.create(&fakezk.Request{Op: wire.OpCreateContainer, Path: path, Data: data, Flags: flag, ACL: acl})
}

// CreateTTL creates a znode that the server removes when it has no children and has not been modified for ttl.
func (c *Conn) CreateTTL(path string, data []byte, flag int32, acl []zk.ACL, ttl time.Duration) (string, error) {
	return c.create(&fakezk.Request{Op: wire.OpCreateTTL, Path: path, Data: data, Flags: flag, ACL: acl, TTL: ttl.Milliseconds()})
}

// create makes go-zookeeper's checks in its order: the flags, the path, and whether the flags fit the operation.
func (c *Conn) create(r *fakezk.Request) (string, error) {
	mode, err := parseMode(r.Flags)
	if err != nil {
		return "", err
	}
	if err := validatePath(r.Path, mode.sequential); err != nil {
		return "", err
	}
	switch {
	case r.Op == wire.OpCreate && mode.ttl:
		return "", fmt.Errorf("Create with TTL flag disallowed: %w", zk.ErrInvalidFlags)
	case r.Op == wire.OpCreateContainer && !mode.container:
		return "", fmt.Errorf("CreateContainer requires container flag: %w", zk.ErrInvalidFlags)
	case r.Op == wire.OpCreateTTL && !mode.ttl:
		return "", fmt.Errorf("CreateTTL requires TTL flag: %w", zk.ErrInvalidFlags)
	}
	a, err := c.request(r)
	return a.response().Path, err
}

// protectedPrefix marks the names of CreateProtectedEphemeralSequential, as in go-zookeeper.
const protectedPrefix = "_c_"

// CreateProtectedEphemeralSequential creates an ephemeral sequential znode with a GUID in its name and looks for that
// GUID once after a lost connection, exactly as go-zookeeper does; there too, a second loss leaves the znode behind.
func (c *Conn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	if err := validatePath(path, true); err != nil {
		return "", err
	}
	guid := c.NewGUID()
	slash := strings.LastIndexByte(path, '/')
	root := path[:slash]
	protected := fmt.Sprintf("%s/%s%s-%s", root, protectedPrefix, guid, path[slash+1:])
	var created string
	var err error
	for range 3 {
		created, err = c.Create(protected, data, zk.FlagEphemeral|zk.FlagSequence, acl)
		switch err {
		case zk.ErrSessionExpired:
		case zk.ErrConnectionClosed:
			children, _, err := c.Children(root)
			if err != nil {
				return "", err
			}
			for _, name := range children {
				if strings.HasPrefix(name, protectedPrefix+guid) {
					return root + "/" + name, nil
				}
			}
		case nil:
			return created, nil
		default:
			return "", err
		}
	}
	return "", err
}

// Delete deletes a znode without children; version -1 matches any.
func (c *Conn) Delete(path string, version int32) error {
	_, err := c.ask(&fakezk.Request{Op: wire.OpDelete, Path: path, Version: version})
	return err
}

// Exists reports whether a znode exists.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpExists, Path: path})
	if err == zk.ErrNoNode {
		return false, a.stat(err), nil
	}
	stat := a.stat(err)
	return stat != nil, stat, err // go-zookeeper says true beside every error that has a Stat
}

// ExistsW is Exists and leaves a watch for the creation, change or deletion of the znode.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpExists, Path: path, Watch: true})
	if err != nil && err != zk.ErrNoNode {
		return false, nil, nil, err
	}
	return err == nil, &a.reply.Stat, a.watch, nil
}

// GetACL returns the access control list of a znode.
func (c *Conn) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpGetACL, Path: path})
	return a.response().ACL, a.stat(err), err
}

// SetACL replaces the access control list of a znode; version (of the list) -1 matches any.
func (c *Conn) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpSetACL, Path: path, ACL: acl, Version: version})
	return a.stat(err), err
}

// Sync returns when the replica that the client is attached to has applied everything that was committed before.
func (c *Conn) Sync(path string) (string, error) {
	a, err := c.ask(&fakezk.Request{Op: wire.OpSync, Path: path})
	return a.response().Path, err
}

// Multi carries out *zk.CreateRequest, *zk.DeleteRequest, *zk.SetDataRequest and *zk.CheckVersionRequest together or
// not at all. When one fails it returns the results and the first error, as go-zookeeper does.
func (c *Conn) Multi(ops ...interface{}) ([]zk.MultiResponse, error) {
	parts := make([]fakezk.Request, len(ops))
	for i, op := range ops {
		if err := become(&parts[i], op); err != nil {
			return nil, err
		}
	}
	a, err := c.request(&fakezk.Request{Op: wire.OpMulti, Ops: parts})
	if err == zk.ErrConnectionClosed {
		return nil, err
	}
	return multiResponses(a.response(), err)
}

// become makes an empty request an operation of a multi.
func become(r *fakezk.Request, op any) error {
	switch op := op.(type) {
	case *zk.CreateRequest:
		r.Op, r.Path, r.Data, r.ACL, r.Flags = wire.OpCreate, op.Path, op.Data, op.Acl, op.Flags
	case *zk.SetDataRequest:
		r.Op, r.Path, r.Data, r.Version = wire.OpSetData, op.Path, op.Data, op.Version
	case *zk.DeleteRequest:
		r.Op, r.Path, r.Version = wire.OpDelete, op.Path, op.Version
	case *zk.CheckVersionRequest:
		r.Op, r.Path, r.Version = wire.OpCheck, op.Path, op.Version
	default:
		return fmt.Errorf("unknown operation type %T", op)
	}
	return nil
}

func multiResponses(reply *fakezk.Response, err error) ([]zk.MultiResponse, error) {
	results := make([]zk.MultiResponse, len(reply.Results))
	for i := range reply.Results {
		result := &reply.Results[i]
		if result.Op == wire.OpCreate2 { // a container or TTL znode: go-zookeeper cannot decode it, or what follows
			return results[:i], zk.ErrAPIError
		}
		results[i] = zk.MultiResponse{String: result.Path, Error: result.Err.Err()}
		if result.Op == wire.OpSetData {
			results[i].Stat = &result.Stat
		}
		if err == nil {
			err = results[i].Error
		}
	}
	return results, err
}

// SessionID returns the current session, 0 before the first one and between two.
func (c *Conn) SessionID() int64 {
	session := c.session.Load()
	if before := c.asked.Swap(session); before != 0 && before != session && c.OnLearned != nil {
		c.OnLearned(c.user)
	}
	return session
}

// State returns the state of the connection.
func (c *Conn) State() zk.State {
	state := zk.State(c.state.Load())
	if state == zk.StateExpired && c.OnLearned != nil {
		c.OnLearned(c.user)
	}
	return state
}

// SetLogger does nothing: the fake has nothing to log. It is there for the method set.
func (c *Conn) SetLogger(zk.Logger) {}

// IncrementalReconfig fails: the servers do not let their configuration be changed.
func (c *Conn) IncrementalReconfig([]string, []string, int64) (*zk.Stat, error) { return c.reconfig() }

// Reconfig fails as IncrementalReconfig does.
func (c *Conn) Reconfig([]string, int64) (*zk.Stat, error) { return c.reconfig() }

func (c *Conn) reconfig() (*zk.Stat, error) {
	a, err := c.request(&fakezk.Request{Op: wire.OpReconfig})
	return &a.response().Stat, err
}

// closeMax is how long go-zookeeper's Close waits for its answer.
const closeMax = time.Second

// Close ends the session: its ephemeral znodes go, pending and later requests fail with zk.ErrConnectionClosed, and
// the client does not reconnect. Without a connection, or if it breaks before the answer, the session runs out. It
// returns within a second.
func (c *Conn) Close() {
	if c.closing.Swap(true) {
		return
	}
	c.BeginsToWait()
	select {
	case err := <-c.submit(&fakezk.Request{Op: wire.OpCloseSession}).done:
		c.survive(err)
	case <-time.After(closeMax):
	}
}

type mode struct{ sequential, container, ttl bool }

// parseMode is go-zookeeper's: flags 0 to 6, anything else is ErrInvalidFlags.
func parseMode(flags int32) (mode, error) {
	switch flags {
	case zk.FlagPersistent, zk.FlagEphemeral:
		return mode{}, nil
	case zk.FlagSequence, zk.FlagEphemeralSequential:
		return mode{sequential: true}, nil
	case zk.FlagContainer:
		return mode{container: true}, nil
	case zk.FlagTTL:
		return mode{ttl: true}, nil
	case zk.FlagPersistentSequentialWithTTL:
		return mode{ttl: true, sequential: true}, nil
	}
	return mode{}, fmt.Errorf("invalid flag value: [%v]", flags)
}

// Unsendable reports whether go-zookeeper refuses a request for its path without sending it; op has the names of
// recipes.Around.
func Unsendable(op, path string) bool {
	sequential := op == "create" // it may be
	return !slices.Contains([]string{"multi", "auth", "close"}, op) && validatePath(path, sequential) != nil
}

// validatePath is go-zookeeper's check before it sends anything; the error is [zk.ErrInvalidPath]. It differs from
// the server's: surrogates, the lower private use area and a first component "." pass, so that the server's
// BadArguments can be reached. The path of a sequential znode may end with a slash.
func validatePath(path string, sequential bool) error {
	if path == "/" || fakezk.Plain(path) {
		return nil
	}
	if path == "" || path[0] != '/' || !sequential && strings.HasSuffix(path, "/") {
		return zk.ErrInvalidPath
	}
	for rest := strings.TrimPrefix(path[1:], "./"); ; {
		name, after, more := strings.Cut(rest, "/")
		emptyLast := name == "" && !more && sequential
		if name == "" && !emptyLast || name == "." || name == ".." || strings.ContainsFunc(name, forbidden) {
			return zk.ErrInvalidPath
		}
		if !more {
			return nil
		}
		rest = after
	}
}

func forbidden(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xf000 && r <= 0xf8ff || r >= 0xfff0 && r < 0xffff
}
