package worker

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/live/worker/confined"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// ServeRecipe is a worker that serves a recipe by its name, with go-zookeeper as client. The assignment has the kind.
//
// The recipe reaches the directory of its object and what is below. If that is gone, as when the process was stopped
// while another program has removed the run's root, it makes nothing there. One that asks for anything else ends the
// run, by a line that is not in the protocol.
func ServeRecipe(ctx context.Context, in io.Reader, out io.Writer, recipe string) error {
	lines := &oneByOne{out: out}
	strays := func(err error) { (&server{out: lines}).write(reply{Version: Version, Error: err.Error()}) }
	return Serve(ctx, in, lines, func(ctx context.Context, a Assignment, tell func(State)) (*Host, error) {
		w, err := workload.Find(a.Kind, recipe)
		if err != nil {
			return nil, err
		}
		conn, err := connect(ctx, a, tell)
		if err != nil {
			return nil, err
		}
		host, err := hostOf(w, recipes.WithEvents(conn, conn.Events()), conn.Close, strays)
		if err != nil {
			conn.Close()
		}
		return host, err
	})
}

// hostOf serves a workload's recipe over a connection. A recipe that strays from the directory of its object is told
// of.
func hostOf(w *workload.Workload, conn recipes.Conn, close func(), strays func(error)) (*Host, error) {
	make := func(object string) any { return w.Make(confined.To(conn, path.Dir(object), strays), object) }
	return NewHost(w.Name(), make, conn.SessionID, close)
}

// oneByOne writes one line at a time.
type oneByOne struct {
	mu  sync.Mutex
	out io.Writer
}

func (o *oneByOne) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(line)
}

// NewHost serves recipes of a kind that make makes: what it returns is for one user, about the object at a path, as
// what the constructor of the kind is given. It is called for an example at first, and makes no request. The error
// says that such recipes cannot be served.
func NewHost(kind string, make func(path string) any, session func() int64, close func()) (*Host, error) {
	object := func(path string) (Served, error) { return serve(kind, make(path)) }
	sample, err := object("/zktorture/" + kind)
	if err != nil {
		return nil, err
	}
	can := slices.DeleteFunc(slices.Clone(optionals), func(op string) bool { return sample[op] == nil })
	return &Host{Can: can, Session: session, Object: object, Close: close}, nil
}

// connectMax is how long the first session may take.
const connectMax = 2 * time.Minute

func connect(ctx context.Context, a Assignment, tell func(State)) (*zkclient.Client, error) {
	conn, err := zkclient.Config{
		Servers:        a.Servers,
		SessionTimeout: time.Duration(a.TimeoutMS) * time.Millisecond,
		OnEvent:        func(e zk.Event) { tellOf(e, tell) },
	}.Connect()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	if err := conn.WaitSession(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("worker: %w", err)
	}
	return conn, nil
}

// tellOf tells what an event says of the session.
func tellOf(e zk.Event, tell func(State)) {
	states := map[zk.State]State{zk.StateHasSession: Connected, zk.StateDisconnected: Suspended, zk.StateExpired: Lost}
	if state, of := states[e.State]; of && e.Type == zk.EventSession {
		tell(state)
	}
}
