package recipes_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// world runs a test in a bubble: timers take no time, and a goroutine that is left at the end, after every connection was
// closed, fails it.
func world(t *testing.T, body func(t *testing.T, servers *goclient.Local)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { body(t, goclient.NewLocal(fakezk.Config{})) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// faulty is a connection that writes down what is asked and loses what a test tells it to lose.
type faulty struct {
	*goclient.Conn

	mu    sync.Mutex
	plans map[string][]fault // by operation; the first is for the next request
	log   []string
}

// fault is what happens to one request.
type fault func(carryOut func() error) error

// hang waits until it is let go, and carries the request out then.
func hang(letGo <-chan struct{}) fault {
	return func(carryOut func() error) error {
		<-letGo
		return carryOut()
	}
}

func connect(t *testing.T, servers *goclient.Local) *faulty {
	c, _, err := servers.Connect(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &faulty{Conn: c, plans: map[string][]fault{}}
}

// plan sets what happens to the next requests of a kind.
func (c *faulty) plan(op string, faults ...fault) { c.plans[op] = faults }

func (c *faulty) do(op, path string, carryOut func() error) error {
	err := c.next(op)(carryOut)
	c.mu.Lock()
	defer c.mu.Unlock()
	outcome := "ok"
	if err != nil {
		outcome = strings.TrimPrefix(err.Error(), "zk: ")
	}
	c.log = append(c.log, fmt.Sprintf("%s %s: %s", op, path, outcome))
	return err
}

func (c *faulty) next(op string) fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := c.plans[op]
	if len(plan) == 0 {
		return func(carryOut func() error) error { return carryOut() }
	}
	c.plans[op] = plan[1:]
	return plan[0]
}

func (c *faulty) requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.log)
}

var guid = regexp.MustCompile(`[0-9a-f]{32}`)

// transcript returns what was asked since the last call, one request a line, with guids replaced
// by A, B, … in order of appearance.
func (c *faulty) transcript() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	letters := map[string]string{}
	text := guid.ReplaceAllStringFunc(strings.Join(c.log, "\n"), func(g string) string {
		if letters[g] == "" {
			letters[g] = string(rune('A' + len(letters)))
		}
		return letters[g]
	})
	c.log = nil
	return text
}

// attempts counts the requests that begin so.
func attempts(c *faulty, request string) int { return strings.Count("\n"+c.transcript(), "\n"+request) }

func (c *faulty) Create(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	err = c.do("create", path, func() (err error) { created, err = c.Conn.Create(path, data, flags, acl); return })
	return created, err
}

func (c *faulty) Delete(path string, version int32) error {
	return c.do("delete", path, func() error { return c.Conn.Delete(path, version) })
}

func (c *faulty) Exists(path string) (ok bool, stat *zk.Stat, err error) {
	err = c.do("exists", path, func() (err error) { ok, stat, err = c.Conn.Exists(path); return })
	return ok, stat, err
}

func (c *faulty) Get(path string) (data []byte, stat *zk.Stat, err error) {
	err = c.do("get", path, func() (err error) { data, stat, err = c.Conn.Get(path); return })
	return data, stat, err
}

func (c *faulty) GetW(path string) (data []byte, stat *zk.Stat, watch <-chan zk.Event, err error) {
	err = c.do("getW", path, func() (err error) { data, stat, watch, err = c.Conn.GetW(path); return })
	return data, stat, watch, err
}

func (c *faulty) Children(path string) (names []string, stat *zk.Stat, err error) {
	err = c.do("children", path, func() (err error) { names, stat, err = c.Conn.Children(path); return })
	return names, stat, err
}

func (c *faulty) ChildrenW(path string) (names []string, stat *zk.Stat, watch <-chan zk.Event, err error) {
	err = c.do("childrenW", path, func() (err error) { names, stat, watch, err = c.Conn.ChildrenW(path); return })
	return names, stat, watch, err
}

func (c *faulty) Sync(path string) (echo string, err error) {
	err = c.do("sync", path, func() (err error) { echo, err = c.Conn.Sync(path); return })
	return echo, err
}

func (c *faulty) Multi(ops ...interface{}) (results []zk.MultiResponse, err error) {
	err = c.do("multi", fmt.Sprint(len(ops)), func() (err error) { results, err = c.Conn.Multi(ops...); return })
	return results, err
}

func (c *faulty) Set(path string, data []byte, version int32) (stat *zk.Stat, err error) {
	err = c.do("set", path, func() (err error) { stat, err = c.Conn.Set(path, data, version); return })
	return stat, err
}
