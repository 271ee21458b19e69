package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/live/zkclient"
)

// The command is a worker: it reads an assignment from standard input, and reports errors on standard output.
func TestWorkerCommand(t *testing.T) {
	for args, of := range map[string][2]string{
		"worker":                 {"nothing", `unknown workload \"nothing\"`},
		"worker --recipe=better": {"lock", `unknown recipe \"better\" for lock`},
	} {
		from(t, `{"zktorture":1,"kind":"`+of[0]+`","servers":"h:1","session_timeout_ms":2000}`+"\n")
		_, out, _ := command(t, strings.Fields(args)...)
		if !strings.HasPrefix(out, `{"zktorture":1,"error":"`+of[1]) {
			t.Errorf("%s: it says %s", args, out)
		}
	}
}

// from sets a test's standard input.
func from(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = in
	t.Cleanup(func() {
		os.Stdin = before
		in.Close()
	})
}

// lie is a worker that grants every lock to everybody. It has a session, and names another with each answer, or none.
func lie(session string) {
	claimed, _ := strconv.ParseInt(session, 0, 64)
	yes := func(context.Context, linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, nil
	}
	err := worker.Serve(context.Background(), os.Stdin, os.Stdout,
		func(ctx context.Context, a worker.Assignment, _ func(worker.State)) (*worker.Host, error) {
			conn, err := zkclient.Config{Servers: a.Servers, SessionTimeout: 20 * time.Second}.Connect()
			if err != nil {
				return nil, err
			}
			ready := false
			return &worker.Host{Close: conn.Close,
				Session: func() int64 {
					if ready {
						return claimed
					}
					ready = true
					return conn.SessionID()
				},
				Object: func(string) (worker.Served, error) {
					return worker.Served{"acquire": yes, "release": yes}, nil
				},
			}, conn.WaitSession(ctx)
		})
	if err != nil {
		panic(err)
	}
}

// A worker that excludes nobody does not pass by keeping silent about its sessions, in the run or by its history; and
// one that names a session which it does not have is refused.
func TestWorkersThatLie(t *testing.T) {
	t.Chdir(t.TempDir())
	run := func(recipe string, args ...string) (s output.Summary, messages string, status int) {
		status, text, messages := command(t, append(strings.Fields("live lock --serve 1 --seed 1 --json "+
			"--faults none --episodes 3 --recipe"), append([]string{"exec:exec " + os.Args[0] + " " + recipe}, args...)...)...)
		json.Unmarshal([]byte(text), &s)
		return s, messages, status
	}
	s, messages, status := run("lying null", "--out", "null")
	if status != console.ExitUnknown || s.Grants == 0 || s.GrantsJudged != 0 || !strings.Contains(s.Reason, "in a session that is not known") {
		t.Errorf("null: exit status %d, %d of %d grants judged, %s%s", status, s.GrantsJudged, s.Grants, s.Reason, messages)
	}
	status, text, _ := command(t, "check", "null")
	if status != console.ExitUnknown || !strings.Contains(text, "in a session that is not known") {
		t.Errorf("its history: exit status %d, %s", status, text)
	}
	if s, messages, status = run("lying 0x1"); status != console.ExitUnknown ||
		!strings.Contains(s.Reason+messages, "the servers have granted no session 0x1 to this client") {
		t.Errorf("0x1: exit status %d, %s%s", status, s.Reason, messages)
	}
	if s, messages, status = run("worker", "--out", "true"); status != console.ExitOK || s.Grants == 0 || s.GrantsJudged != s.Grants {
		t.Errorf("a true one: exit status %d, %d of %d grants judged, %s%s", status, s.GrantsJudged, s.Grants, s.Reason, messages)
	}
	if status, text, _ = command(t, "check", "true"); status != console.ExitOK {
		t.Errorf("its history: exit status %d, %s", status, text)
	}
}
