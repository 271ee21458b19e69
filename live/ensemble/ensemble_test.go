package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
)

// start starts servers that grant sessions which last on a busy machine.
func start(t *testing.T, options ensemble.Options) *ensemble.Ensemble {
	t.Helper()
	needsServers(t)
	options.Config = append(options.Config, ensembletest.Options(1).Config...)
	options.StartTimeout = testkit.Hang
	e, err := ensemble.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			tellLogs(t, e)
		}
		if err := e.Stop(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// shared is three servers for all tests that leave them well. They bear silence for two seconds.
var shared *ensemble.Ensemble

// three returns the shared servers, when they are well.
func three(t *testing.T) *ensemble.Ensemble {
	t.Helper()
	needsServers(t)
	if shared == nil {
		e, err := ensemble.Start(context.Background(), ensemble.Options{Nodes: 3, SyncLimit: syncLimit,
			Config: ensembletest.Options(1).Config, StartTimeout: testkit.Hang})
		if err != nil {
			t.Fatal(err)
		}
		shared = e
	}
	must(t, shared.WaitServing(t.Context()))
	t.Cleanup(func() {
		if t.Failed() {
			tellLogs(t, shared)
		}
	})
	return shared
}

// syncLimit is that of the shared servers, in ticks of 100 ms.
const syncLimit = 20

// tellLogs shows the end of what each server has logged.
func tellLogs(t *testing.T, e *ensemble.Ensemble) {
	for i := range e.Servers() {
		content, err := os.ReadFile(e.Member(i).Log())
		lines := strings.Split(string(content), "\n")
		t.Logf("%s: %v\n%s", e.Member(i).Log(), err, strings.Join(lines[max(0, len(lines)-60):], "\n"))
	}
}

func session(t *testing.T, servers string) *zkclient.Client {
	t.Helper()
	return ensembletest.Witness(t, servers)
}

// gone reports whether a process has ended. A zombie has ended too.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

func TestStartServeStop(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	e := start(t, ensemble.Options{})
	serves(t, e)
	started := pids(e)
	if len(e.Servers()) != 1 || len(started) != 1 {
		t.Errorf("servers %q, pids %v", e.Servers(), started)
	}
	if err := errors.Join(e.Stop(), e.Stop()); err != nil {
		t.Error(err)
	}
	for _, pid := range started {
		if !gone(pid) {
			t.Errorf("pid %d still runs", pid)
		}
	}
	wantEntries(t, dir)
	wantError(t, e.Member(0).Restart(t.Context()), "server.1", "has been stopped")
}

// writes counts, so that each has a path of its own.
var writes atomic.Int64

// serves writes through each server and reads through the next. A connection may break meanwhile: on a machine that
// is busy enough a client or a server loses patience.
func serves(t *testing.T, e *ensemble.Ensemble) {
	t.Helper()
	servers := e.Servers()
	for i, server := range servers {
		path, data := fmt.Sprintf("/written-%d", writes.Add(1)), fmt.Sprintf("by %d", i)
		writer, reader := session(t, server), session(t, servers[(i+1)%len(servers)])
		insist(t, func() error {
			_, err := writer.Create(path, []byte(data), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			if errors.Is(err, zk.ErrNodeExists) {
				return nil // by the attempt before
			}
			return err
		})
		insist(t, func() error {
			if _, err := reader.Sync(path); err != nil {
				return err
			}
			got, _, err := reader.Get(path)
			if errors.Is(err, zk.ErrNoNode) {
				// It was opened again, after the sync, to a server that has lost its leader since.
				return zk.ErrConnectionClosed
			}
			if err == nil && string(got) != data {
				t.Errorf("%s is %q, want %q", path, got, data)
			}
			return err
		})
	}
}

// insist does something again when the connection breaks, and fails the test on any other error.
func insist(t *testing.T, do func() error) {
	t.Helper()
	testkit.Until(t, "it is done", func() bool {
		err := do()
		var code *net.OpError
		if err != nil && !errors.Is(err, zk.ErrConnectionClosed) && !errors.As(err, &code) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Tick and JVM reach the servers: the timeout of a session is 2 ticks at least.
func TestOptionsReachTheServer(t *testing.T) {
	e := start(t, ensemble.Options{Tick: 30 * time.Millisecond, JVM: []string{"-Djute.maxbuffer=2000"}})
	client := session(t, e.ConnectString())
	if _, err := client.Create("/big", make([]byte, 3000), 0, zk.WorldACL(zk.PermAll)); err == nil {
		t.Error("a request of more than jute.maxbuffer was accepted")
	}
	config, err := os.ReadFile(filepath.Join(e.Dir(), "s1", "zoo.cfg"))
	if err != nil || !strings.Contains(string(config), "tickTime=30\n") {
		t.Errorf("no tickTime=30 in zoo.cfg (%v):\n%s", err, config)
	}
}

func TestStartRefuses(t *testing.T) {
	tests := []struct {
		options ensemble.Options
		says    []string
	}{
		{ensemble.Options{Nodes: 2}, []string{"Nodes is 2", "1, 3 or 5"}},
		{ensemble.Options{Nodes: -1}, []string{"Nodes is -1"}},
		{ensemble.Options{Nodes: 7}, []string{"Nodes is 7"}},
		{ensemble.Options{Tick: time.Millisecond}, []string{"Tick is 1ms", "between 10ms and 1m"}},
		{ensemble.Options{Tick: 20*time.Millisecond + 1}, []string{"whole milliseconds"}},
		{ensemble.Options{SyncLimit: -3}, []string{"SyncLimit is -3"}},
		{ensemble.Options{StartTimeout: -1}, []string{"StartTimeout"}},
	}
	for _, test := range tests {
		_, err := ensemble.Start(t.Context(), test.options)
		wantError(t, err, test.says...)
	}
}

func TestStartWithoutItsFolder(t *testing.T) {
	needsServers(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	_, err := ensemble.Start(t.Context(), ensemble.Options{})
	wantError(t, err, "cannot make a folder", "absent")
}

// A server that ends at once is reported soon, with its log, and leaves nothing.
func TestStartTellsTheLog(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := ensemble.Start(t.Context(), ensemble.Options{JVM: []string{"-XX:NoSuchFlag"}})
	wantError(t, err, "server.1", "has ended", "server.log", "NoSuchFlag")
	wantEntries(t, dir)
}

func TestStartEndsWithItsContext(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	options := ensemble.Options{Nodes: 3, Log: func(string, ...any) { cancel() }}
	if _, err := ensemble.Start(ctx, options); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one that wraps context.Canceled", err)
	}
	wantEntries(t, dir)
}

func TestStartTimeout(t *testing.T) {
	needsServers(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := ensemble.Start(t.Context(), ensemble.Options{StartTimeout: time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want one that wraps context.DeadlineExceeded", err)
	}
	wantEntries(t, dir)
}

// Another process may take a port between the search for it and its use.
func TestStartAgainWhenAPortIsTaken(t *testing.T) {
	for port := range testkit.Sized(1, 3) { // client, peer, election
		t.Run([]string{"client", "peer", "election"}[port], func(t *testing.T) {
			thief, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer thief.Close()
			launches := 0
			options := ensemble.Options{Nodes: []int{1, 3, 3}[port]}
			e := start(t, options.WithPorts(func(found []int) {
				if launches++; launches == 1 {
					for i := range options.Nodes { // of every member, as only the leader opens its peer port
						found[3*i+port] = thief.Addr().(*net.TCPAddr).Port
					}
				}
			}))
			if launches != 2 {
				t.Errorf("%d launches, want 2", launches)
			}
			serves(t, e)
		})
	}
}

// The same if it is another ZooKeeper that has the port, which answers as ours would.
func TestStartIsNotDeceivedByAnotherZooKeeper(t *testing.T) {
	other := start(t, ensemble.Options{})
	_, port, err := net.SplitHostPort(other.Servers()[0])
	if err != nil {
		t.Fatal(err)
	}
	launches := 0
	e := start(t, ensemble.Options{}.WithPorts(func(found []int) {
		if launches++; launches == 1 {
			found[0], err = strconv.Atoi(port)
		}
	}))
	if err != nil || launches != 2 || e.Servers()[0] == other.Servers()[0] {
		t.Errorf("%d launches, at %q; want 2, and not at %q (%v)", launches, e.Servers(), other.Servers(), err)
	}
}

func TestHurt(t *testing.T) {
	e := three(t)
	t.Run("stop the leader", func(t *testing.T) { stopLeader(t, e) })
	t.Run("stop while paused", func(t *testing.T) {
		m := e.Member(0)
		if err := errors.Join(m.Pause(), m.Stop()); err != nil {
			t.Error(err)
		}
		if pid, ok := m.Pid(); ok || m.Paused() {
			t.Errorf("it runs, pid %d, paused %v", pid, m.Paused())
		}
		wantError(t, m.Pause(), "server.1", "does not run")
		wantError(t, m.Resume(), "does not run")
	})
	t.Run("lose the majority", func(t *testing.T) { loseMajority(t, e) })
}

// stopLeader checks that another member takes over while the leader is shut down, and that clients keep their
// sessions. What Strike can do to a leader has tests of its own.
func stopLeader(t *testing.T, e *ensemble.Ensemble) {
	ctx := testkit.Context(t)
	old, err := e.WaitLeader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stillThere := keepsSession(t, e)
	if err := e.Member(old).Stop(); err != nil {
		t.Fatal(err)
	}
	leader, err := e.WaitLeader(ctx)
	if err != nil || leader == old {
		t.Errorf("leader is %d, %v; it was %d", leader, err, old)
	}
	testkit.Until(t, "the leader says that it leads", func() bool {
		status, _ := e.Member(leader).Status(ctx)
		return status.Mode == "leader"
	})
	stillThere()
	if err := e.Member(old).Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if err := e.WaitServing(ctx); err != nil {
		t.Error(err)
	}
}

// keepsSession connects a client. The function that it returns checks that the client can write, in the same session.
func keepsSession(t *testing.T, e *ensemble.Ensemble) func() {
	// It may be connected to a server that is about to hang: what it notices after two thirds of this.
	client := ensembletest.Connect(t, zkclient.Config{Servers: e.ConnectString(), SessionTimeout: ensembletest.Lasting / 2})
	id := client.SessionID()
	return func() {
		testkit.Until(t, "the client can write again", func() bool {
			_, err := client.Set("/", nil, -1)
			return err == nil
		})
		if client.SessionID() != id {
			t.Error("the client has lost its session")
		}
	}
}

// loseMajority begins with member 0 stopped.
func loseMajority(t *testing.T, e *ensemble.Ensemble) {
	if err := e.Member(1).Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "the last member knows that it is alone", func() bool {
		_, err := e.Member(2).Status(t.Context())
		return err != nil && strings.Contains(err.Error(), "not in touch with a majority")
	})
	_, err := e.Leader(t.Context())
	wantError(t, err, "no leader", "server.1", "server.2", "server.3")
	wantError(t, e.Member(2).Restart(t.Context()), "server.3", "runs already")
	for i := range 2 {
		if err := e.Member(i).Launch(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.WaitServing(t.Context()); err != nil {
		t.Error(err)
	}
	serves(t, e)
}
