package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// conductedConn asks the conductor before each request. Users who share a session would else send theirs in
// whatever order.
type conductedConn struct {
	recipes.Conn
	conductor    *conductor
	client, user int
}

// unwrap returns the session's connection.
func (c *conductedConn) unwrap() recipes.Conn { return c.Conn }

// wish is what somebody would like to do next: send a request, or reach what clients share outside of
// ZooKeeper.
type wish struct {
	client, user int
	op, path     string // the operation as traces name it, or outsideZK
	granted      chan struct{}
}

// outsideZK is the op of a wish that is no request.
const outsideZK = "what clients share"

func (w *wish) String() string { return fmt.Sprintf("%s %s", w.op, w.path) }

// ask waits until the request may be sent.
func (c *conductedConn) ask(op, path string) {
	c.conductor.ask(&wish{client: c.client, user: c.user, op: op, path: path})
}

// ask waits until a wish is granted, which it is at once when everybody is free.
func (d *conductor) ask(w *wish) {
	w.granted = make(chan struct{})
	d.mu.Lock()
	if d.released {
		d.mu.Unlock()
		return
	}
	d.wishes = append(d.wishes, w)
	d.stir()
	d.mu.Unlock()
	select {
	case <-w.granted:
	case <-d.round.ctx.Done():
	}
}

// grant lets what a step is about be done. Of a fault's request, only the path is known.
func (d *conductor) grant(ctx context.Context, s sim.Step) error {
	name, _, _ := strings.Cut(s.Event, "+")
	if s.Kind == sim.KindShared {
		name = outsideZK
	}
	fits := func(w *wish) bool {
		return w.client == s.Client && (s.User < 0 || w.user == s.User) && (w.op == name || s.Kind == sim.KindFault && w.op != outsideZK) &&
			(w.op == "multi" || s.Path == "" || samePath(s.Path, w.path))
	}
	for {
		d.mu.Lock()
		changed := d.changed
		if i := slices.IndexFunc(d.wishes, fits); i >= 0 {
			close(d.wishes[i].granted)
			d.wishes = slices.Delete(d.wishes, i, i+1)
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the client %s", d.wants(s.Client))
		}
	}
}

// wants says what a client would like to send.
func (d *conductor) wants(client int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []string
	for _, w := range d.wishes {
		if w.client == client {
			all = append(all, w.String())
		}
	}
	if len(all) == 0 {
		return "asks for nothing"
	}
	return "asks for " + strings.Join(all, " and ")
}

// release grants everything, now and later.
func (d *conductor) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.released = true
	for _, w := range d.wishes {
		close(w.granted)
	}
	d.wishes = nil
}

func (c *conductedConn) Children(path string) ([]string, *zk.Stat, error) {
	c.ask("children", path)
	return c.Conn.Children(path)
}

func (c *conductedConn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	c.ask("children", path)
	return c.Conn.ChildrenW(path)
}

func (c *conductedConn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	c.ask("create", path)
	return c.Conn.Create(path, data, flags, acl)
}

func (c *conductedConn) CreateContainer(path string, data []byte, flag int32, acl []zk.ACL) (string, error) {
	c.ask("create", path)
	return c.Conn.CreateContainer(path, data, flag, acl)
}

func (c *conductedConn) CreateTTL(path string, data []byte, flag int32, acl []zk.ACL, ttl time.Duration) (string, error) {
	c.ask("create", path)
	return c.Conn.CreateTTL(path, data, flag, acl, ttl)
}

func (c *conductedConn) Delete(path string, version int32) error {
	c.ask("delete", path)
	return c.Conn.Delete(path, version)
}

func (c *conductedConn) Exists(path string) (bool, *zk.Stat, error) {
	c.ask("exists", path)
	return c.Conn.Exists(path)
}

func (c *conductedConn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	c.ask("exists", path)
	return c.Conn.ExistsW(path)
}

func (c *conductedConn) Get(path string) ([]byte, *zk.Stat, error) {
	c.ask("get", path)
	return c.Conn.Get(path)
}

func (c *conductedConn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	c.ask("get", path)
	return c.Conn.GetW(path)
}

func (c *conductedConn) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	c.ask("getACL", path)
	return c.Conn.GetACL(path)
}

func (c *conductedConn) Multi(ops ...interface{}) ([]zk.MultiResponse, error) {
	c.ask("multi", "")
	return c.Conn.Multi(ops...)
}

func (c *conductedConn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	c.ask("set", path)
	return c.Conn.Set(path, data, version)
}

func (c *conductedConn) Sync(path string) (string, error) {
	c.ask("sync", path)
	return c.Conn.Sync(path)
}
