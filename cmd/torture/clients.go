package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/worker"
	"github.com/zktorture/zktorture/workload"
)

// clients are the clients of a run on real servers: of this process, or processes of their own.
type clients struct {
	open  func(context.Context) (*workload.Session, error)
	ctx   context.Context // ends when a worker has failed for good
	close func()
	most  int // rounds at a time; 0: as many as there are otherwise
}

// clients makes them ready. A recipe that another program serves has a process for each client, and a
// connection of this process that looks on.
func (r *runCmd) clients(c *commandContext, out *output, way access, servers string) (*clients, error) {
	command, foreign := strings.CutPrefix(r.Recipe, workload.Foreign)
	if !foreign {
		open := func(ctx context.Context) (*workload.Session, error) {
			return openSession(ctx, way, servers, r.faults())
		}
		return &clients{open: open, ctx: c, close: func() {}}, nil
	}
	observer, err := openSession(c, way, servers, sim.NoFaults)
	if err != nil {
		return nil, err
	}
	stderr, err := out.stderr()
	if err != nil {
		observer.Close()
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(c)
	cfg := worker.Config{Command: command, Kind: r.Workload, SessionTimeout: liveSession, Stderr: stderr, Fail: cancel}
	all := &clients{ctx: ctx, most: foreignRounds}
	all.open = func(ctx context.Context) (*workload.Session, error) {
		return openWorker(ctx, cfg, way, servers, r.faults(), observer)
	}
	all.close = func() {
		cancel(nil)
		observer.Close()
		stderr.Close()
	}
	return all, nil
}

// foreignRounds is how many rounds with workers are under way at a time: each client is a process.
const foreignRounds = 2

func (l *clients) lanes(otherwise int) int {
	if l.most > 0 {
		return l.most
	}
	return otherwise
}

// failed is why nothing more could be done with a worker, nil if none has failed.
func (l *clients) failed() error {
	if cause := context.Cause(l.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// openWorker starts a worker, behind a link where faults may strike.
func openWorker(ctx context.Context, cfg worker.Config, way access, servers string, faults sim.Faults, observer *workload.Session) (*workload.Session, error) {
	var between workload.Link
	cfg.Servers = servers
	if faults != sim.NoFaults {
		l, err := newLink(way, servers)
		if err != nil {
			return nil, err
		}
		between, cfg.Servers = l, l.Addr()
	}
	process, err := worker.Start(ctx, cfg)
	if err != nil {
		closeLink(between)
		return nil, err
	}
	session := workload.RemoteSession(process, observer.Conn)
	session.Link = between
	end := session.Close
	session.Close = func() {
		end()
		closeLink(between)
	}
	return session, nil
}

// stderrName is the file with what workers wrote to their standard error.
const stderrName = "workers.log"

// stderr opens the file for it.
func (o *output) stderr() (io.WriteCloser, error) {
	if !o.named {
		return nopCloser{io.Discard}, nil
	}
	file, err := os.OpenFile(filepath.Join(o.dir, stderrName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &inTurnWriter{file: file}, nil
}

// inTurnWriter takes writes from several goroutines.
type inTurnWriter struct {
	mu   sync.Mutex
	file *os.File
}

func (w *inTurnWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.file.Write(data)
}

func (w *inTurnWriter) Close() error { return w.file.Close() }
