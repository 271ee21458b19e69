// Package confined keeps recipes on real servers to the objects that they are given.
package confined

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// confined is a connection by which a recipe reaches no other object than the round's own: whoever has made it with a
// path of its own would share that with all rounds, and be accused of what others do, or change what is none of the
// run's business. Such a request is not sent and fails, as if it were not allowed, and ends the run.
type confined struct {
	recipes.Wrapper
	inner  recipes.Conn
	below  string      // what the recipe may change
	strays func(error) // told of such a request
}

// To confines a connection to a znode that is there, and to what is below. What is above may be read. That it is
// there a recipe need not ask: if it is not, somebody has removed the run's root, and what is made there is not the
// run's business any more.
func To(conn recipes.Conn, below string, strays func(error)) recipes.Conn {
	c := &confined{inner: conn, below: below, strays: strays}
	c.Wrapper.Conn = recipes.Around(conn, func(op, path string, send func() error) error {
		if err := c.check(op, path); err != nil {
			return err
		}
		if op == "create" && len(path) <= len(below) && !goclient.Unsendable(op, path) {
			return zk.ErrNodeExists
		}
		return send()
	})
	return c
}

// check returns an error for a request that goes elsewhere. Of a multi the parts are checked.
func (c *confined) check(op, path string) error {
	below := path == c.below || strings.HasPrefix(path, strings.TrimSuffix(c.below, "/")+"/")
	above := path == "/" || strings.HasPrefix(c.below, path+"/")
	if below || above && !slices.Contains(changing, op) || goclient.Unsendable(op, path) || op == "multi" {
		return nil
	}
	c.strays(fmt.Errorf("the recipe asked for %s of %s, and its path is below %s: "+
		"it has to use the path that its constructor gets, as all rounds have their own", op, path, c.below))
	return zk.ErrNoAuth
}

// changing are the requests that change a znode which is there.
var changing = []string{"set", "setACL", "delete"}

// Unwrap returns what is confined.
func (c *confined) Unwrap() recipes.Conn { return c.inner }

// Close ends the run: the time at which a session closed by a recipe ended would be unknown.
func (c *confined) Close() {
	c.strays(errors.New("workload: the recipe closed its connection, and on real servers the sessions are the run's: " +
		"let Close be called by whoever has connected"))
}

func (c *confined) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		if err := c.part(op); err != nil {
			return nil, err
		}
	}
	return c.inner.Multi(ops...)
}

func (c *confined) part(op any) error {
	switch op := op.(type) {
	case *zk.CreateRequest:
		return c.check("create", op.Path)
	case *zk.DeleteRequest:
		return c.check("delete", op.Path)
	case *zk.SetDataRequest:
		return c.check("set", op.Path)
	case *zk.CheckVersionRequest:
		return c.check("check", op.Path)
	}
	return nil // go-zookeeper knows no other
}
