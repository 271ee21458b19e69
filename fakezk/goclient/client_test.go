package goclient_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/recipes"
)

var _ recipes.Conn = (*goclient.Conn)(nil)

// TestMethodSet: whatever go-zookeeper's Conn can do, with whatever types, the fake's can.
func TestMethodSet(t *testing.T) {
	real, fake := reflect.TypeFor[*zk.Conn](), reflect.TypeFor[*goclient.Conn]()
	for i := range real.NumMethod() {
		want := real.Method(i)
		got, ok := fake.MethodByName(want.Name)
		if !ok {
			t.Errorf("%s is missing", want.Name)
			continue
		}
		if w, g := signature(want.Type), signature(got.Type); w != g {
			t.Errorf("%s is %s, want %s", want.Name, g, w)
		}
	}
}

// signature prints a method's type without its receiver.
func signature(f reflect.Type) string {
	var in, out []string
	for i := 1; i < f.NumIn(); i++ {
		in = append(in, f.In(i).String())
	}
	for i := range f.NumOut() {
		out = append(out, f.Out(i).String())
	}
	return fmt.Sprintf("(%s) (%s) variadic=%v", strings.Join(in, ","), strings.Join(out, ","), f.IsVariadic())
}

// cable is a network that a test moves by hand.
type cable struct {
	servers *fakezk.Ensemble
	calls   chan *goclient.Call
	now     int64
}

func newWire(cfg fakezk.Config) *cable {
	return &cable{servers: fakezk.New(cfg), calls: make(chan *goclient.Call), now: 1000}
}

func (w *cable) Submit(call *goclient.Call) { w.calls <- call }

func (w *cable) client() *goclient.Client { return goclient.NewClient(w, w.servers, 4000, nil) }

// begin starts a request and returns when it is on the wire; its error comes over the channel.
func (w *cable) begin(c *goclient.Client, request func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- request() }()
	c.Accept(<-w.calls)
	return done
}

// do carries a request through.
func (w *cable) do(c *goclient.Client, request func() error) error {
	done := w.begin(c, request)
	c.Arrive(w.now)
	for c.Waiting() > 0 {
		c.Deliver()
	}
	return <-done
}

func create(conn *goclient.Conn, path string, flags int32) func() error {
	return func() error {
		_, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll))
		return err
	}
}

func drain(events <-chan zk.Event) (all []string) {
	for {
		select {
		case e, open := <-events:
			if !open {
				return append(all, "closed")
			}
			all = append(all, strings.TrimSpace(fmt.Sprintf("%v %v %s", e.Type, e.State, e.Path)))
		default:
			return all
		}
	}
}

func (w *cable) admin(t *testing.T, op wire.Op) {
	t.Helper()
	r := w.servers.Admin(w.now, &fakezk.Request{Op: op, Path: "/x", ACL: zk.WorldACL(zk.PermAll), Version: -1})
	if r.Err != wire.CodeOK {
		t.Fatalf("%v: %v", op, r.Err.Err())
	}
}

// TestStatBesideError: go-zookeeper returns a zero Stat beside an error of the server, nil beside
// ErrConnectionClosed, and no channel beside any error.
func TestStatBesideError(t *testing.T) {
	l := goclient.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	if data, stat, err := conn.Get("/absent"); data != nil || stat == nil || *stat != (zk.Stat{}) ||
		err != zk.ErrNoNode {
		t.Errorf("Get: %v %v %v", data, stat, err)
	}
	if _, stat, ch, err := conn.GetW("/absent"); stat != nil || ch != nil || err != zk.ErrNoNode {
		t.Errorf("GetW: %v %v %v", stat, ch, err)
	}
	if ok, stat, ch, err := conn.ExistsW("/absent"); ok || stat == nil || ch == nil || err != nil {
		t.Errorf("ExistsW: %v %v %v %v", ok, stat, ch, err)
	}
	conn.Close()
	if _, stat, err := conn.Get("/"); stat != nil || err != zk.ErrConnectionClosed {
		t.Errorf("Get after Close: %v %v", stat, err)
	}
}

// TestPaths: what go-zookeeper's ValidatePath lets through and what not.
func TestPaths(t *testing.T) {
	conn, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(time.Second)
	for path, ok := range map[string]bool{
		"/": true, "/a": true, "/a/b.c": true, "/a..": true, "/...": true, "/ä": true, "/\U0001F600": true,
		"/\ue000": true, "/./a": true, "/././a": false, "/./": false,
		"": false, "a": false, "/a/": false, "//": false, "/a//b": false, "/.": false, "/..": false, "/a/./b": false,
		"/a/..": false, "/a\x00": false, "/\x1f": false, "/\x7f": false, "/\u009f": false, "/\uf000": false,
		"/\ufff0": false,
	} {
		if _, _, err := conn.Exists(path); (err == zk.ErrInvalidPath) == ok {
			t.Errorf("Exists(%q): %v", path, err)
		}
	}
	if path, err := conn.Create("/", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll)); err != nil ||
		path != "/0000000000" {
		t.Errorf("a sequential child without a name: %q, %v", path, err)
	}
	for flags, known := range map[int32]bool{-1: false, zk.FlagTTL: true, zk.FlagPersistentSequentialWithTTL: true,
		7: false} {
		if _, err := conn.Create("/x", nil, flags, nil); err == nil || errors.Is(err, zk.ErrInvalidFlags) != known {
			t.Errorf("Create with flags %d: %v", flags, err)
		}
	}
	if _, err := conn.Multi("nonsense"); err == nil {
		t.Error("an operation of an unknown type was accepted")
	}
}

// TestIdentities: every handle's identities differ from every other's, and are the same again in
// the next run.
func TestIdentities(t *testing.T) {
	draw := func() (all []string) {
		l := goclient.NewLocal(fakezk.Config{})
		for range 3 {
			conn, _, _ := l.Connect(time.Second)
			for user := range 2 {
				handle := conn.Client.Handle(user)
				for range 50 {
					all = append(all, recipes.NewGUID(handle))
				}
			}
		}
		return all
	}
	first := draw()
	if diff := cmp.Diff(first, draw()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	slices.Sort(first)
	if n := len(slices.Compact(first)); n != 300 {
		t.Errorf("%d different identities of 300", n)
	}
}

// TestLocalTime: a Local's clock moves only by Advance; a disconnected client loses its session
// when it has passed the timeout, a connected one does not.
func TestLocalTime(t *testing.T) {
	l := goclient.NewLocal(fakezk.Config{Tick: 100})
	away, _, _ := l.Connect(time.Second)
	here, _, _ := l.Connect(time.Second)
	create(away, "/away", zk.FlagEphemeral)()
	create(here, "/here", zk.FlagEphemeral)()
	l.Disconnect(away)
	l.Advance(900 * time.Millisecond)
	if dump := l.Dump("/"); !strings.Contains(dump, "/away") {
		t.Errorf("gone too early:\n%s", dump)
	}
	l.Advance(300 * time.Millisecond)
	if dump := l.Dump("/"); strings.Contains(dump, "/away") || !strings.Contains(dump, "/here") {
		t.Errorf("after the timeout:\n%s", dump)
	}
	session := away.SessionID()
	l.Reconnect(away)
	if id := away.SessionID(); id == session || id == 0 {
		t.Errorf("after the reconnect the session is 0x%x, before 0x%x", id, session)
	}
}

// TestCloseInVain: a Close whose answer is late returns after a second; one whose connection breaks, or that has none,
// at once, and then the client does not connect again.
func TestCloseInVain(t *testing.T) {
	for name, happens := range map[string]func(c *goclient.Client){
		"late":   func(c *goclient.Client) { time.Sleep(time.Minute) },
		"broken": func(c *goclient.Client) { c.Break(zk.ErrConnectionClosed) },
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c := w.client()
			conn := c.Handle(0)
			c.Dial(w.now, 0)
			begin, took := time.Now(), time.Duration(0)
			closed := w.begin(c, func() error { conn.Close(); took = time.Since(begin); return nil })
			happens(c)
			<-closed
			if want := map[string]time.Duration{"late": time.Second}[name]; took != want {
				t.Errorf("%s: it took %v, want %v", name, took, want)
			}
			if c.Closed() != (name == "broken") || !w.servers.Alive(c.Session()) {
				t.Errorf("%s: closed %v, alive %v", name, c.Closed(), w.servers.Alive(c.Session()))
			}
			c.Finish()
		})
	}
}

// TestCreateProtected: what recipes.CreateProtected sends and returns is what the client's own method does, however
// requests are lost.
func TestCreateProtected(t *testing.T) {
	methods := []func(c *goclient.Conn) (string, error){
		func(c *goclient.Conn) (string, error) {
			return c.CreateProtectedEphemeralSequential("/a", nil, zk.WorldACL(zk.PermAll))
		},
		func(c *goclient.Conn) (string, error) {
			return recipes.CreateProtected(c, "/a", nil, zk.WorldACL(zk.PermAll))
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		fates := rapid.SliceOfN(rapid.SampledFrom([]string{"", "before", "after", "expiry", "reset"}), 6, 6).
			Draw(t, "fates")
		var outcomes []string
		for _, method := range methods {
			outcomes = append(outcomes, suffer(fates, method))
		}
		if diff := cmp.Diff(outcomes[0], outcomes[1]); diff != "" {
			t.Errorf("the client's own (-), and recipes.CreateProtected (+):\n%s", diff)
		}
	})
}

// suffer lists the requests of a call, each of which has a fate, and what it returns.
func suffer(fates []string, call func(c *goclient.Conn) (string, error)) string {
	w := newWire(fakezk.Config{})
	c := w.client()
	c.Dial(w.now, 0)
	var story strings.Builder
	done := make(chan string, 1)
	go func() {
		path, err := call(c.Handle(0))
		done <- fmt.Sprintf("%s, %v", path, err)
	}()
	for n := 0; ; n++ {
		select {
		case request := <-w.calls:
			fmt.Fprintln(&story, request.Request.Op, request.Request.Path, fates[n])
			c.Accept(request)
			befall(w, c, fates[n])
		case outcome := <-done:
			return story.String() + outcome
		}
	}
}

func befall(w *cable, c *goclient.Client, fate string) {
	switch fate {
	case "":
		c.Arrive(w.now)
		c.Deliver()
		return
	case "after":
		c.Arrive(w.now)
	case "expiry":
		w.servers.Expire(w.now, c.Session())
		c.Break(zk.ErrSessionExpired)
		c.Dial(w.now, 0)
	case "reset":
		c.Break(errors.New("connection reset"))
	}
	c.Break(zk.ErrConnectionClosed)
	c.Dial(w.now, 0)
}

// What is said to be unsendable is what the client refuses by itself.
func TestUnsendable(t *testing.T) {
	client, _, err := goclient.NewLocal(fakezk.Config{}).Connect(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/", "a", "a/b", "/a", "/a/", "//", "//a", "/a//b", "/a/.", "/a/../b", "/a/b", "/...", "/a\x00"} {
		_, _, err := client.Exists(path)
		if got := goclient.Unsendable("exists", path); got != (err == zk.ErrInvalidPath) {
			t.Errorf("exists %q: %v, and the client says %v", path, got, err)
		}
		_, err = client.Create(path, nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if got := goclient.Unsendable("create", path); got != (err == zk.ErrInvalidPath) {
			t.Errorf("create %q: %v, and the client says %v", path, got, err)
		}
	}
	if goclient.Unsendable("auth", "") || goclient.Unsendable("multi", "") {
		t.Error("what has no path is refused")
	}
}
