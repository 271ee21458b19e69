package recipes_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// surrounded is a connection to a fake, with a list of what came by, and how it ended.
func surrounded(t *testing.T, do func(send func() error) error) (conn recipes.Conn, told *[]string) {
	t.Helper()
	inner, _, err := goclient.NewLocal(fakezk.Config{TTL: true}).Connect(10 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	told = &[]string{}
	return recipes.Around(inner, func(op, path string, send func() error) error {
		err := do(send)
		*told = append(*told, fmt.Sprintf("%s %s: %v", op, path, err))
		return err
	}), told
}

// Each request comes by once, with its path, and its caller gets what the servers said.
func TestAround(t *testing.T) {
	c, told := surrounded(t, func(send func() error) error { return send() })
	world := zk.WorldACL(zk.PermAll)
	made, _ := c.Create("/a", []byte("1"), 0, world)
	container, _ := c.CreateContainer("/c", nil, zk.FlagContainer, world)
	ttl, _ := c.CreateTTL("/t", nil, zk.FlagTTL, world, time.Minute)
	_, _, changed, _ := c.GetW("/a")
	written, _ := c.Set("/a", []byte("2"), 0)
	data, read, _ := c.Get("/a")
	_, _, _, missing := c.ChildrenW("/no")
	there, _, _ := c.Exists("/a")
	_, _, created, _ := c.ExistsW("/no")
	names, _, _ := c.Children("/")
	acl, _, _ := c.GetACL("/a")
	c.SetACL("/a", world, -1)
	synced, _ := c.Sync("/a")
	_, refused := c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 7})
	c.Delete("/a", -1)
	want := []string{
		"create /a: <nil>", "create /c: <nil>", "create /t: <nil>", "get /a: <nil>", "set /a: <nil>", "get /a: <nil>",
		"children /no: zk: node does not exist", "exists /a: <nil>", "exists /no: <nil>", "children /: <nil>",
		"getACL /a: <nil>",
		"setACL /a: <nil>", "sync /a: <nil>", "multi : zk: version conflict", "delete /a: <nil>",
	}
	if diff := cmp.Diff(want, *told); diff != "" {
		t.Error(diff)
	}
	got := []any{made, container, ttl, (<-changed).Type, written.Version, string(data), read.Version, missing,
		there, created != nil, len(names), len(acl), synced, refused}
	says := []any{"/a", "/c", "/t", zk.EventNodeDataChanged, int32(1), "2", int32(1), zk.ErrNoNode,
		true, true, 4, 1, "/a", zk.ErrBadVersion}
	for i := range says {
		if fmt.Sprint(got[i]) != fmt.Sprint(says[i]) {
			t.Errorf("result %d is %v, and not %v", i, got[i], says[i])
		}
	}
}

// A request that is not sent changes nothing, and its caller gets the error.
func TestAroundRefuses(t *testing.T) {
	refusal, refuse := errors.New("not today"), false
	c, _ := surrounded(t, func(send func() error) error {
		if refuse {
			return refusal
		}
		return send()
	})
	refuse = true
	if _, err := c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll)); err != refusal {
		t.Error(err)
	}
	refuse = false
	if there, _, err := c.Exists("/a"); there || err != nil {
		t.Errorf("it has been made: %v, %v", there, err)
	}
}

// No request that a recipe can send passes it by.
func TestAroundAll(t *testing.T) {
	local := []string{"Server", "SessionID", "State"}
	conn, wrapped := reflect.TypeFor[recipes.Conn](), reflect.TypeOf(recipes.Around(nil, nil))
	for i := range conn.NumMethod() {
		name := conn.Method(i).Name
		method, _ := wrapped.MethodByName(name)
		file, _ := runtime.FuncForPC(method.Func.Pointer()).FileLine(method.Func.Pointer())
		if filepath.Base(file) == "around.go" == slices.Contains(local, name) {
			t.Errorf("%s is in %s", name, file)
		}
	}
}
