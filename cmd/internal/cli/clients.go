package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
)

// clients are the clients of a run on real servers, in this process and in processes of their own.
type clients struct {
	open  func(context.Context) (*live.Session, error) // nil if none are in this process
	start func(context.Context) (*live.Session, error) // nil if none are in processes of their own
	// starts is how many rounds with worker processes run concurrently; 0 for the default.
	starts int
	ctx    context.Context // ends when a worker has failed permanently
	close  func()
}

// clients sets them up. A recipe served by another program has a process for each client. Of ours, some clients have
// a process if there are process faults.
func (r *LiveCmd) clients(c *console.Context, out *output.Folder, way reach.Access, servers string) (*clients, error) {
	all := &clients{ctx: c, close: func() {}}
	command, foreign := strings.CutPrefix(r.Recipe, worker.Foreign)
	if !foreign {
		if r.processesOnly() {
			all.starts = processRounds
		} else {
			all.open = func(ctx context.Context) (*live.Session, error) {
				return OpenSession(ctx, way, servers, r.may != 0) // faults need links
			}
		}
		if !r.needsProcesses() {
			return all, nil
		}
		var err error
		if command, err = ownWorker(r.Recipe); err != nil {
			return nil, err
		}
	}
	return all, r.startWorkers(all, command, out, way, servers)
}

// processRounds is how many rounds run concurrently if all clients are processes of this program. Most of them sleep.
const processRounds = 6

// needsProcesses reports whether there are process faults.
func (r *LiveCmd) needsProcesses() bool {
	return r.may&live.ProcessFaults != 0
}

// processesOnly reports whether all faults are process faults.
func (r *LiveCmd) processesOnly() bool {
	return r.needsProcesses() && r.may&^live.ProcessFaults == 0
}

// ownWorker is the command with which this program serves a recipe.
func ownWorker(recipe string) (string, error) {
	program, err := exec.LookPath(os.Args[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	return fmt.Sprintf("exec '%s' worker --recipe '%s'", strings.ReplaceAll(program, "'", `'\''`), recipe), err
}

// startWorkers lets clients run in processes of their own, observed over a connection of this process.
func (r *LiveCmd) startWorkers(all *clients, command string, out *output.Folder, way reach.Access, servers string) error {
	observer, err := OpenSession(all.ctx, way, servers, false)
	if err != nil {
		return err
	}
	stderr, err := out.Create(stderrName)
	if err != nil {
		observer.Close()
		return err
	}
	ctx, cancel := context.WithCancelCause(all.ctx)
	all.ctx = ctx
	cfg := worker.Config{Command: command, Kind: r.Kind, SessionTimeout: LiveSession,
		Stderr: &boundedLog{out: stderr, left: stderrMax}, Fail: cancel}
	all.start = func(ctx context.Context) (*live.Session, error) {
		return openWorker(ctx, cfg, way, servers, observer)
	}
	all.close = func() {
		cancel(nil)
		observer.Close()
		stderr.Close()
	}
	return nil
}

// failed is the error of a worker that failed permanently, or nil.
func (l *clients) failed() error {
	if cause := context.Cause(l.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// openWorker starts a worker behind a link, which injects faults and knows its sessions.
func openWorker(ctx context.Context, cfg worker.Config, way reach.Access, servers string, observer *live.Session) (*live.Session,
	error) {
	between, err := newLink(way, servers)
	if err != nil {
		return nil, err
	}
	cfg.Servers, cfg.Way = between.Addr(), between
	process, err := worker.Start(ctx, cfg)
	if err != nil {
		between.Close()
		return nil, err
	}
	session := live.RemoteSession(process, observer.Conn)
	session.Link = between
	end := session.Close
	session.Close = func() {
		end()
		between.Close()
	}
	return session, nil
}

// stderrName is the file of the workers' standard error.
const stderrName = "workers.log"

// stderrMax bounds stderrName, in bytes: far more than a healthy worker writes.
const stderrMax = 16 << 20

// boundedLog keeps the first left bytes written to it. It is safe for concurrent use.
type boundedLog struct {
	mu   sync.Mutex
	out  io.Writer
	left int
}

// Write implements [io.Writer]. It drops what exceeds the limit, and notes that once.
func (l *boundedLog) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left < 0 {
		return len(data), nil
	}
	some := data[:min(len(data), l.left)]
	if l.left -= len(data); l.left < 0 {
		some = fmt.Appendf(slices.Clone(some),
			"\ntorture: workers have written more than %d bytes: the rest is not kept\n", stderrMax)
	}
	if _, err := l.out.Write(some); err != nil {
		return 0, err
	}
	return len(data), nil
}
