package zkclient

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Observed is a Client whose requests somebody is told of, and may hold back.
type Observed struct {
	*Client
	begin func(op string) (end func(error))
}

// Observe returns the client in such a way that begin is called before each request, with the name of its
// operation, and what begin returns when it has ended, with its error. Many requests may be under way.
func (c *Client) Observe(begin func(op string) (end func(error))) *Observed {
	return &Observed{c, begin}
}

// Children lists; see zk.Conn.
func (o *Observed) Children(path string) (names []string, stat *zk.Stat, err error) {
	end := o.begin("children")
	names, stat, err = o.Client.Children(path)
	end(err)
	return names, stat, err
}

// ChildrenW lists and watches; see zk.Conn.
func (o *Observed) ChildrenW(path string) (names []string, stat *zk.Stat, changed <-chan zk.Event, err error) {
	end := o.begin("children")
	names, stat, changed, err = o.Client.ChildrenW(path)
	end(err)
	return names, stat, changed, err
}

// Create makes a znode; see zk.Conn.
func (o *Observed) Create(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	end := o.begin("create")
	created, err = o.Client.Create(path, data, flags, acl)
	end(err)
	return created, err
}

// CreateContainer makes a container; see zk.Conn.
func (o *Observed) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	end := o.begin("create")
	created, err = o.Client.CreateContainer(path, data, flags, acl)
	end(err)
	return created, err
}

// CreateTTL makes a znode that goes by itself; see zk.Conn.
func (o *Observed) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (created string, err error) {
	end := o.begin("create")
	created, err = o.Client.CreateTTL(path, data, flags, acl, ttl)
	end(err)
	return created, err
}

// Delete removes a znode; see zk.Conn.
func (o *Observed) Delete(path string, version int32) error {
	end := o.begin("delete")
	err := o.Client.Delete(path, version)
	end(err)
	return err
}

// Exists looks for a znode; see zk.Conn.
func (o *Observed) Exists(path string) (exists bool, stat *zk.Stat, err error) {
	end := o.begin("exists")
	exists, stat, err = o.Client.Exists(path)
	end(err)
	return exists, stat, err
}

// ExistsW looks for a znode and watches; see zk.Conn.
func (o *Observed) ExistsW(path string) (exists bool, stat *zk.Stat, changed <-chan zk.Event, err error) {
	end := o.begin("exists")
	exists, stat, changed, err = o.Client.ExistsW(path)
	end(err)
	return exists, stat, changed, err
}

// Get reads; see zk.Conn.
func (o *Observed) Get(path string) (data []byte, stat *zk.Stat, err error) {
	end := o.begin("get")
	data, stat, err = o.Client.Get(path)
	end(err)
	return data, stat, err
}

// GetW reads and watches; see zk.Conn.
func (o *Observed) GetW(path string) (data []byte, stat *zk.Stat, changed <-chan zk.Event, err error) {
	end := o.begin("get")
	data, stat, changed, err = o.Client.GetW(path)
	end(err)
	return data, stat, changed, err
}

// GetACL reads an ACL; see zk.Conn.
func (o *Observed) GetACL(path string) (acl []zk.ACL, stat *zk.Stat, err error) {
	end := o.begin("getACL")
	acl, stat, err = o.Client.GetACL(path)
	end(err)
	return acl, stat, err
}

// Multi is a transaction; see zk.Conn.
func (o *Observed) Multi(ops ...any) (responses []zk.MultiResponse, err error) {
	end := o.begin("multi")
	responses, err = o.Client.Multi(ops...)
	end(err)
	return responses, err
}

// Set writes; see zk.Conn.
func (o *Observed) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	end := o.begin("set")
	stat, err = o.Client.Set(path, data, version)
	end(err)
	return stat, err
}

// SetACL writes an ACL; see zk.Conn.
func (o *Observed) SetACL(path string, acl []zk.ACL, version int32) (stat *zk.Stat, err error) {
	end := o.begin("setACL")
	stat, err = o.Client.SetACL(path, acl, version)
	end(err)
	return stat, err
}

// Sync lets the server catch up; see zk.Conn.
func (o *Observed) Sync(path string) (synced string, err error) {
	end := o.begin("sync")
	synced, err = o.Client.Sync(path)
	end(err)
	return synced, err
}
