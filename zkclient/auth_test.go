package zkclient_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/ensembletest"
	"github.com/zktorture/zktorture/internal/tlstest"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zkclient"
)

var _ recipes.Conn = (*zkclient.Observed)(nil)

// A credential is read from a file or the environment, and no text about it has the secret in it.
func TestReadDigest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"me:hush", "me:hush\n", "me:hush\r\n", "me:hu:sh"} {
		write(text)
		t.Setenv("ZK_AUTH", text)
		for _, source := range []string{file, "env:ZK_AUTH"} {
			c, err := zkclient.ReadDigest(source)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			for _, said := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%+v", []zkclient.Credential{c})} {
				wantNo(t, said, "hu")
			}
		}
	}
	for _, text := range []string{"", "hush", ":hush", "me:hush\nyou:hush2"} {
		write(text)
		t.Setenv("ZK_AUTH", text)
		for _, source := range []string{file, "env:ZK_AUTH"} {
			_, err := zkclient.ReadDigest(source)
			wantError(t, err, source, "user:password")
			wantNo(t, err.Error(), "hush")
		}
	}
	_, err := zkclient.ReadDigest("env:ZK_NO_SUCH")
	wantError(t, err, "ZK_NO_SUCH")
	_, err = zkclient.ReadDigest(file + "x")
	wantError(t, err, "authx")
}

func wantNo(t *testing.T, text, secret string) {
	t.Helper()
	if strings.Contains(text, secret) {
		t.Errorf("the secret is in %q", text)
	}
}

// A client with the right credential, shown on every connection, is let at what others are not.
func TestAuth(t *testing.T) {
	e := ensembletest.Start(t, 1)
	var connections []net.Conn
	var mu sync.Mutex
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		mu.Lock()
		defer mu.Unlock()
		connections = append(connections, c)
		return c, err
	}
	connect := func(password string) *zkclient.Client {
		c, err := zkclient.Config{Servers: e.ConnectString(), SessionTimeout: 2 * time.Second, Dial: dial,
			Auth: []zkclient.Credential{zkclient.Digest("me", password)}}.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := c.WaitSession(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine, wrong := connect("right"), connect("wrong")
	if _, err := mine.Create("/mine", nil, 0, zk.DigestACL(zk.PermAll, "me", "right")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := wrong.Get("/mine"); err != zk.ErrNoAuth {
		t.Errorf("with a wrong password: %v", err)
	}
	mu.Lock()
	connections[0].Close()
	mu.Unlock()
	eventually(t, "another connection", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(connections) > 2
	})
	var err error
	eventually(t, "what is mine, after that", func() bool { _, _, err = mine.Get("/mine"); return err != zk.ErrConnectionClosed })
	if err != nil {
		t.Error(err)
	}
}

// Over TLS a client with a certificate is served, and one without, or that trusts others, is told why not.
func TestTLS(t *testing.T) {
	e := ensembletest.Start(t, 1)
	ca, other := tlstest.New(t), tlstest.New(t)
	address := ca.Front(e.ConnectString())
	good := zkclient.TLS{CA: ca.CA, Cert: ca.Cert, Key: ca.Key, ServerName: tlstest.ServerName}
	for name, change := range map[string]func(*zkclient.TLS){
		"good":                        func(*zkclient.TLS) {},
		"of another authority":        func(c *zkclient.TLS) { c.CA = other.CA },
		"of another name":             func(c *zkclient.TLS) { c.ServerName = "elsewhere.test" },
		"by address":                  func(c *zkclient.TLS) { c.ServerName = "" },
		"without one of the client's": func(c *zkclient.TLS) { c.Cert, c.Key = "", "" },
	} {
		files := good
		change(&files)
		dial, err := files.Dialer()
		if err != nil {
			t.Fatal(err)
		}
		c, err := zkclient.Config{Servers: address, SessionTimeout: 2 * time.Second, Dial: dial.Timed()}.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if name != "good" {
			ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		}
		defer cancel()
		if err := c.WaitSession(ctx); (err == nil) != (name == "good") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTLSRefuses(t *testing.T) {
	ca := tlstest.New(t)
	for says, files := range map[string]zkclient.TLS{
		"there are none in":                  {CA: ca.Key},
		"no such file":                       {CA: ca.CA + "x"},
		"belong together":                    {Cert: ca.Cert},
		"the client's certificate":           {Cert: ca.Cert, Key: ca.CA},
		"a client's certificate and its key": {Key: ca.Key},
	} {
		_, err := files.Dialer()
		wantError(t, err, "zkclient: ", says)
	}
}

// Every request is told of when it begins and when it ends, with its error.
func TestObserve(t *testing.T) {
	e := ensembletest.Start(t, 1)
	var told []string
	c := ensembletest.Connect(t, zkclient.Config{Servers: e.ConnectString(), SessionTimeout: 2 * time.Second}).Observe(func(op string) func(error) {
		told = append(told, op)
		return func(err error) { told = append(told, fmt.Sprint(err)) }
	})
	world := zk.WorldACL(zk.PermAll)
	c.Create("/a", nil, 0, world)
	c.CreateContainer("/c", nil, zk.FlagContainer, world)
	c.CreateTTL("/t", nil, zk.FlagTTL, world, time.Minute)
	c.Set("/a", nil, 0)
	c.Get("/a")
	c.GetW("/no")
	c.Exists("/a")
	c.ExistsW("/a")
	c.Children("/a")
	c.ChildrenW("/a")
	c.GetACL("/a")
	c.SetACL("/a", world, -1)
	c.Sync("/a")
	c.Multi(&zk.CheckVersionRequest{Path: "/a", Version: 7})
	c.Delete("/a", -1)
	want := []string{"create", "create", "create", "set", "get", "get", "exists", "exists", "children", "children", "getACL", "setACL", "sync", "multi", "delete"}
	if len(told) != 2*len(want) {
		t.Fatalf("told: %q", told)
	}
	for i, op := range want {
		ended := map[int]string{5: zk.ErrNoNode.Error(), 13: zk.ErrBadVersion.Error()}[i]
		if ended == "" {
			ended = "<nil>"
		}
		if told[2*i] != op || told[2*i+1] != ended {
			t.Errorf("told %q for request %d, a %s that should end with %s", told[2*i:2*i+2], i, op, ended)
		}
	}
}

// Nothing that a recipe asks of a connection passes by unobserved.
func TestObservesAll(t *testing.T) {
	conn, local := reflect.TypeFor[recipes.Conn](), []string{"SessionID", "State"}
	for i := range conn.NumMethod() {
		name := conn.Method(i).Name
		method, _ := reflect.TypeFor[*zkclient.Observed]().MethodByName(name)
		file, _ := runtime.FuncForPC(method.Func.Pointer()).FileLine(method.Func.Pointer())
		if observed := filepath.Base(file) == "observe.go"; observed == slices.Contains(local, name) {
			t.Errorf("%s is observed: %v (%s)", name, observed, file)
		}
	}
}
