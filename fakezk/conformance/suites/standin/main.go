// Standin replaces the ZooKeeper server process in test suites of client libraries that start servers by zkServer.sh,
// or by java with the class QuorumPeerMain.
//
//	standin [start-foreground] [java's arguments] zoo.cfg
//
// Each member of an ensemble is a process, which passes the connections of its port on to a coordinator that the first
// one starts. So the end of a process closes its connections, as that of a real server does.
package main

import (
	"bufio"
	"cmp"
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// joining is the first line that a member sends the coordinator on a connection.
type joining struct {
	Member int    // from 0
	Client string // the address of the client that it connects; "": the connection stands for the member's process
}

// ensemble is the common part of all members' configurations.
type ensemble struct {
	Servers                []string // "server.1=…" each; empty for a standalone server
	Tick                   int64
	MinSession, MaxSession int64
	Super                  string
	Users                  map[string]string
	Reconfig, ReadOnly     bool
	EnforceQuota           bool
}

func (e ensemble) members() int { return max(len(e.Servers), 1) }

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
	return join(args[len(args)-1], properties(args))
}

// properties are Java's system properties, from arguments or the environment of zkServer.sh, without ZooKeeper's
// prefix.
func properties(args []string) config {
	found := config{}
	flags := slices.Concat(strings.Fields(os.Getenv("JVMFLAGS")), strings.Fields(os.Getenv("SERVER_JVMFLAGS")), args)
	for _, flag := range flags {
		if key, value, ok := strings.Cut(strings.TrimPrefix(flag, "-D"), "="); ok && strings.HasPrefix(flag, "-D") {
			found[strings.TrimPrefix(key, "zookeeper.")] = value
		}
	}
	return found
}

// join runs as long as a member's process.
func join(path string, properties config) error {
	cfg, err := readConfig(path)
	if err != nil {
		return err
	}
	maps.Copy(cfg, properties)
	e, me := cfg.ensemble()
	if e.Users, err = readUsers(cfg["java.security.auth.login.config"]); err != nil {
		return err
	}
	c, err := reach(cfg.socket(e), e)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(me); err != nil {
		return err
	}
	if _, err := c.Read(make([]byte, 1)); err != nil { // the member serves
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+cfg["clientPort"])
	if err != nil {
		return err
	}
	defer l.Close()
	go accept(l, cfg.socket(e), me)
	_, err = io.Copy(io.Discard, c) // until the coordinator ends
	return err
}

// accept passes clients on to the coordinator.
func accept(l net.Listener, socket string, me joining) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go forward(client, socket, joining{me.Member, client.RemoteAddr().String()})
	}
}

func forward(client net.Conn, socket string, as joining) {
	defer client.Close()
	c, err := net.Dial("unix", socket)
	if err != nil {
		return
	}
	defer c.Close()
	if err := json.NewEncoder(c).Encode(as); err != nil {
		return
	}
	go func() {
		io.Copy(c, client)
		c.Close()
	}()
	io.Copy(client, c)
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

var jaasUser = regexp.MustCompile(`user_([^\s=]+)\s*=\s*"([^"]*)"`)

// readUsers reads the DIGEST-MD5 users from a JAAS configuration; nil if it has none or there is no path.
func readUsers(path string) (users map[string]string, err error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, found := range jaasUser.FindAllStringSubmatch(string(text), -1) {
		if users == nil {
			users = map[string]string{}
		}
		users[found[1]] = found[2]
	}
	return users, nil
}

func (c config) number(key string) int64 {
	n, _ := strconv.ParseInt(c[key], 10, 64)
	return n
}

// ensemble returns the ensemble and this member of it.
func (c config) ensemble() (e ensemble, me joining) {
	ids := c.ids()
	e = ensemble{
		Tick:       c.number("tickTime"),
		MinSession: c.number("minSessionTimeout"), MaxSession: c.number("maxSessionTimeout"),
		Super: c["DigestAuthenticationProvider.superDigest"], Reconfig: c["reconfigEnabled"] == "true",
		ReadOnly: c["readonlymode.enabled"] == "true", EnforceQuota: c["enforceQuota"] == "true",
	}
	for _, id := range ids {
		address, _, _ := strings.Cut(c["server."+id], ";")
		e.Servers = append(e.Servers, "server."+id+"="+address)
	}
	if id, err := os.ReadFile(filepath.Join(c["dataDir"], "myid")); err == nil {
		me.Member = max(slices.Index(ids, strings.TrimSpace(string(id))), 0)
	}
	return e, me
}

// socket is the coordinator's address. Members of one ensemble may have different directories, so it is named by their
// configuration and the parent process.
func (c config) socket(e ensemble) string {
	name := fmt.Sprint(os.Getppid(), e)
	if len(e.Servers) == 0 {
		name = c["dataDir"]
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("standin-%x.sock", sha1.Sum([]byte(name))))
}

// ids are the numbers of the members, in order.
func (c config) ids() (ids []string) {
	for key := range c {
		if id, ok := strings.CutPrefix(key, "server."); ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return ids
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
	cmd.SysProcAttr = posix.OwnSession()
	return cmd.Start()
}

// idleMax is how long the coordinator outlives its last member, which may restart.
const idleMax = time.Minute

// coordinator serves the members with a live process.
type coordinator struct {
	server  *server.Server
	members []sync.Mutex // held by the process of a member
	mu      sync.Mutex
	alive   int
	idle    *time.Timer
}

func coordinate(socket string, e ensemble) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil // another coordinator was faster
	}
	servers, err := server.New(server.Config{Ensemble: fakezk.Config{
		Replicas: e.members(), Tick: e.Tick, MinSession: e.MinSession, MaxSession: e.MaxSession, TTL: true,
		ReapInterval: 1000, Order: 1, Super: e.Super, Users: e.Users, Reconfig: e.Reconfig, Members: e.Servers,
		ReadOnly: e.ReadOnly, EnforceQuota: e.EnforceQuota,
	}})
	if err != nil {
		return err
	}
	c := &coordinator{server: servers, members: make([]sync.Mutex, e.members())}
	for i := range e.members() {
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

// serve serves a client, or a member for the life of its process.
func (c *coordinator) serve(from net.Conn) {
	defer from.Close()
	in := bufio.NewReader(from)
	line, err := in.ReadBytes('\n')
	var me joining
	if err != nil || json.Unmarshal(line, &me) != nil {
		return
	}
	if me.Client != "" {
		c.server.ServeConn(me.Member, forwarded{from, in, me.Client})
		return
	}
	c.members[me.Member].Lock() // its last process has just ended
	defer c.members[me.Member].Unlock()
	c.count(+1)
	defer c.count(-1)
	c.server.Restart(me.Member)
	defer c.server.Kill(me.Member)
	if _, err := from.Write([]byte{'\n'}); err == nil {
		io.Copy(io.Discard, in) // until it dies
	}
}

// forwarded is a client's connection that a member passes on.
type forwarded struct {
	net.Conn
	in     io.Reader
	client string
}

func (f forwarded) Read(p []byte) (int, error) { return f.in.Read(p) }

func (f forwarded) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(f.client))
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
