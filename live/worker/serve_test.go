package worker_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

const (
	assignment = `{"zktorture":1,"kind":"lock","servers":"h:1","session_timeout_ms":2000}` + "\n"
	toObject   = `{"id":1,"user":0,"op":"object","arg":"/a"}` + "\n"
)

// serving opens a host with one operation in session 0xa.
func serving(op string, do func(context.Context, linearizability.Value) (linearizability.Value, error)) worker.Open {
	return servingIn(func() int64 { return 0xa }, op, do)
}

func servingIn(session func() int64, op string,
	do func(context.Context, linearizability.Value) (linearizability.Value, error)) worker.Open {
	return func(context.Context, worker.Assignment, func(worker.State)) (*worker.Host, error) {
		return &worker.Host{
			Session: session, Close: func() {},
			Object: func(path string) (worker.Served, error) {
				if path != "/a" {
					return nil, errors.New("no such object")
				}
				return worker.Served{op: do}, nil
			},
		}, nil
	}
}

// converse lets a worker hear lines one after the other, each when the answer to the one before has come, and
// returns what it said, and its error.
func converse(t *testing.T, open worker.Open, lines ...string) (said []string, err error) {
	t.Helper()
	in, write := io.Pipe()
	read, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := worker.Serve(t.Context(), in, out, open)
		out.Close()
		in.Close()
		ended <- err
	}()
	answers := bufio.NewScanner(read)
	for _, line := range lines {
		if _, err := io.WriteString(write, line); err != nil || !answers.Scan() {
			break
		}
		said = append(said, answers.Text())
	}
	write.Close()
	return said, <-ended
}

// The outcome of an operation follows from its error.
func TestOutcomesOfServedOperations(t *testing.T) {
	for want, err := range map[string]error{
		`{"id":2,"outcome":"ok","result":5,"session":"0xa"}`:                                 nil,
		`{"id":2,"outcome":"fail","result":5,"error":"no","session":"0xa"}`:                  errors.New("no"),
		`{"id":2,"outcome":"unknown","result":5,"error":"context canceled","session":"0xa"}`: context.Canceled,
		`{"id":2,"outcome":"unknown","result":5,"error":"recipes: /a: nobody knows whether the add has happened ` +
			`(eh)","session":"0xa"}`: &recipes.UnknownOutcomeError{Op: "add", Path: "/a", Err: errors.New("eh")},
	} {
		said, ended := converse(t, serving("add",
			func(_ context.Context, arg linearizability.Value) (linearizability.Value, error) {
				return linearizability.Int(arg.Int() + 1), err
			}), assignment, toObject, `{"id":2,"user":0,"op":"add","arg":4}`+"\n")
		if ended != nil || len(said) != 3 || said[2] != want {
			t.Errorf("it says %q, %v; want %s", said, ended, want)
		}
	}
}

// An operation in whose middle the session changed took place in none.
func TestSessionOfServedOperations(t *testing.T) {
	var session atomic.Int64
	session.Store(0xa)
	open := servingIn(session.Load, "acquire",
		func(context.Context, linearizability.Value) (linearizability.Value, error) {
			session.CompareAndSwap(0xa, 0xb)
			return linearizability.Null, nil
		})
	said, err := converse(t, open, assignment, toObject, `{"id":2,"user":0,"op":"acquire"}`+"\n",
		`{"id":3,"user":0,"op":"acquire"}`+"\n")
	want := []string{`{"id":2,"outcome":"ok","session":null}`, `{"id":3,"outcome":"ok","session":"0xb"}`}
	if err != nil || len(said) != 4 || said[2] != want[0] || said[3] != want[1] {
		t.Errorf("it says %q, %v; want %q", said, err, want)
	}
}

// What a runner may not say, and what the worker's error says of it.
func TestBadCommands(t *testing.T) {
	open := serving("acquire", func(context.Context, linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, nil
	})
	for command, why := range map[string]string{
		`nonsense`:                           "the line is not JSON",
		`{"id":2,"user":0,"op":"acquire"} 1`: "after the object",
		`{"id":2,"user":0,"oq":"acquire"}`:   "unknown field",
		`{"id":2,"op":"acquire"}`:            "neither id, user and op",
		`{"user":0,"op":"acquire"}`:          "neither id, user and op",
		`{"id":2,"user":0,"op":"release"}`:   "no object with the operation release",
		`{"id":2,"user":1,"op":"acquire"}`:   "user 1 has no object",
	} {
		_, err := converse(t, open, assignment, toObject, command+"\n")
		wantError(t, err, "not in the protocol", command, why)
	}
	_, err := converse(t, open, "hello\n")
	wantError(t, err, "not in the protocol", "hello")
}

// A worker that cannot serve its assignment says so, and ends.
func TestRefusals(t *testing.T) {
	for first, why := range map[string]string{
		strings.Replace(assignment, ":1,", ":2,", 1): "version 2",
		assignment: "no servers there",
	} {
		said, err := converse(t, func(context.Context, worker.Assignment, func(worker.State)) (*worker.Host, error) {
			return nil, errors.New("no servers there")
		}, first)
		if err != nil || len(said) != 1 || !strings.Contains(said[0], why) ||
			!strings.HasPrefix(said[0], `{"zktorture":1,"error":"`) {
			t.Errorf("it says %q, %v; want %s", said, err, why)
		}
	}
	said, err := converse(t, serving("acquire", nil), assignment, `{"id":1,"user":0,"op":"object","arg":"/b"}`+"\n")
	if err != nil || len(said) != 2 || said[1] != `{"id":1,"outcome":"fail","error":"no such object","session":"0xa"}` {
		t.Errorf("it says %q, %v", said, err)
	}
}

// Operations under way are cancelled when the input ends.
func TestEndOfInput(t *testing.T) {
	ended := make(chan struct{})
	waits := make(chan struct{})
	in, write := io.Pipe()
	go func() {
		fmt.Fprint(write, assignment, toObject, `{"id":2,"user":0,"op":"acquire"}`+"\n")
		<-waits
		write.Close()
	}()
	err := worker.Serve(t.Context(), in, io.Discard,
		serving("acquire", func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			close(waits)
			<-ctx.Done()
			close(ended)
			return linearizability.Null, ctx.Err()
		}))
	if err != nil {
		t.Error(err)
	}
	within(t, "the operation", func() { <-ended })
}

// A worker of ours that was stopped while its run's root was removed, and made again by somebody else, makes nothing
// there when it goes on, however often it tries.
func TestOwnWorkersAreConfined(t *testing.T) {
	for kind, op := range map[string]string{"lock": "acquire", "rwlock": "racquire", "semaphore": "acquire",
		"election": "elected", "queue": "offer", "counter": "add", "barrier": "shut"} {
		servers := goclient.NewLocal(fakezk.Config{})
		c, _, err := servers.Connect(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create("/root", []byte("another's"), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		before := servers.Dump("/")
		w, err := workload.Find(kind, workload.Ours)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		requests := 0
		host, err := worker.HostOf(w, recipes.Around(c, func(_, _ string, send func() error) error {
			if requests++; requests == 50 {
				cancel()
			}
			return send()
		}), func() {})
		if err != nil {
			t.Fatal(err)
		}
		served, err := host.Object("/root/r7/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := served[op](ctx, linearizability.Int(1)); err == nil || requests == 0 {
			t.Errorf("%s: %d requests, %v", kind, requests, err)
		}
		cancel()
		if after := servers.Dump("/"); after != before {
			t.Errorf("%s: before:\n%safter:\n%s", kind, before, after)
		}
	}
}
