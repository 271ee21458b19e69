package worker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
)

// open opens a session of the assignment's servers and serves counters in it. Here ZooKeeper is a fake.
func open(_ context.Context, a worker.Assignment, _ func(worker.State)) (*worker.Host, error) {
	client, _, err := goclient.NewLocal(fakezk.Config{}).Connect(time.Duration(a.TimeoutMS) * time.Millisecond)
	if err != nil {
		return nil, err
	}
	object := func(path string) (worker.Served, error) {
		counter := recipes.NewCounter(client, path)
		add := func(ctx context.Context, delta linearizability.Value) (linearizability.Value, error) {
			sum, err := counter.Add(ctx, delta.Int())
			return linearizability.Int(sum), err
		}
		get := func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			number, err := counter.Get(ctx)
			return linearizability.Int(number), err
		}
		return worker.Served{"add": add, "get": get}, nil
	}
	return &worker.Host{Session: client.SessionID, Object: object, Close: client.Close}, nil
}

// A worker that serves a counter, and what a runner says to it. The main function of a worker is
// worker.Serve(ctx, os.Stdin, os.Stdout, open); torture run counter --recipe exec:COMMAND runs it.
func ExampleServe() {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error)
	go func() { ended <- worker.Serve(context.Background(), in, out, open) }()

	lines := bufio.NewScanner(answers)
	for _, command := range []string{
		`{"zktorture":1,"kind":"counter","servers":"a:2181,b:2181","session_timeout_ms":2000}`,
		`{"id":1,"user":0,"op":"object","arg":"/visitors"}`,
		`{"id":2,"user":0,"op":"add","arg":5}`,
		`{"id":3,"user":0,"op":"get"}`,
	} {
		fmt.Fprintln(commands, command)
		lines.Scan()
		fmt.Println(lines.Text())
	}
	commands.Close()
	fmt.Println(<-ended)
	// Output:
	// {"zktorture":1,"session":"0x100000000000001"}
	// {"id":1,"outcome":"ok","session":"0x100000000000001"}
	// {"id":2,"outcome":"ok","result":5,"session":"0x100000000000001"}
	// {"id":3,"outcome":"ok","result":5,"session":"0x100000000000001"}
	// <nil>
}
