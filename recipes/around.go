package recipes

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Around returns conn in such a way that each request goes through do, which gets its operation as ZooKeeper names
// it, such as "create" and "getACL", its path ("" for "multi", which has many, "auth" and "close") and the request itself, and sends that at most
// once. It may do so late, time it, or return an error instead, which the caller then gets. It may be called by
// many goroutines at a time. What a watch delivers does not come by here, nor what needs no server. Close, which goes
// through do as "close", is no error if it is not sent.
//
// That is where metrics, traces and limits of rates go, and what a test does to a client.
func Around(conn Conn, do func(op, path string, send func() error) error) Conn {
	return &around{conn, do}
}

type around struct {
	Conn
	do func(op, path string, send func() error) error
}

// NewGUID takes names from where the connection has them, see [NewGUID].
func (a *around) NewGUID() string { return NewGUID(a.Conn) }

// SessionEvents implements [EventSource].
func (a *around) SessionEvents() <-chan zk.Event { return SessionEvents(a.Conn) }

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

func (a *around) Children(path string) (names []string, stat *zk.Stat, err error) {
	err = a.do("children", path, func() (err error) {
		names, stat, err = a.Conn.Children(path)
		return err
	})
	return names, stat, err
}

func (a *around) ChildrenW(path string) (names []string, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = a.do("children", path, func() (err error) {
		names, stat, changed, err = a.Conn.ChildrenW(path)
		return err
	})
	return names, stat, changed, err
}

func (a *around) Create(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	err = a.do("create", path, func() (err error) {
		created, err = a.Conn.Create(path, data, flags, acl)
		return err
	})
	return created, err
}

func (a *around) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	err = a.do("create", path, func() (err error) {
		created, err = a.Conn.CreateContainer(path, data, flags, acl)
		return err
	})
	return created, err
}

func (a *around) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (created string, err error) {
	err = a.do("create", path, func() (err error) {
		created, err = a.Conn.CreateTTL(path, data, flags, acl, ttl)
		return err
	})
	return created, err
}

func (a *around) Delete(path string, version int32) error {
	return a.do("delete", path, func() error { return a.Conn.Delete(path, version) })
}

func (a *around) Exists(path string) (exists bool, stat *zk.Stat, err error) {
	err = a.do("exists", path, func() (err error) {
		exists, stat, err = a.Conn.Exists(path)
		return err
	})
	return exists, stat, err
}

func (a *around) ExistsW(path string) (exists bool, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = a.do("exists", path, func() (err error) {
		exists, stat, changed, err = a.Conn.ExistsW(path)
		return err
	})
	return exists, stat, changed, err
}

func (a *around) Get(path string) (data []byte, stat *zk.Stat, err error) {
	err = a.do("get", path, func() (err error) {
		data, stat, err = a.Conn.Get(path)
		return err
	})
	return data, stat, err
}

func (a *around) GetW(path string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	err = a.do("get", path, func() (err error) {
		data, stat, changed, err = a.Conn.GetW(path)
		return err
	})
	return data, stat, changed, err
}

func (a *around) GetACL(path string) (acl []zk.ACL, stat *zk.Stat, err error) {
	err = a.do("getACL", path, func() (err error) {
		acl, stat, err = a.Conn.GetACL(path)
		return err
	})
	return acl, stat, err
}

func (a *around) Multi(ops ...any) (responses []zk.MultiResponse, err error) {
	err = a.do("multi", "", func() (err error) {
		responses, err = a.Conn.Multi(ops...)
		return err
	})
	return responses, err
}

func (a *around) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	err = a.do("set", path, func() (err error) {
		stat, err = a.Conn.Set(path, data, version)
		return err
	})
	return stat, err
}

func (a *around) SetACL(path string, acl []zk.ACL, version int32) (stat *zk.Stat, err error) {
	err = a.do("setACL", path, func() (err error) {
		stat, err = a.Conn.SetACL(path, acl, version)
		return err
	})
	return stat, err
}

func (a *around) Sync(path string) (synced string, err error) {
	err = a.do("sync", path, func() (err error) {
		synced, err = a.Conn.Sync(path)
		return err
	})
	return synced, err
}
