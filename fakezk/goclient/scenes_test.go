package goclient_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
)

// The scenes of testdata (see testkit.Scenes) are moved by hand, one line after the other. What follows = is what the line
// says then.
//
//	servers 3                  how many there are
//	a: go                      a client, with the semantics of go, java or kazoo; go held: whose events are held back
//	a dial 0 = ok              also: break, arrive, deliver, expire, finish, tell, break unsent; pump: all that is under way
//	a create /x = ok           a request that is carried through: create, ephemeral, get, exists, owner, set PATH VERSION
//	a getW /x as W             one that sets a watch: also existsW and childrenW
//	a begin create /x as R     one that is on the wire; R is what comes of it; also close
//	a listen as L              a channel of session events
//	W = NodeCreated SyncConnected /x, closed      what a channel has, that of all events is "a events"
//	a session = #1             sessions are numbered as they appear; also: unsent, held, pending, closed, connected, alive
//	admin create /x            past all clients: also delete, and versions PATH N
//	lag 1                      a server lags
//	node /x = version 0        of the leader
type scene struct {
	*cable
	t        *testing.T
	clients  map[string]*goclient.Client
	channels map[string]<-chan zk.Event
	results  map[string]<-chan error
	sessions []int64
}

func TestScenes(t *testing.T) { testkit.Scenes(t, "testdata/*.txt", playScene) }

func playScene(t *testing.T, lines string) {
	s := &scene{t: t, cable: newWire(fakezk.Config{}), clients: map[string]*goclient.Client{},
		channels: map[string]<-chan zk.Event{}, results: map[string]<-chan error{}}
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		command, want, asks := strings.Cut(line, " = ")
		if got := s.play(strings.Fields(command)); asks && got != want {
			t.Errorf("%s: it is %q\n%s", line, got, lines)
		}
	}
}

func (s *scene) play(words []string) string {
	name := words[0]
	if semantics := words[1:]; strings.HasSuffix(name, ":") {
		c := s.client()
		c.Semantics = map[string]goclient.ClientSemantics{"go": goclient.SemanticsGo, "java": goclient.SemanticsJava,
			"kazoo": goclient.SemanticsKazoo}[semantics[0]]
		c.HoldEvents = len(semantics) > 1
		s.clients[strings.TrimSuffix(name, ":")] = c
		return ""
	}
	if ch, is := s.channels[name]; is {
		return showEvents(ch)
	}
	if result, is := s.results[name]; is {
		return said(<-result)
	}
	if c := s.clients[name]; c != nil {
		return s.act(c, words[1:])
	}
	n, _ := strconv.Atoi(words[len(words)-1])
	switch name {
	case "servers":
		s.servers = fakezk.New(fakezk.Config{Replicas: n})
	case "lag":
		s.servers.SetLag(n, true)
	case "watches":
		return fmt.Sprint(len(s.servers.Watches()))
	case "node":
		info, there := s.servers.Node(words[1])
		if !there {
			return "none"
		}
		return fmt.Sprint("version ", info.Stat.Version)
	case "admin":
		if words[1] == "versions" {
			s.servers.SetVersions(words[2], int32(n))
			return ""
		}
		s.admin(s.t, map[string]wire.Op{"create": wire.OpCreate, "delete": wire.OpDelete}[words[1]])
	default:
		s.t.Fatalf("%q: who is that?", words)
	}
	return ""
}

// act is what a client does, or what is done to it.
func (s *scene) act(c *goclient.Client, words []string) string {
	conn, as := c.Handle(0), ""
	if n := len(words); n > 2 && words[n-2] == "as" {
		as, words = words[n-1], words[:n-2]
	}
	switch what := strings.Join(words, " "); what {
	case "break":
		c.Break(zk.ErrConnectionClosed)
	case "break unsent":
		c.BreakUnsent()
	case "arrive":
		c.Arrive(s.now)
	case "deliver":
		c.Deliver()
	case "pump":
		for c.Sent() != nil {
			c.Arrive(s.now)
		}
		for s.servers.Pending(c.Connection()) > 0 {
			c.Deliver()
		}
	case "expire":
		s.servers.Expire(s.now, c.Session())
	case "finish":
		c.Finish()
	case "tell":
		c.Tell(0)
	case "listen":
		s.channels[as] = conn.SessionEvents()
	case "server":
		return conn.Server()
	case "events":
		return showEvents(c.Events())
	case "session":
		return s.number(c.Session())
	case "unsent":
		return fmt.Sprint(c.Unsent())
	case "held":
		return fmt.Sprint(c.Held(0))
	case "sent":
		return fmt.Sprint(c.Sent() != nil)
	case "pending":
		return fmt.Sprint(s.servers.Pending(c.Connection()))
	case "closed":
		return fmt.Sprint(c.Closed())
	case "connected":
		_, connected := c.Connected()
		return fmt.Sprint(connected)
	case "alive":
		return fmt.Sprint(s.servers.Alive(c.Session()))
	default:
		if words[0] == "dial" {
			server, _ := strconv.Atoi(words[1])
			return said(c.Dial(s.now, server))
		}
		if words[0] == "begin" {
			s.results[as] = s.begin(c, s.request(conn, words[1:], as, new(string)))
			return ""
		}
		outcome := "ok"
		if err := s.do(c, s.request(conn, words, as, &outcome)); err != nil {
			return said(err)
		}
		return outcome
	}
	return ""
}

// request is a request of a client, and where its outcome goes.
func (s *scene) request(conn *goclient.Conn, words []string, as string, outcome *string) func() error {
	path := words[len(words)-1]
	watch := func(ch <-chan zk.Event, err error) error { s.channels[as] = ch; return err }
	return map[string]func() error{
		"create":    create(conn, path, 0),
		"ephemeral": create(conn, path, zk.FlagEphemeral),
		"get":       func() error { _, _, err := conn.Get(path); return err },
		"exists": func() error {
			there, _, err := conn.Exists(path)
			*outcome = fmt.Sprint(there)
			return err
		},
		"owner": func() error {
			_, stat, err := conn.Exists(path)
			*outcome = s.number(stat.EphemeralOwner)
			return err
		},
		"set": func() error {
			version, _ := strconv.Atoi(words[2])
			_, err := conn.Set(words[1], nil, int32(version))
			return err
		},
		"getW":      func() error { _, _, ch, err := conn.GetW(path); return watch(ch, err) },
		"existsW":   func() error { _, _, ch, err := conn.ExistsW(path); return watch(ch, err) },
		"childrenW": func() error { _, _, ch, err := conn.ChildrenW(path); return watch(ch, err) },
		"close":     func() error { conn.Close(); return nil },
	}[words[0]]
}

// number numbers sessions.
func (s *scene) number(session int64) string {
	if session == 0 {
		return "none"
	}
	if !slices.Contains(s.sessions, session) {
		s.sessions = append(s.sessions, session)
	}
	return fmt.Sprint("#", slices.Index(s.sessions, session)+1)
}

func said(err error) string {
	switch err {
	case nil:
		return "ok"
	case goclient.ErrRefused:
		return "refused"
	}
	return strings.TrimPrefix(err.Error(), "zk: ")
}

func showEvents(ch <-chan zk.Event) string {
	text := strings.Join(drain(ch), ", ")
	text = strings.NewReplacer("EventSession State", "", "Event", "", " State", " ").Replace(text)
	if text == "" {
		return "nothing"
	}
	return text
}
