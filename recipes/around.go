package recipes

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Around returns a connection that passes each request of conn to do, for metrics, traces, limits of rates, and faults
// in tests. do gets the operation as ZooKeeper names it, such as "create" and "getACL", the path ("" for "multi",
// "auth" and "close"), and send, which sends the request. do calls send at most once. It may call it late, measure it,
// or return an error instead, which the caller of the method then gets. Many goroutines may call do at the same time.
//
// Events of watches do not pass through do, nor do methods that need no server. Close goes through do as "close"; if it
// is not sent that is not an error.
func Around(conn Conn, do func(op, path string, send func() error) error) Conn {
	return &around{Wrapper{conn}, do}
}

type around struct {
	Wrapper
	do func(op, path string, send func() error) error
}

func (a *around) AddAuth(scheme string, auth []byte) error {
	return a.do("auth", "", func() error { return a.Conn.AddAuth(scheme, auth) })
}

func (a *around) Close() {
	a.do("close", "", func() error { a.Conn.Close(); return nil })
}

// CreateProtectedEphemeralSequential sends its requests one by one.
func (a *around) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error) {
	return CreateProtected(a, path, data, acl)
}

func (a *around) Children(path string) ([]string, *zk.Stat, error) {
	return read(a, "children", path, a.Conn.Children)
}

func (a *around) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return watch(a, "children", path, a.Conn.ChildrenW)
}

func (a *around) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return request(a, "create", path, func() (string, error) { return a.Conn.Create(path, data, flags, acl) })
}

func (a *around) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return request(a, "create", path, func() (string, error) { return a.Conn.CreateContainer(path, data, flags, acl) })
}

func (a *around) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (string, error) {
	return request(a, "create", path, func() (string, error) { return a.Conn.CreateTTL(path, data, flags, acl, ttl) })
}

func (a *around) Delete(path string, version int32) error {
	return a.do("delete", path, func() error { return a.Conn.Delete(path, version) })
}

func (a *around) Exists(path string) (bool, *zk.Stat, error) {
	return read(a, "exists", path, a.Conn.Exists)
}

func (a *around) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return watch(a, "exists", path, a.Conn.ExistsW)
}

func (a *around) Get(path string) ([]byte, *zk.Stat, error) { return read(a, "get", path, a.Conn.Get) }

func (a *around) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return watch(a, "get", path, a.Conn.GetW)
}

func (a *around) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	return read(a, "getACL", path, a.Conn.GetACL)
}

func (a *around) Multi(ops ...any) ([]zk.MultiResponse, error) {
	return request(a, "multi", "", func() ([]zk.MultiResponse, error) { return a.Conn.Multi(ops...) })
}

func (a *around) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	return request(a, "set", path, func() (*zk.Stat, error) { return a.Conn.Set(path, data, version) })
}

func (a *around) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	return request(a, "setACL", path, func() (*zk.Stat, error) { return a.Conn.SetACL(path, acl, version) })
}

func (a *around) Sync(path string) (string, error) {
	return request(a, "sync", path, func() (string, error) { return a.Conn.Sync(path) })
}

// request sends a request that returns a value.
func request[T any](a *around, op, path string, send func() (T, error)) (value T, err error) {
	err = a.do(op, path, func() error {
		value, err = send()
		return err
	})
	return value, err
}

// read sends a request that returns a value and its znode's stat.
func read[T any](a *around, op, path string, send func(string) (T, *zk.Stat, error)) (value T, s *zk.Stat, err error) {
	err = a.do(op, path, func() error {
		value, s, err = send(path)
		return err
	})
	return value, s, err
}

// watch is read with a watch.
func watch[T any](a *around, op, path string, send func(string) (T, *zk.Stat, <-chan zk.Event, error)) (
	value T, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = a.do(op, path, func() error {
		value, stat, changed, err = send(path)
		return err
	})
	return value, stat, changed, err
}
