package conformance_test

import (
	"fmt"
	"io"
	"log"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/recipes"
)

// expires is the timeout of sessions that are to expire, though not in the second for which go-zookeeper rests when it
// has tried all servers.
const expires = 20 * tick

// ephemeral is a znode that tells by its absence that the session has expired.
const ephemeral = "/ephemeral"

// eventful is a client whose events are compared, with what can be done to it.
type eventful struct {
	recipes.Conn
	cut, heal func()
	expire    func() // to be called while the client is cut off
}

// stepwise is a network of one client whose requests are answered at once. It waits after each event until whoever
// reads that has read it, as a reader of a real client mostly has before the next one.
type stepwise struct {
	servers *fakezk.Ensemble
	client  *goclient.Client
}

// start is the time of the fake's servers, at which it stays.
const start = 1

// fakeEventful is to be called in a bubble.
func fakeEventful() eventful {
	s := &stepwise{servers: fakezk.New(fakezk.Config{})}
	s.client = goclient.NewClient(s, s.servers, expires.Milliseconds(), synctest.Wait)
	s.connect()
	return eventful{
		Conn: s.client.Handle(0), cut: func() { s.client.Break(zk.ErrConnectionClosed) }, heal: s.connect,
		expire: func() { s.servers.Expire(start, s.client.Session()) },
	}
}

// Submit implements [goclient.Network].
func (s *stepwise) Submit(call *goclient.Call) {
	s.client.Accept(call)
	s.move()
}

func (s *stepwise) connect() {
	for range 2 { // the first may only tell that the session has expired
		if _, connected := s.client.Connected(); !connected {
			s.client.Dial(start, 0)
		}
	}
	s.move()
}

func (s *stepwise) move() {
	for s.client.Sent() != nil {
		s.client.Arrive(start)
	}
	for s.servers.Pending(s.client.Connection()) > 0 {
		s.client.Deliver()
	}
}

// realEventful is go-zookeeper as it is, at a real server.
func realEventful(t *testing.T) eventful {
	e, err := ensemble.Start(t.Context(), ensemble.Options{Tick: tick, Config: setup{}.lines()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	l := &link{}
	conn, events, err := zk.Connect([]string{e.ConnectString()}, expires, zk.WithDialer(l.dial), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	observer, err := connectReal(t, e.ConnectString(), lasting)
	if err != nil {
		t.Fatal(err)
	}
	expired := func() bool {
		there, _, err := observer.Exists(ephemeral)
		return !there && err == nil
	}
	return eventful{recipes.WithEvents(conn, events), l.cut, l.heal, func() {
		if err := eventually(expired); err != nil {
			t.Error(err)
		}
	}}
}

// diary is what somebody who always reads has been told.
type diary struct {
	mu    sync.Mutex
	lines []string
	ended bool
}

func (d *diary) keep(conn recipes.Conn) {
	for e := range recipes.SessionEvents(conn) {
		d.write(told(e, conn.Server()))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
}

// write leaves out that another attempt to connect begins, of which there are as many as there is time for.
func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.lines); n == 0 || d.lines[n-1] != line {
		d.lines = append(d.lines, line)
	}
}

func (d *diary) over() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ended
}

func told(e zk.Event, server string) string {
	line := fmt.Sprintf("%v %v %s %v", e.Type, e.State, e.Path, e.Err)
	if e.Type == zk.EventSession && (e.Server == "" || e.Server != server) {
		line += fmt.Sprintf(" of %q instead of %q", e.Server, server)
	}
	return line
}

// wait returns when so many events of a state have been told of.
func (d *diary) wait(t *testing.T, n int, state zk.State) {
	t.Helper()
	if err := eventually(func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return strings.Count(strings.Join(d.lines, "\n"), state.String()) >= n
	}); err != nil {
		t.Fatalf("%d times %v: %v; told: %q", n, state, err, d.lines)
	}
}

// live does the same to any client, and returns what was told to one who always read, and to one who never did.
func live(t *testing.T, c eventful) (heard, unread []string) {
	d := &diary{}
	ignored := recipes.SessionEvents(c.Conn)
	go d.keep(c.Conn)
	d.wait(t, 1, zk.StateHasSession)
	if _, err := c.Create(ephemeral, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		must(t, c, "ExistsW")
		must(t, c, "Create")
		must(t, c, "ExistsW")
		must(t, c, "Delete")
	}
	c.cut()
	d.wait(t, 1, zk.StateDisconnected)
	c.heal()
	d.wait(t, 2, zk.StateHasSession)
	must(t, c, "ExistsW")
	c.cut()
	d.wait(t, 2, zk.StateDisconnected)
	c.expire()
	c.heal()
	d.wait(t, 3, zk.StateHasSession)
	must(t, c, "ExistsW")
	c.Close()
	if err := eventually(d.over); err != nil {
		t.Fatal("the channel of events is not closed after Close")
	}
	_, _, err := c.Exists("/a")
	d.write(fmt.Sprintf("Exists after Close: %v", err))
	for e := range ignored {
		unread = append(unread, told(e, e.Server))
	}
	return d.lines, unread
}

func must(t *testing.T, c eventful, what string) {
	t.Helper()
	var err error
	switch what {
	case "ExistsW":
		_, _, _, err = c.ExistsW("/a")
	case "Create":
		_, err = c.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	case "Delete":
		err = c.Delete("/a", -1)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestEvents: go-zookeeper at a real server, by way of recipes.WithEvents, tells what the fake's client does, in the
// same order, and whoever does not read has the first six. The rest of what Conn has is compared beside it.
func TestEvents(t *testing.T) {
	testkit.NeedServers(t)
	var fakeHeard, fakeUnread []string
	synctest.Test(t, func(t *testing.T) { fakeHeard, fakeUnread = live(t, fakeEventful()) })
	realHeard, realUnread := live(t, realEventful(t))
	if diff := cmp.Diff(realHeard, fakeHeard); diff != "" {
		t.Errorf("heard (-real +fake):\n%s", diff)
	}
	if diff := cmp.Diff(realUnread, fakeUnread); diff != "" || len(fakeUnread) != 6 {
		t.Errorf("unread (-real +fake):\n%s%q", diff, fakeUnread)
	}
}

// TestProtected: the names of protected znodes look alike, and so do their errors.
func TestProtected(t *testing.T) {
	testkit.NeedServers(t)
	name := regexp.MustCompile(`_c_[0-9a-f]{32}-`)
	try := func(c recipes.Conn) (said []string) {
		for _, path := range []string{"/p-", "/", "/a/b", "p", "", "/q/"} {
			made, err := c.CreateProtectedEphemeralSequential(path, nil, zk.WorldACL(zk.PermAll))
			said = append(said, fmt.Sprintf("%s: %s, %v", path, name.ReplaceAllString(made, "GUID-"), err))
		}
		return said
	}
	fake, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(tick)
	if diff := cmp.Diff(try(realEventful(t)), try(fake)); diff != "" {
		t.Errorf("(-real +fake):\n%s", diff)
	}
}
