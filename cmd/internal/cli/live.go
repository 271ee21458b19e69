package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/cmd/internal/cli/reach"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

// LiveCmd tests on servers.
type LiveCmd struct {
	Kind     string        `arg:"" help:"The kind of recipe to test: see torture list." enum:"${kinds}"`
	Start    int           `placeholder:"NUMBER" help:"Start 1, 3 or 5 ZooKeeper servers on this machine (Java is needed), and stop them at the end." range:"1,3,5"`
	Serve    int           `placeholder:"NUMBER" help:"Start 1, 3 or 5 servers such as torture serve has, in memory: no Java is needed." range:"1,3,5"`
	Servers  string        `placeholder:"A:2181,…" help:"Use your servers, at these addresses, perhaps with a /chroot. They are never harmed: faults hit clients only."`
	Root     string        `placeholder:"PATH" help:"With --servers: a znode to be made, below which all others are. It must not exist, and is removed at the end. Default: a new one."`
	Faults   liveFaults    `default:"all" placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out. Default: every fault that these servers can have."`
	Episodes int           `help:"The number of episodes. Default: as many as --duration allows." range:"1.."`
	Duration time.Duration `help:"How long to run. Default: 30s, or until --episodes are done." range:">0"`
	Trial    `embed:""`

	reach.AccessFlags `embed:""`

	nodes   int          // of servers: those of the user are taken for three
	may     strike.Set   // strike …
	servers live.Servers // … these, or nil
}

func (r *LiveCmd) Rules() []console.Rule {
	return append(r.AccessFlags.Rules(),
		console.When(r.Servers != "", "root auth tls-ca tls-key tls-cert tls-server-name", "needs --servers"),
		console.When(r.Servers == "", "start serve", "cannot be used with --servers"),
		console.When(r.Start == 0, "serve", "cannot be used with --start"))
}

func (r *LiveCmd) Run(c *console.Context) error {
	if err := r.where(c); err != nil {
		return err
	}
	w, err := r.Find(r.Kind)
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.Recipe, worker.Foreign) && r.Auth != "" {
		return fmt.Errorf("a recipe that another program serves does not support --auth: leave it out")
	}
	if r.may, err = r.faults(w); err != nil {
		return err
	}
	begin := index.Begin{Workload: r.Kind, Faults: r.Faults.text, Episodes: r.Episodes,
		Duration: r.Duration.Seconds(), Nodes: cmp.Or(r.Start, r.Serve)}
	on := map[string]func(*console.Context, *workload.Workload, *output.Folder) error{
		"serve": r.onServed, "ensemble": r.onEnsemble, "live": r.onLive}[r.backend]
	return r.Within(c, begin, func(out *output.Folder) error { return on(c, w, out) })
}

// where says on which servers to run.
func (r *LiveCmd) where(c *console.Context) error {
	r.strategy, r.nodes = "random", cmp.Or(r.Start, r.Serve, 3)
	switch {
	case r.Start > 0:
		r.backend = "ensemble"
	case r.Serve > 0:
		r.backend = "serve"
	case r.Servers != "":
		r.backend = "live"
	default:
		return fmt.Errorf("say on which servers: %s live %s --start 3 starts three here, which needs Java; --serve 3 needs none; "+
			"--servers A:2181,… are yours", c.Self, r.Kind)
	}
	return nil
}

// onEnsemble runs on real servers that are started for it, and stopped.
func (r *LiveCmd) onEnsemble(c *console.Context, w *workload.Workload, out *output.Folder) error {
	e, err := ensemble.Start(c, ensemble.Options{Nodes: r.nodes})
	if err != nil {
		return err
	}
	defer e.Stop()
	r.Root, r.servers = "/zktorture", e
	way := reach.Access{Alone: e.Alone()}
	return r.onServers(c, w, out, way, e.ConnectString(), "")
}

// onLive runs on the user's servers.
func (r *LiveCmd) onLive(c *console.Context, w *workload.Workload, out *output.Folder) error {
	addresses, chroot, err := zkclient.ParseServers(r.Servers)
	if err != nil {
		return err
	}
	way, err := r.Read()
	if err != nil {
		return err
	}
	way.Alone, way.Tell = notKnown, teller(c)
	r.Root = cmp.Or(r.Root, NewRoot())
	if _, err := rootBelow(chroot, r.Root); err != nil {
		return err
	}
	return r.onServers(c, w, out, way, strings.Join(addresses, ","), chroot)
}

// NewRoot is a root that no other run has.
func NewRoot() string { return fmt.Sprintf("/zktorture-%d-%d", os.Getpid(), time.Now().UnixNano()) }

// Session timeouts on real servers, the timeout of the first session, and the duration of a run.
const (
	// how long the user's servers answer after losing the others
	notKnown = -1

	LiveSession  = 2 * time.Second
	liveDuration = 30 * time.Second // of a run, by default

	workersMax = 8                // rounds that run concurrently
	patience   = 10 * time.Second // an operation that waits for longer, without faults, waits for ever
)

func (r *LiveCmd) onServers(c *console.Context, w *workload.Workload, out *output.Folder, way reach.Access, servers,
	chroot string) error {
	history, err := out.Create(index.HistoryName)
	if err != nil {
		return err
	}
	defer history.Close()
	strikes, err := out.Create(output.StrikesName)
	if err != nil {
		return err
	}
	defer strikes.Close()
	clients, err := r.clients(c, out, way, servers)
	if err != nil {
		return err
	}
	defer clients.close()
	root, err := rootBelow(chroot, r.Root)
	if err != nil {
		return err
	}
	bar := output.NewBar(c, r.JSON, r.Episodes, cmp.Or(r.Duration, liveDuration))
	cfg := r.config()
	cfg.Root, cfg.Servers, cfg.Workers, cfg.Patience = root, r.servers, workersMax, patience
	cfg.Open, cfg.Start, cfg.Processes = clients.open, clients.start, clients.starts
	cfg.Admin = func(ctx context.Context) (*live.Session, error) { return OpenSession(ctx, way, servers, false) }
	cfg.History, cfg.Strikes, cfg.Progress = history, strikes, bar.Show
	result, err := live.Run(clients.ctx, w, cfg)
	bar.Line.End()
	if err := cmp.Or(clients.failed(), err); err != nil {
		if result.Episodes == 0 {
			return err
		}
		unfinished(&result, err)
		fmt.Fprintf(c.Stderr, "torture: %v\n", err)
	}
	result.Asked = r.Episodes
	return r.report(c, w, out, result, out.Histories(result))
}

// unfinished notes that a run could not be finished. A violation stands; no violation is no pass.
func unfinished(r *sim.Result, err error) {
	if r.Verdict == sim.VerdictOK {
		r.Verdict, r.Reason = sim.VerdictUnknown, fmt.Sprintf("%v; no violation in the %s before", err,
			console.Count(r.Episodes, "episode"))
	}
}

// teller tells once what is waited for.
func teller(c *console.Context) func(text string) {
	var once sync.Once
	return func(text string) { once.Do(func() { fmt.Fprintln(c.Stderr, "torture: "+text) }) }
}

// rootBelow returns the path of a root on the servers.
func rootBelow(chroot, root string) (string, error) {
	if !strings.HasPrefix(root, "/") || path.Clean(root) != root || root == "/" {
		return "", fmt.Errorf("--root %q: a clean absolute path below / is needed", root)
	}
	return path.Join("/", chroot, root), nil
}

// config is the configuration that a run on real servers shares with its plan.
func (r *LiveCmd) config() live.Config {
	return live.Config{
		Seed: *r.Seed, Rounds: r.Episodes, Duration: r.Duration, Clients: r.Clients, Ops: r.Ops,
		Faults: r.may, Nodes: r.nodes, Timeout: LiveSession,
	}
}

// OpenSession opens a session and waits for it, through a link if there are faults.
func OpenSession(ctx context.Context, way reach.Access, servers string, linked bool) (*live.Session, error) {
	session, address := &live.Session{}, servers
	if linked {
		between, err := newLink(way, servers)
		if err != nil {
			return nil, err
		}
		session.Link, address = between, between.Addr()
		way.Dial = nil // the link does
	}
	conn, err := way.Open(ctx, address, LiveSession, counting(session))
	if err != nil {
		closeLink(session.Link)
		if linked {
			err = fmt.Errorf("%s: %w", servers, err)
		}
		return nil, err
	}
	session.Conn = recipes.WithEvents(conn, conn.Events())
	session.Close = func() {
		conn.Close()
		closeLink(session.Link)
	}
	return session, nil
}

// counting makes a session count its losses, from its client's events.
func counting(s *live.Session) (onEvent func(zk.Event)) {
	var told, broken atomic.Int64
	s.ExpiriesSeen = func() int { return int(told.Load()) }
	s.Broken = func() int { return int(broken.Load()) }
	return func(e zk.Event) {
		switch {
		case e.Type != zk.EventSession:
		case e.State == zk.StateExpired:
			told.Add(1)
		case e.State == zk.StateDisconnected:
			broken.Add(1)
		}
	}
}

func closeLink(l live.Link) {
	if c, ok := l.(io.Closer); ok {
		c.Close()
	}
}

// newLink puts a link before servers.
func newLink(way reach.Access, servers string) (*chaosproxy.Link, error) {
	return chaosproxy.NewLink(chaosproxy.LinkConfig{Servers: strings.Split(servers, ","), Dial: proxy.Dialer(way.Dial),
		Alone: way.Alone})
}
