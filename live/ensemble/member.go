package ensemble

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/zktorture/zktorture/internal/proc"
	"github.com/zktorture/zktorture/live/ensemble/quorum"
)

// Member is a server of an ensemble: a folder, three ports, and a process while it runs. Its methods may be called
// from several goroutines.
type Member struct {
	ensemble *Ensemble
	index    int
	dir      string
	ports    ports
	address  string         // for clients
	pipes    []*quorum.Pipe // by other member: to the quorum port

	mu      sync.Mutex
	process *process        // nil before the first start
	awake   context.Context // ends when the server is paused
	doze    context.CancelFunc
	retired bool // the ensemble has been stopped
}

// Address is where clients reach the member, "127.0.0.1:…". It stays the same over restarts.
func (m *Member) Address() string { return m.address }

// Pid returns the process id of the server, false if it does not run.
func (m *Member) Pid() (int, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running() {
		return 0, false
	}
	return m.process.cmd.Process.Pid, true
}

// Log returns the path of the server's log, which restarts append to.
func (m *Member) Log() string { return filepath.Join(m.dir, "server.log") }

// Status asks the server for its role. It fails if the server does not answer, as when it is
// paused, or is not part of a majority.
func (m *Member) Status(ctx context.Context) (Status, error) {
	status, err := m.status(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("ensemble: %v: %w", m, err)
	}
	return status, nil
}

// ask asks the server a four-letter word. It does not wait for a paused server, which accepts
// connections and never answers.
func (m *Member) ask(ctx context.Context, word string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.mu.Lock()
	awake := m.awake
	m.mu.Unlock()
	defer context.AfterFunc(awake, func() { cancel(errPaused) })()
	answer, err := fourLetter(ctx, m.address, word)
	if err != nil && context.Cause(ctx) == errPaused {
		return "", errPaused
	}
	return answer, err
}

var errPaused = errors.New("is paused")

// String names the member as ZooKeeper's configuration does: "server.1" is number 0.
func (m *Member) String() string { return "server." + strconv.Itoa(m.index+1) }

// Kill ends the server with SIGKILL and returns when it is gone; it does nothing if the server does not run. Clients
// see broken connections; sessions live on if a majority is left.
func (m *Member) Kill() error { return m.end("kill", syscall.SIGKILL) }

// Stop ends the server with SIGTERM, resuming a paused one, and returns when it is gone; it does nothing if it does
// not run.
func (m *Member) Stop() error { return m.end("stop", syscall.SIGTERM, proc.Continue) }

func (m *Member) end(verb string, signals ...syscall.Signal) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.running() {
		return nil
	}
	m.ensemble.options.Log("%s %v", verb, m)
	m.setAwake(true)
	return m.process.end(signals...)
}

// Pause stops the server with SIGSTOP: its connections stay open, the kernel accepts new ones, and nothing is
// answered. It is an error if the server does not run.
func (m *Member) Pause() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.setPaused("pause", proc.Stop, true)
}

// Resume continues a paused server with SIGCONT. It is an error if the server does not run.
func (m *Member) Resume() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.setPaused("resume", proc.Continue, false)
}

// setPaused needs m.mu.
func (m *Member) setPaused(verb string, s syscall.Signal, paused bool) error {
	if !m.running() {
		return fmt.Errorf("ensemble: cannot %s %v: it does not run", verb, m)
	}
	m.ensemble.options.Log("%s %v", verb, m)
	if err := m.process.signal(s); err != nil {
		return err
	}
	m.setAwake(!paused)
	return nil
}

// setAwake notes that the server is paused, or that it goes on. It needs m.mu.
func (m *Member) setAwake(awake bool) {
	m.doze()
	if awake {
		m.awake, m.doze = context.WithCancel(context.Background())
	}
}

// Paused reports whether the server runs and is paused.
func (m *Member) Paused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running() && m.awake.Err() != nil
}

// Restart starts a server that was killed or stopped, with its old data and ports, and returns when it serves, which
// takes a majority. To restore a lost majority call [Member.Launch] on several members and then [Ensemble.WaitServing].
func (m *Member) Restart(ctx context.Context) error {
	if err := m.Launch(); err != nil {
		return err
	}
	return m.WaitServing(ctx)
}

// Launch is Restart without waiting. It is an error if the server runs.
func (m *Member) Launch() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running() {
		return fmt.Errorf("ensemble: cannot start %v: it runs already; kill or stop it first", m)
	}
	return m.launch()
}

// launch starts the server, which does not run. It needs m.mu.
func (m *Member) launch() error {
	if m.retired {
		return fmt.Errorf("ensemble: cannot start %v: the ensemble has been stopped", m)
	}
	m.ensemble.options.Log("start %v", m)
	classpath := strings.Join(m.ensemble.jars, string(os.PathListSeparator))
	cmd := exec.Command(m.ensemble.java, append([]string{"-cp", classpath}, m.ensemble.options.arguments(m.dir)...)...)
	started, err := launch(cmd, m.dir)
	if err != nil {
		return err
	}
	m.process = started
	m.setAwake(true)
	return nil
}

var (
	errEnded     = errors.New("has ended")
	errPortTaken = errors.New("found one of its ports taken by another process")
)

// WaitServing returns when the server serves clients. It gives up when the process ends, when ctx ends, or after
// [Options.StartTimeout]; the error has the end of the server's log.
func (m *Member) WaitServing(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.ensemble.options.StartTimeout)
	defer cancel()
	life := m.life()
	if life == nil {
		return fmt.Errorf("ensemble: %v was never started", m)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-life.ended:
			stop(life.why())
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, func() error { return m.serving(ctx, life, stop) })
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		err = cause
	}
	return fmt.Errorf("ensemble: %v at %s does not serve: %w; %s", m, m.address, err, life.tail())
}

// serving is nil if the server serves. It calls giveUp when that can no longer happen.
func (m *Member) serving(ctx context.Context, life *process, giveUp context.CancelCauseFunc) error {
	if life.portTaken() {
		giveUp(errPortTaken)
	}
	if _, err := m.status(ctx); err != nil {
		return err
	}
	dir, err := m.dataDir(ctx)
	if err != nil {
		return err
	}
	if !isWithin(dir, m.dir) { // a stranger has taken the port; ours will notice and end
		return fmt.Errorf("another ZooKeeper, with its data in %q, has its port", dir)
	}
	return nil
}

func isWithin(path, dir string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(relative)
}

func (m *Member) life() *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.process
}

// running needs m.mu.
func (m *Member) running() bool { return m.process != nil && m.process.alive() }

// retire kills the server for good and closes its pipes.
func (m *Member) retire() error {
	m.mu.Lock()
	m.retired = true
	m.mu.Unlock()
	err := m.Kill()
	for _, p := range m.pipes {
		if p != nil {
			p.Close()
		}
	}
	return err
}

func newMember(e *Ensemble, i int, p ports) *Member {
	return &Member{
		ensemble: e,
		index:    i,
		dir:      filepath.Join(e.folder.Path, "s"+strconv.Itoa(i+1)),
		ports:    p,
		address:  addressOf(p.client),
		awake:    context.Background(),
		doze:     func() {},
	}
}
