package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
)

// watched collects the output of a command, and signals changes.
type watched struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced
}

func newWatched() *watched { return &watched{changed: make(chan struct{})} }

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
	return w.text.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await waits for a line that matches, and returns its groups.
func (w *watched) await(t *testing.T, pattern string) []string {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	limit := time.After(testkit.Hang)
	for {
		w.mu.Lock()
		match, changed := expression.FindStringSubmatch(w.text.String()), w.changed
		w.mu.Unlock()
		if match != nil {
			return match
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%q was not printed, but:\n%s", pattern, w)
		}
	}
}

// process is a running torture command.
type process struct {
	t        *testing.T
	out, err *watched
	signal   func() // as SIGINT and SIGTERM
	status   chan int
}

func torture(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := &process{t, newWatched(), newWatched(), cancel, make(chan int, 1)}
	go func() { c.status <- run(ctx, args, console.Streams{Stdout: c.out, Stderr: c.err, Self: "torture"}) }()
	t.Cleanup(cancel)
	return c
}

// wait waits for the end.
func (c *process) wait(status int) {
	c.t.Helper()
	if got := <-c.status; got != status {
		c.t.Fatalf("exit status %d, want %d\n%s%s", got, status, c.out, c.err)
	}
}

func client(t *testing.T, servers string, auth ...zkclient.Credential) *zkclient.Client {
	t.Helper()
	return ensembletest.Connect(t, zkclient.Config{Servers: servers, SessionTimeout: ensembletest.Lasting, Auth: auth})
}

// A proxy with a client certificate is not reachable from elsewhere.
func TestProxyIsNotExposed(t *testing.T) {
	ca := testkit.NewAuthority(t)
	secured := []string{"proxy", "--servers", "127.0.0.1:1", "--tls-ca", ca.CA, "--tls-cert", ca.Cert,
		"--tls-key", ca.Key}
	for _, listen := range []string{":0", "0.0.0.0:0", "[::]:0"} {
		c := torture(t, append(secured, "--listen", listen)...)
		c.wait(console.ExitUnknown)
		if said := c.err.String(); !strings.Contains(said, "can be reached from other machines") ||
			!strings.Contains(said, "listen on 127.0.0.1") {
			t.Errorf("%s: %s", listen, said)
		}
	}
	c := torture(t, append(secured, "--listen", "127.0.0.1:0")...)
	c.err.await(t, "forwards to")
	c.signal()
	c.wait(console.ExitOK)
}

// A go-zookeeper client works behind the proxy, over TLS to the servers. Each fault that strikes is a line of the
// log.
func TestProxy(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
	ca := testkit.NewAuthority(t)
	log := filepath.Join(t.TempDir(), "log")
	c := torture(t, "proxy", "--listen", "127.0.0.1:0", "--servers", ca.Front(e.ConnectString()),
		"--faults", "loss,expiry", "--every", "10",
		"--seed", "5", "--log", log,
		"--tls-ca", ca.CA, "--tls-cert", ca.Cert, "--tls-key", ca.Key, "--tls-server-name", testkit.ServerName)
	address := c.err.await(t, `torture: (\S+) forwards to`)[1]
	conn, events, err := zk.Connect([]string{address}, time.Second, zk.WithLogInfo(false), zk.WithLogger(discard{}))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		for range events {
		}
	}()
	failed := 0
	for i := 0; !strings.Contains(testkit.File(t, log), `"expiry"`); i++ {
		if _, err := conn.Create(fmt.Sprintf("/%d", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			failed++
		}
		if i > 1000 {
			t.Fatal("no expiry in a thousand requests")
		}
	}
	c.signal()
	c.wait(console.ExitOK)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	strikes := 0
	for line := range strings.Lines(string(text)) {
		var s strike.Strike
		if err := json.Unmarshal([]byte(line), &s); err != nil || s.Time.IsZero() || s.Connection == 0 ||
			s.Session == "0x0" || (s.Op != "create") != (s.Request == strike.Hello) {
			t.Errorf("%s: %v", line, err)
		}
		strikes++
	}
	if failed == 0 || !strings.Contains(c.err.String(), fmt.Sprintf(" %d faults: ", strikes)) {
		t.Errorf("%d requests failed, %d strikes; the end:\n%s", failed, strikes, c.err)
	}
}

type discard struct{}

func (discard) Printf(string, ...any) {}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A fault that cannot be logged ends the proxy.
func TestProxyLogFails(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
	status, err := make(chan int), newWatched()
	go func() {
		status <- run(t.Context(), []string{"proxy", "--listen", "127.0.0.1:0", "--servers", e.ConnectString(),
			"--faults", "expiry", "--every", "1"}, console.Streams{Stdout: failing{}, Stderr: err})
	}()
	conn := client(t, err.await(t, `torture: (\S+) forwards to`)[1])
	go conn.Exists("/")
	if got := <-status; got != console.ExitUnknown || !strings.Contains(err.String(), "torture: --log: the disk is full") {
		t.Errorf("exit status %d:\n%s", got, err)
	}
}
