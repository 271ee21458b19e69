// Standin takes the place of a ZooKeeper server's process in the test suites of client libraries, which start servers
// themselves: by zkServer.sh, or by java with the class QuorumPeerMain.
//
//	standin [start-foreground] [java's arguments] zoo.cfg
//
// The members of one ensemble are processes of their own there. All of them find one coordinator, which is started by the
// first, serves all ports, and takes a process's end for the death of its member.
package main

import (
	"bufio"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/server"
)

// joining is what a member tells the coordinator.
type joining struct {
	Member int    // from 0
	Port   string // of clients
}

// ensemble is what all members' configurations agree on.
type ensemble struct {
	Members                int
	Tick                   int64
	MinSession, MaxSession int64
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 && args[0] == "-coordinate" {
		var e ensemble
		if err := json.Unmarshal([]byte(args[2]), &e); err != nil {
			return err
		}
		return coordinate(args[1], e)
	}
	if len(args) == 0 {
		return fmt.Errorf("the configuration is missing")
	}
	return join(args[len(args)-1])
}

// join lives as long as the process of a member does.
func join(path string) error {
	cfg, err := readConfig(path)
	if err != nil {
		return err
	}
	e, me, socket := cfg.ensemble()
	c, err := reach(socket, e)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(me); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// config is a zoo.cfg.
type config map[string]string

func readConfig(path string) (config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cfg := config{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if ok && !strings.HasPrefix(key, "#") {
			cfg[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return cfg, nil
}

func (c config) number(key string) int64 {
	n, _ := strconv.ParseInt(c[key], 10, 64)
	return n
}

// ensemble tells of which ensemble it is a member, which one, and where its coordinator is. Suites give the members of one ensemble
// directories of their own, so that it is known by its members' addresses and by the process that starts them.
func (c config) ensemble() (e ensemble, me joining, socket string) {
	var members []string
	for key, value := range c {
		if strings.HasPrefix(key, "server.") {
			address, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(value, ":participant"), ":observer"), ";")
			members = append(members, key+"="+address)
		}
	}
	slices.Sort(members)
	name := fmt.Sprint(os.Getppid(), members)
	if len(members) == 0 {
		name = c["dataDir"]
	}
	e = ensemble{Members: max(len(members), 1), Tick: c.number("tickTime"), MinSession: c.number("minSessionTimeout"), MaxSession: c.number("maxSessionTimeout")}
	me.Port = c["clientPort"]
	if id, err := os.ReadFile(filepath.Join(c["dataDir"], "myid")); err == nil && len(members) > 0 {
		number, _ := strconv.Atoi(strings.TrimSpace(string(id)))
		me.Member = number - 1
	}
	return e, me, filepath.Join(os.TempDir(), fmt.Sprintf("standin-%x.sock", sha1.Sum([]byte(name))))
}

// reach connects to the coordinator, and starts it if there is none.
func reach(socket string, e ensemble) (net.Conn, error) {
	c, err := net.Dial("unix", socket)
	for try := 0; err != nil && try < 200; try++ {
		if try%40 == 0 {
			if err := start(socket, e); err != nil {
				return nil, err
			}
		}
		time.Sleep(20 * time.Millisecond)
		c, err = net.Dial("unix", socket)
	}
	return c, err
}

func start(socket string, e ensemble) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-coordinate", socket, string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// idleMax is how long the coordinator outlives the last of its members: they may come back.
const idleMax = time.Minute

// coordinator serves the members whose processes live.
type coordinator struct {
	server *server.Server
	mu     sync.Mutex
	alive  int
	idle   *time.Timer
}

func coordinate(socket string, e ensemble) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil // another one was faster
	}
	servers, err := server.New(server.Config{Ensemble: fakezk.Config{
		Replicas: e.Members, Tick: e.Tick, MinSession: e.MinSession, MaxSession: e.MaxSession, TTL: true, ReapInterval: 1000, Order: 1,
		Super: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
	}})
	if err != nil {
		return err
	}
	c := &coordinator{server: servers}
	for i := range e.Members {
		c.server.Kill(i)
	}
	c.idle = time.AfterFunc(idleMax, func() { l.Close() })
	for {
		member, err := l.Accept()
		if err != nil {
			return c.server.Close()
		}
		go c.serve(member)
	}
}

// serve is one member's life.
func (c *coordinator) serve(process net.Conn) {
	defer process.Close()
	var me joining
	if err := json.NewDecoder(process).Decode(&me); err != nil {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+me.Port)
	for try := 0; err != nil && try < 100; try++ { // its life before has just ended
		time.Sleep(20 * time.Millisecond)
		l, err = net.Listen("tcp", "127.0.0.1:"+me.Port)
	}
	if err != nil {
		fmt.Fprintln(process, err)
		return
	}
	c.count(+1)
	c.server.Restart(me.Member)
	go c.server.Serve(me.Member, l)
	io.Copy(io.Discard, process) // until it dies
	l.Close()
	c.server.Kill(me.Member)
	c.count(-1)
}

func (c *coordinator) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.alive += n; c.alive == 0 {
		c.idle.Reset(idleMax)
	} else {
		c.idle.Stop()
	}
}
