package worker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/workload"
)

// role makes the test binary play a program, for tests about processes.
const role = "WORKER_TEST_ROLE"

// roles are the programs, with an argument each.
var roles = map[string]func(arg string) error{
	// a worker that serves a recipe known by name, on real servers
	"recipe": func(name string) error {
		return worker.ServeRecipe(context.Background(), os.Stdin, os.Stdout, name)
	},
	// the same on a fake ZooKeeper of its own
	"fake": func(name string) error {
		return worker.Serve(context.Background(), os.Stdin, os.Stdout, openFake(name))
	},
	// a worker that says its lines by heart
	"script": playScript,
	// a runner that starts a worker and never ends
	"runner": func(command string) error {
		c, err := worker.Start(context.Background(), worker.Config{Command: command, Kind: "lock"})
		if err != nil {
			return err
		}
		pid, _ := c.Pid()
		fmt.Println(pid)
		select {}
	},
}

// own is a kind of a user's.
var own = &workload.Kind{Name: "own", Operations: []string{"echo", "size"}, Recipes: []workload.Entry{{
	Recipe: "mine", New: func() *workload.Workload { return workload.Own("own", nil, workload.Named("mine")) },
}}}

func TestMain(m *testing.M) {
	if err := workload.Register(own); err != nil {
		panic(err)
	}
	name, arg, _ := strings.Cut(os.Getenv(role), " ")
	if name == "" {
		ensembletest.Main(m)
	}
	if err := roles[name](arg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inRole is a command for the shell that runs this test binary in a role.
func inRole(name, arg string) string {
	return fmt.Sprintf("%s='%s %s' exec '%s'", role, name, arg, os.Args[0])
}

// openFake serves a recipe on a fake ZooKeeper. Nothing is chosen at random there.
func openFake(recipe string) worker.Open {
	return func(_ context.Context, a worker.Assignment, _ func(worker.State)) (*worker.Host, error) {
		w, err := workload.Find(a.Kind, recipe)
		if err != nil {
			return nil, err
		}
		conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(time.Duration(a.TimeoutMS) * time.Millisecond)
		if err != nil {
			return nil, err
		}
		return worker.HostOf(w, conn, func() {})
	}
}

// failures collects the errors that Fail is called with.
type failures chan error

func (f failures) told() error {
	select {
	case err := <-f:
		return err
	default:
		return nil
	}
}

// start starts a worker for a test.
func start(t *testing.T, cfg worker.Config) (*worker.Client, failures) {
	t.Helper()
	told := make(failures, 10)
	cfg.Fail = func(err error) { told <- err }
	if cfg.Kind == "" {
		cfg.Kind = "lock"
	}
	c, err := worker.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, told
}

// do carries out an operation of user 0.
func do(ctx context.Context, c *worker.Client, op string) (worker.Answer, error) {
	return c.Do(ctx, worker.Call{Path: "/a", Op: op})
}

// within fails the test if f hangs.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	testkit.From(t, what, done)
}

// wantError fails unless err says all the words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one that says %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error does not say %q:\n%v", word, err)
		}
	}
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error %v, want %v", err, target)
	}
}

func wantResult(t *testing.T, answer worker.Answer, err error, want linearizability.Value) {
	t.Helper()
	if err != nil {
		t.Error(err)
	} else if answer.Result != want {
		t.Errorf("result %v, want %v", answer.Result, want)
	}
}
