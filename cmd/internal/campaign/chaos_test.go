package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/internal/version"
)

// chaosPlan has a broken recipe, whose failures are minimised, and enough units for so many strikes.
func chaosPlan(strikes int) string {
	return fmt.Sprintf(`"jobs": [{"kinds": ["lock"], "recipes": ["ours"], "strategies": ["mix", "patterns"]},
		{"kinds": ["queue"], "recipes": ["ours", "published/DistributedQueue"]}], "unit": 5, "canary": "none", "episodes": %d`, 40+20*strikes)
}

// chaos is a campaign whose processes are killed.
type chaos struct {
	*testing.T
	plan, dir string
	server    string // the folder of a server apart; "": it is the coordinator's
	port      string // of that server
	processes map[string]*process
	joins     []string // how workers join
}

// Whatever is killed, together or apart, at random moments: the report is what one process reports, byte for byte.
func TestKilled(t *testing.T) {
	t.Parallel()
	strikes := 2
	if testkit.Thorough() {
		strikes = 20
	}
	for name, apart := range map[string]bool{"server within": false, "server apart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			c := begin(t, chaosPlan(strikes), apart)
			for range strikes {
				c.done(1 + random.IntN(8))
				var struck []string
				for name := range c.processes {
					if random.IntN(2) == 0 {
						struck = append(struck, name)
					}
				}
				if len(struck) == 0 {
					struck = []string{"coordinator"}
				}
				c.strike(struck...)
			}
			c.end()
		})
	}
}

// begin starts a campaign with two workers.
func begin(t *testing.T, plan string, apart bool) *chaos {
	t.Helper()
	c := &chaos{T: t, plan: planIn(t, plan), dir: filepath.Join(t.TempDir(), "c"), processes: map[string]*process{}}
	if apart {
		c.server, c.port = t.TempDir(), freePort(t)
		c.start("server")
	}
	c.start("coordinator")
	c.joins = strings.Fields(strings.TrimPrefix(c.processes["coordinator"].word("More workers: "), "torture "))
	for _, name := range []string{"worker 1", "worker 2"} {
		c.start(name)
	}
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	l := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// start starts a process by its name.
func (c *chaos) start(name string) {
	c.Helper()
	args := append(c.joins, "--workers", "1")
	switch name {
	case "server":
		args = []string{"nats", c.server, c.port}
	case "coordinator":
		args = []string{"campaign", "start", c.plan, "--dir", c.dir, "--workers", "0"}
		if c.server != "" {
			args = append(args, "--nats", "nats://127.0.0.1:"+c.port)
		}
	}
	c.processes[name] = start(c.T, args...)
}

// strike kills processes, all at once, and then starts them again.
func (c *chaos) strike(names ...string) {
	c.Helper()
	c.Logf("%v are killed", names)
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(c.processes[name].kill)
	}
	all.Wait()
	for _, name := range names {
		c.start(name)
	}
}

// done waits until so many units more are done, or all.
func (c *chaos) done(more int) {
	c.Helper()
	begin := -1
	until(c.T, "units are done", func() bool {
		now := c.processes["coordinator"].metric("units_done")
		if begin < 0 {
			begin = now
		}
		return begin >= 0 && now >= begin+more || now > 0 && now == c.processes["coordinator"].metric("units")
	})
}

// end waits for the end of all, and compares.
func (c *chaos) end() {
	c.Helper()
	c.processes["coordinator"].exit(1)
	for _, name := range []string{"worker 1", "worker 2"} {
		c.processes[name].exit(0)
	}
	isOneMachines(c.T, c.dir)
}

// What a worker had that is cut off from the server is done by another; when it is back it puts its results, too, which
// are compared and counted once.
func TestCutOff(t *testing.T) {
	t.Parallel()
	cut := 3 * ackWait
	if testkit.Thorough() {
		cut = time.Minute
	}
	c := begin(t, chaosPlan(2), false)
	for _, name := range []string{"worker 1", "worker 2"} {
		c.processes[name].kill()
	}
	direct := c.joins[2]
	address := strings.TrimPrefix(direct[:strings.LastIndex(direct, "/")], "nats://")
	p := newProxy(t, address)
	c.joins[2] = strings.Replace(direct, address, p.Addr().String(), 1)
	c.start("worker 1")
	c.done(1)
	p.cut()
	time.Sleep(cut) // what goes wrong is that nothing passes for so long
	c.joins[2] = direct
	c.start("worker 2")
	c.done(2)
	p.heal()
	c.end()
}

// proxy is a connection between a worker and its server that can be cut without either being told.
type proxy struct {
	net.Listener
	mu    sync.Mutex
	open  *sync.Cond
	whole bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{Listener: must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), whole: true}
	p.open = sync.NewCond(&p.mu)
	t.Cleanup(func() { p.heal(); p.Close() })
	go func() {
		for {
			in, err := p.Accept()
			if err != nil {
				return
			}
			go func() {
				p.pass()
				out, err := net.Dial("tcp", to)
				if err != nil {
					in.Close()
					return
				}
				go p.copy(in, out)
				p.copy(out, in)
			}()
		}
	}()
	return p
}

// copy passes on what is read, as long as the proxy is whole.
func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for buffer := make([]byte, 1<<16); ; {
		n, err := from.Read(buffer)
		p.pass()
		if _, wrote := to.Write(buffer[:n]); err != nil || wrote != nil {
			return
		}
	}
}

// pass waits until something may pass.
func (p *proxy) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.whole {
		p.open.Wait()
	}
}

func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = false
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.whole = true
	p.open.Broadcast()
}

// zeros are endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// When the disk is full the campaign says so and waits. Once there is room it goes on, and nothing is lost.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	unmount, err := smallDisk(disk)
	if err != nil {
		t.Skipf("no disk of a known size can be made: %v", err)
	}
	t.Cleanup(unmount)
	dir := filepath.Join(disk, "c")
	p := start(t, "campaign", "start", planIn(t, chaosPlan(2)), "--dir", dir, "--workers", "2")
	for round := range 2 {
		until(t, "units are done", func() bool { return p.metric("units_done") > 5+10*round })
		name := filepath.Join(disk, "full")
		f := must[*os.File](t)(os.Create(name))
		_, err := io.Copy(f, zeros{})
		f.Close()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk is not full: %v", err)
		}
		until(t, "it says that the disk is full", func() bool { return strings.Count(p.said.String(), "the disk is full") > round })
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		until(t, "it goes on", func() bool { return strings.Count(p.said.String(), "It goes on") > round })
	}
	p.exit(1)
	isOneMachines(t, dir)
}

// A server that has lost a task, or all, is asked again.
func TestLostTasks(t *testing.T) {
	t.Parallel()
	p := must[*Plan](t)(plan(t, `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "unit": 5, "canary": "none", "episodes": 20`).Record(version.Sum(), nil))
	e := &embedded{dir: t.TempDir()}
	l := &leader{dir: folder(e.dir), access: access{url: "nats://within", within: e}, server: e, id: "x", plan: p, say: func(string) {}}
	defer e.close()
	lost := make(chan struct{})
	l.opened = func() {
		go func() {
			defer close(lost)
			for l.now().State != Running || l.q == nil {
				time.Sleep(10 * time.Millisecond)
			}
			until(t, "tasks are asked for", func() bool {
				info, err := l.q.stream.Info(context.Background())
				return err == nil && info.State.Msgs == 4
			})
			if err := l.q.stream.Purge(context.Background()); err != nil {
				t.Error(err)
			}
			go func() {
				if err := l.work(t.Context(), 1); err != nil && !errors.Is(err, errEnded) && t.Context().Err() == nil {
					t.Error(err)
				}
			}()
		}()
	}
	r, err := l.lead(t.Context())
	if <-lost; err != nil || len(r.Unknown) > 0 || r.Jobs[0].Episodes != 20 {
		t.Errorf("%v: %+v", err, r)
	}
}
