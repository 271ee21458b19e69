package fakezk_test

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
	"github.com/zktorture/zktorture/recipes"
)

var _ recipes.Conn = (*fakezk.Conn)(nil)

// TestMethodSet: whatever go-zookeeper's Conn can do, with whatever types, the fake's can.
func TestMethodSet(t *testing.T) {
	real, fake := reflect.TypeFor[*zk.Conn](), reflect.TypeFor[*fakezk.Conn]()
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

// wire is a network that a test moves by hand.
type wire struct {
	servers *fakezk.Ensemble
	calls   chan *fakezk.Call
	now     int64
}

func newWire(cfg fakezk.Config) *wire {
	return &wire{servers: fakezk.New(cfg), calls: make(chan *fakezk.Call), now: 1000}
}

func (w *wire) Submit(call *fakezk.Call) { w.calls <- call }

func (w *wire) client() *fakezk.Client { return fakezk.NewClient(w, w.servers, 4000, nil) }

// begin starts a request and returns when it is on the wire; its error comes over the channel.
func (w *wire) begin(c *fakezk.Client, request func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- request() }()
	c.Accept(<-w.calls)
	return done
}

// do carries a request through.
func (w *wire) do(c *fakezk.Client, request func() error) error {
	done := w.begin(c, request)
	c.Arrive(w.now)
	for c.Waiting() > 0 {
		c.Deliver()
	}
	return <-done
}

func create(conn *fakezk.Conn, path string, flags int32) func() error {
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

func wantEvents(t *testing.T, events <-chan zk.Event, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, drain(events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestRequestInFlight: a request under way when the connection breaks fails with
// ErrConnectionClosed, whether it was applied or not; one that waits for a connection does not
// fail until every server has been tried in vain.
func TestRequestInFlight(t *testing.T) {
	w := newWire(fakezk.Config{})
	c := w.client()
	conn := c.Handle(0)
	c.Dial(w.now, 0)
	applied := w.begin(c, create(conn, "/applied", 0))
	c.Arrive(w.now)
	lost := w.begin(c, create(conn, "/lost", 0))
	c.Break(zk.ErrConnectionClosed)
	if err := <-applied; err != zk.ErrConnectionClosed {
		t.Errorf("applied request: %v", err)
	}
	if err := <-lost; err != zk.ErrConnectionClosed {
		t.Errorf("lost request: %v", err)
	}
	if _, ok := w.servers.Node("/applied"); !ok {
		t.Error("the request that arrived was not applied")
	}
	if _, ok := w.servers.Node("/lost"); ok {
		t.Error("the request that was lost was applied")
	}
	unsent := w.begin(c, create(conn, "/unsent", 0))
	if c.Unsent() != 1 {
		t.Fatalf("%d requests wait for a connection, want 1", c.Unsent())
	}
	c.BreakUnsent()
	if err := <-unsent; err != zk.ErrNoServer {
		t.Errorf("request without a server: %v", err)
	}
	queued := w.begin(c, create(conn, "/queued", 0))
	c.Dial(w.now, 0)
	c.Arrive(w.now)
	c.Deliver()
	if err := <-queued; err != nil {
		t.Errorf("request queued over a reconnect: %v", err)
	}
}

// TestExpiry: the three moments of an expiry, each at its own time, and go-zookeeper's silent new
// session.
func TestExpiry(t *testing.T) {
	w := newWire(fakezk.Config{})
	owner, other := w.client(), w.client()
	conn, watcher := owner.Handle(0), other.Handle(0)
	owner.Dial(w.now, 0)
	other.Dial(w.now, 0)
	if err := w.do(owner, create(conn, "/mine", zk.FlagEphemeral)); err != nil {
		t.Fatal(err)
	}
	var mine, theirs <-chan zk.Event
	w.do(owner, func() (err error) { _, _, mine, err = conn.GetW("/mine"); return err })
	w.do(other, func() (err error) { _, _, theirs, err = watcher.GetW("/mine"); return err })
	drain(owner.Events())
	session := owner.Session()

	w.servers.Expire(w.now, session) // the first moment: the servers decide
	if _, ok := w.servers.Node("/mine"); ok {
		t.Fatal("the ephemeral znode of an expired session is there")
	}
	if len(theirs) != 0 || owner.Session() != session {
		t.Fatal("somebody knows already")
	}
	other.Deliver() // the second: others' watches fire
	if e := <-theirs; e.Type != zk.EventNodeDeleted || e.Path != "/mine" {
		t.Fatalf("the watch says %v", e)
	}
	for owner.Deliver(); ; owner.Deliver() { // its own event and the end of the connection
		if _, connected := owner.Connected(); !connected {
			break
		}
	}
	if owner.Session() != session {
		t.Fatal("the client knows before it has reached a server")
	}
	owner.Dial(w.now, 0) // the third: the client learns
	if owner.Session() != 0 {
		t.Fatal("the client still believes in its session")
	}
	owner.Dial(w.now, 0)
	if id := owner.Session(); id == 0 || id == session {
		t.Fatalf("the new session is 0x%x, the old one was 0x%x", id, session)
	}
	if e := <-mine; e.Type != zk.EventNodeDeleted {
		t.Errorf("the owner's watch says %v", e)
	}
	// Six events fit; the rest is dropped, as go-zookeeper does.
	wantEvents(t, owner.Events(), "EventNodeDeleted StateSyncConnected /mine", "EventSession StateDisconnected",
		"EventSession StateConnecting", "EventSession StateConnected", "EventSession StateExpired",
		"EventSession StateDisconnected")
}

// TestWatchesAfterExpiry: a client that learns of its expiry gets EventNotWatching on every watch, and on its event
// channel one for each path and kind.
func TestWatchesAfterExpiry(t *testing.T) {
	w := newWire(fakezk.Config{})
	c := w.client()
	conn := c.Handle(0)
	c.Dial(w.now, 0)
	var data, data2, child, exist <-chan zk.Event
	w.do(c, func() (err error) { _, _, data2, err = conn.GetW("/"); return err })
	w.do(c, func() (err error) { _, _, data, err = conn.GetW("/"); return err })
	w.do(c, func() (err error) { _, _, child, err = conn.ChildrenW("/"); return err })
	w.do(c, func() (err error) { _, _, exist, err = conn.ExistsW("/absent"); return err })
	c.Break(zk.ErrConnectionClosed)
	w.servers.Expire(w.now, c.Session())
	drain(c.Events())
	c.Dial(w.now, 0)
	wantEvents(t, c.Events(), "EventSession StateConnecting", "EventSession StateConnected",
		"EventSession StateExpired",
		"EventNotWatching StateDisconnected /", "EventNotWatching StateDisconnected /",
		"EventNotWatching StateDisconnected /absent")
	for _, ch := range []<-chan zk.Event{data, data2, child, exist} {
		e, open := <-ch
		if !open || e.Type != zk.EventNotWatching || e.Err != zk.ErrSessionExpired {
			t.Errorf("got %v (open: %v), want EventNotWatching with ErrSessionExpired", e, open)
		}
		if _, open := <-ch; open {
			t.Error("the channel is not closed after its one event")
		}
	}
}

// TestWatchesRearmed: after a reconnect the client re-arms its watches, and what happened while it
// was away shows as ZooKeeper's setWatches has it: a creation that was undone not at all.
func TestWatchesRearmed(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(t *testing.T, w *wire)
		want   zk.EventType // 0: none
	}{
		{"created", func(t *testing.T, w *wire) { w.admin(t, fakezk.OpCreate) }, zk.EventNodeCreated},
		{"created and deleted", func(t *testing.T, w *wire) {
			w.admin(t, fakezk.OpCreate)
			w.admin(t, fakezk.OpDelete)
		}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWire(fakezk.Config{})
			c := w.client()
			conn := c.Handle(0)
			c.Dial(w.now, 0)
			var ch <-chan zk.Event
			w.do(c, func() (err error) { _, _, ch, err = conn.ExistsW("/x"); return err })
			c.Break(zk.ErrConnectionClosed)
			tc.change(t, w)
			c.Dial(w.now, 0)
			c.Arrive(w.now) // setWatches
			for w.servers.Pending(c.Connection()) > 0 {
				c.Deliver()
			}
			select {
			case e := <-ch:
				if e.Type != tc.want {
					t.Errorf("got %v, want %v", e.Type, tc.want)
				}
			default:
				if tc.want != 0 {
					t.Errorf("got nothing, want %v", tc.want)
				}
			}
		})
	}
}

func (w *wire) admin(t *testing.T, op fakezk.Op) {
	t.Helper()
	r := w.servers.Admin(w.now, &fakezk.Request{Op: op, Path: "/x", ACL: zk.WorldACL(zk.PermAll), Version: -1})
	if r.Err != fakezk.CodeOK {
		t.Fatalf("%v: %v", op, r.Err.Err())
	}
}

// TestStatBesideError: go-zookeeper returns a zero Stat beside an error of the server, nil beside
// ErrConnectionClosed, and no channel beside any error.
func TestStatBesideError(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
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

// TestClose: Close ends the session and its ephemerals, every watch gets ErrClosing, the event
// channel is closed.
func TestClose(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	a, events, _ := l.Connect(time.Second)
	b, _, _ := l.Connect(time.Second)
	create(a, "/mine", zk.FlagEphemeral)()
	_, _, own, _ := a.GetW("/")
	_, _, gone, _ := b.GetW("/mine")
	a.Close()
	if e := <-gone; e.Type != zk.EventNodeDeleted {
		t.Errorf("the other's watch: %v", e)
	}
	if e := <-own; !errors.Is(e.Err, zk.ErrClosing) {
		t.Errorf("the own watch: %v", e)
	}
	if all := drain(events); len(all) == 0 || all[len(all)-1] != "closed" {
		t.Errorf("events %v do not end", all)
	}
	if _, err := a.Create("/x", nil, 0, zk.WorldACL(zk.PermAll)); err != zk.ErrConnectionClosed {
		t.Errorf("Create after Close: %v", err)
	}
	a.Close()
}

// TestMulti: all or nothing; on failure the results and the first error.
func TestMulti(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	acl := zk.WorldACL(zk.PermAll)
	results, err := conn.Multi(
		&zk.CreateRequest{Path: "/a", Acl: acl, Flags: zk.FlagSequence},
		&zk.CreateRequest{Path: "/b", Acl: acl},
		&zk.SetDataRequest{Path: "/b", Data: []byte("x"), Version: 0},
		&zk.CheckVersionRequest{Path: "/b", Version: 1},
	)
	if err != nil || len(results) != 4 || results[0].String != "/a0000000000" || results[2].Stat.Version != 1 {
		t.Fatalf("%+v, %v", results, err)
	}
	results, err = conn.Multi(&zk.DeleteRequest{Path: "/b", Version: -1},
		&zk.CheckVersionRequest{Path: "/a0000000000", Version: 7})
	if err != zk.ErrBadVersion || len(results) != 2 || results[0].Error != nil || results[1].Error != zk.ErrBadVersion {
		t.Fatalf("%+v, %v", results, err)
	}
	if ok, _, _ := conn.Exists("/b"); !ok {
		t.Error("the failed multi has deleted /b")
	}
	if _, err := conn.Multi("nonsense"); err == nil {
		t.Error("an operation of an unknown type was accepted")
	}
}

// TestPaths: what go-zookeeper's ValidatePath lets through and what not.
func TestPaths(t *testing.T) {
	conn, _, _ := fakezk.NewLocal(fakezk.Config{}).Connect(time.Second)
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

}

// TestIdentities: every handle's identities differ from every other's, and are the same again in
// the next run.
func TestIdentities(t *testing.T) {
	draw := func() (all []string) {
		l := fakezk.NewLocal(fakezk.Config{})
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
	l := fakezk.NewLocal(fakezk.Config{Tick: 100})
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

// TestLastZxid: a client that has seen a state is refused by a server that has not got there yet;
// once its session is gone, that is forgotten.
func TestLastZxid(t *testing.T) {
	w := newWire(fakezk.Config{Replicas: 2})
	c := w.client()
	conn := c.Handle(0)
	c.Dial(w.now, 0)
	w.servers.SetLag(1, true)
	if err := w.do(c, create(conn, "/seen", 0)); err != nil {
		t.Fatal(err)
	}
	c.Break(zk.ErrConnectionClosed)
	if err := c.Dial(w.now, 1); err != fakezk.ErrRefused {
		t.Fatalf("the lagging server says %v, want ErrRefused", err)
	}
	w.servers.Expire(w.now, c.Session())
	c.Dial(w.now, 0)
	if c.Session() != 0 {
		t.Fatal("the client has not learned of its expiry")
	}
	if err := c.Dial(w.now, 1); err != nil {
		t.Fatalf("a client without a session is refused: %v", err)
	}
}

// TestCredentialsSentAgain: what AddAuth has proved holds on the next connection too.
func TestCredentialsSentAgain(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	if err := conn.AddAuth("digest", []byte("user:secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create("/mine", nil, 0, zk.DigestACL(zk.PermAll, "user", "secret")); err != nil {
		t.Fatal(err)
	}
	l.Disconnect(conn)
	l.Reconnect(conn)
	if _, _, err := conn.Get("/mine"); err != nil {
		t.Errorf("after the reconnect: %v", err)
	}
	stranger, _, _ := l.Connect(time.Second)
	if _, _, err := stranger.Get("/mine"); err != zk.ErrNoAuth {
		t.Errorf("without credentials: %v", err)
	}
}

// TestDeletionReachesAllWatches: NodeDeleted concerns data, exists and child watches alike, once
// each.
func TestDeletionReachesAllWatches(t *testing.T) {
	l := fakezk.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	create(conn, "/x", 0)()
	_, _, data, _ := conn.GetW("/x")
	_, _, exist, _ := conn.ExistsW("/x")
	_, _, child, _ := conn.ChildrenW("/x")
	conn.Delete("/x", -1)
	for name, ch := range map[string]<-chan zk.Event{"data": data, "exists": exist, "child": child} {
		select {
		case e := <-ch:
			if e.Type != zk.EventNodeDeleted {
				t.Errorf("%s watch: %v", name, e)
			}
		default:
			t.Errorf("%s watch: nothing", name)
		}
	}
}

// TestCloseUnderWay: Close ends the wait for what is under way, which is carried out all the same, and nothing is sent
// after it.
func TestCloseUnderWay(t *testing.T) {
	w := newWire(fakezk.Config{})
	c := w.client()
	conn := c.Handle(0)
	c.Dial(w.now, 0)
	arrived := w.begin(c, create(conn, "/arrived", 0))
	c.Arrive(w.now)
	sent := w.begin(c, create(conn, "/sent", 0))
	closed := w.begin(c, func() error { conn.Close(); return nil })
	for name, call := range map[string]<-chan error{"arrived": arrived, "sent": sent} {
		if err := <-call; err != zk.ErrConnectionClosed {
			t.Errorf("a request that has %s: %v", name, err)
		}
	}
	if err := <-w.begin(c, create(conn, "/late", 0)); err != zk.ErrConnectionClosed {
		t.Errorf("a request after Close: %v", err)
	}
	for c.Sent() != nil {
		c.Arrive(w.now)
	}
	for c.Waiting() > 0 {
		c.Deliver()
	}
	<-closed
	for path, want := range map[string]bool{"/arrived": true, "/sent": true, "/late": false} {
		if _, there := w.servers.Node(path); there != want {
			t.Errorf("%s is there: %v", path, there)
		}
	}
	if w.servers.Alive(c.Session()) || !c.Closed() {
		t.Error("the session lives, or the client does")
	}
}

// TestCloseInVain: a Close whose answer is late returns after a second; one whose connection breaks, or that has none,
// at once, and then the client does not connect again.
func TestCloseInVain(t *testing.T) {
	for name, happens := range map[string]func(c *fakezk.Client){
		"late":   func(c *fakezk.Client) { time.Sleep(time.Minute) },
		"broken": func(c *fakezk.Client) { c.Break(zk.ErrConnectionClosed) },
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
	methods := []func(c *fakezk.Conn) (string, error){
		func(c *fakezk.Conn) (string, error) {
			return c.CreateProtectedEphemeralSequential("/a", nil, zk.WorldACL(zk.PermAll))
		},
		func(c *fakezk.Conn) (string, error) {
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
func suffer(fates []string, call func(c *fakezk.Conn) (string, error)) string {
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

func befall(w *wire, c *fakezk.Client, fate string) {
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
	client, _, err := fakezk.NewLocal(fakezk.Config{}).Connect(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "/", "a", "a/b", "/a", "/a/", "//", "//a", "/a//b", "/a/.", "/a/../b", "/a/b", "/...", "/a\x00"} {
		_, _, err := client.Exists(path)
		if got := fakezk.Unsendable("exists", path); got != (err == zk.ErrInvalidPath) {
			t.Errorf("exists %q: %v, and the client says %v", path, got, err)
		}
		_, err = client.Create(path, nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if got := fakezk.Unsendable("create", path); got != (err == zk.ErrInvalidPath) {
			t.Errorf("create %q: %v, and the client says %v", path, got, err)
		}
	}
	if fakezk.Unsendable("auth", "") || fakezk.Unsendable("multi", "") {
		t.Error("what has no path is refused")
	}
}
