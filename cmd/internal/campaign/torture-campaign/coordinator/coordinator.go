// Package coordinator leads a campaign: it asks for units, counts what comes, and reports.
//
// # The model
//
// The books hold what is known of a campaign. They are in memory, and are written to the campaign's folder ([Folder])
// every few seconds, as whole files that are replaced atomically and synced. Answers are in the log of package engine until the books on
// the disk have counted them, and the books say up to which place of the log they go. So a coordinator that is killed
// at any moment goes on from the books and counts the rest of the log again; nothing is lost, and nothing is counted
// twice. It goes on in the same way, without being killed, after every error that time can heal: a full disk, a server
// that is gone. The books know nothing of the engine; they say which tasks are wanted.
//
//   - A unit is asked for when a few more are wanted than workers can do, in the order of the plan. So what is done when
//     the time is over is the beginning of the plan, and no queue is long.
//   - A try that gave nothing (the unit froze, or its process panicked or took too much memory) is written down with its
//     worker, and the unit is asked for again. After as many as the plan has it is unknown.
//   - When each unit is done or unknown each job is concluded, by workers too; then the report is written.
//
// Times are durations of the coordinator's clock; what other machines' clocks say is never used.
package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/status"
)

// Config is what a coordinator needs.
type Config struct {
	Folder Folder         // with the recorded plan
	Plan   *campaign.Plan // as it is recorded

	Listen  string           // host:port of the embedded server; port 0: the one that it had before, or any
	TLS     *tls.Certificate // default: beyond this machine one of its own, else none
	NATS    *engine.Access   // instead of the embedded server
	Engine  engine.Settings
	Started func(Joining) // called once workers may join
	Say     func(string)  // tells people what happens; nil: nobody
}

// Joining says how workers join.
type Joining struct {
	URL         string
	ID          string // of the campaign
	TokenFile   string // "": none is needed
	Creds       string
	Fingerprint string // of the certificate; "": none
	CA          string
	Access      engine.Access // for workers in this process
}

// Coordinator leads a campaign.
type Coordinator struct {
	Config
	cert  *tls.Certificate
	token string

	mu      sync.Mutex // of what follows
	books   *books
	crew    crew
	problem string
	server  *engine.Server
	started bool
	passed  time.Time // up to here time is in the books
}

var errLocked = errors.New("another coordinator is at work in this folder: use its page, or torture-campaign status")

// New returns a coordinator of the campaign in a folder, which the caller has locked.
func New(config Config) (*Coordinator, error) {
	c := &Coordinator{Config: config, crew: crew{}}
	err := c.secure()
	if err != nil {
		return nil, err
	}
	if c.books, err = newKeeper(c.Folder, c.Plan).read(); err != nil {
		return nil, err
	}
	if c.books.Began.IsZero() {
		c.books.Began = time.Now()
	}
	return c, nil
}

// secure makes the token, and the certificate if others than this machine can connect.
func (c *Coordinator) secure() (err error) {
	if c.NATS != nil {
		return nil
	}
	if c.token, err = c.Folder.token(); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	c.cert = c.TLS
	if c.cert == nil && !Loopback(host) {
		own, err := c.Folder.certificate()
		if err != nil {
			return err
		}
		c.cert = &own
	}
	return nil
}

// Loopback reports whether only this machine can connect to a host.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run leads the campaign to its end, and returns the report. When the context ends it writes the books and returns
// [context.Cause].
func (c *Coordinator) Run(ctx context.Context) (*campaign.Report, error) {
	defer c.stopServer()
	for {
		if c.books.allJobs() {
			return c.report(), nil
		}
		report, err := c.lead(ctx)
		if err == nil {
			return report, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if fatal := new(fatalError); errors.As(err, fatal) {
			return nil, fatal.error
		}
		c.trouble(err)
		c.stopServer() // its streams may be broken for good
		if !pause(ctx, time.Second) {
			return nil, context.Cause(ctx)
		}
	}
}

// fatalError is an error that time does not heal.
type fatalError struct{ error }

// trouble tells people of an error, once.
func (c *Coordinator) trouble(err error) {
	text := err.Error()
	if errors.Is(err, errNoRoom) || errors.Is(err, syscall.ENOSPC) || strings.Contains(text, syscall.ENOSPC.Error()) {
		text = fmt.Sprintf("The disk of %s is full: the campaign waits until there is space.", c.Folder)
	}
	c.mu.Lock()
	news := text != c.problem
	c.problem = text
	c.mu.Unlock()
	if news {
		c.Say(text)
	}
}

func (c *Coordinator) wellAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem != "" {
		c.problem = ""
		c.Say("It goes on.")
	}
}

// lead goes on from the books on the disk until the campaign has ended, or an error.
func (c *Coordinator) lead(ctx context.Context) (*campaign.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := c.room(); err != nil {
		return nil, err
	}
	nc, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	s := &session{Coordinator: c, keeper: newKeeper(c.Folder, c.Plan)}
	if err := s.open(ctx, nc); err != nil {
		return nil, err
	}
	return s.run(ctx)
}

// connect connects to the server, after having started it if it is to be in this process.
func (c *Coordinator) connect(ctx context.Context) (*nats.Conn, error) {
	if c.NATS != nil {
		nc, err := c.NATS.Dial(ctx, 0)
		if errors.Is(err, engine.ErrRefused) {
			return nil, fatalError{err}
		}
		return nc, err
	}
	if err := c.startServer(); err != nil {
		return nil, err
	}
	return c.inProcess().Dial(ctx, 0)
}

func (c *Coordinator) inProcess() engine.Access {
	return engine.Access{URL: "nats://in-process", InProcess: c, Token: c.token}
}

// InProcessConn is a connection to the embedded server, the one that runs at the moment.
func (c *Coordinator) InProcessConn() (net.Conn, error) {
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if s == nil {
		return nil, errors.New("the server does not run")
	}
	return s.InProcessConn()
}

// startServer starts the embedded server.
func (c *Coordinator) startServer() error {
	config := engine.ServerConfig{Dir: string(c.Folder), Listen: c.listen(), Token: c.token}
	if c.cert != nil {
		config.TLS = &tls.Config{Certificates: []tls.Certificate{*c.cert}, MinVersion: tls.VersionTLS13}
	}
	s, err := engine.Serve(config)
	if err != nil {
		if !c.started && !errors.Is(c.room(), errNoRoom) {
			return fatalError{err}
		}
		return err
	}
	c.mu.Lock()
	c.server = s
	c.mu.Unlock()
	j := c.joining("")
	return writeSynced(c.Folder.path(addressFile), []byte(j.URL+" "+j.Fingerprint+"\n"), 0o644)
}

func (c *Coordinator) stopServer() {
	c.mu.Lock()
	s := c.server
	c.server = nil
	c.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// listen is where the server listens: of port 0 it is the one that it had before, if it is free, so that workers find
// it again.
func (c *Coordinator) listen() string {
	host, port, _ := net.SplitHostPort(c.Listen)
	if port != "0" {
		return c.Listen
	}
	access, err := c.Folder.Access()
	if err != nil {
		return c.Listen
	}
	u, err := url.Parse(access.URL)
	if err != nil || u.Port() == "" {
		return c.Listen
	}
	before := u.Port()
	l, err := net.Listen("tcp", net.JoinHostPort(host, before))
	if err != nil {
		return c.Listen
	}
	l.Close()
	return net.JoinHostPort(host, before)
}

// url is where workers find the server.
func (c *Coordinator) url() string {
	scheme := "nats"
	if c.cert != nil {
		scheme = "tls"
	}
	return scheme + "://" + Reachable(c.server.Addr())
}

// Reachable is a host:port by which others can connect to an address: of one that stands for all of this machine's it
// is the machine's name.
func Reachable(addr net.Addr) string {
	tcp := addr.(*net.TCPAddr)
	host := tcp.IP.String()
	if name, err := os.Hostname(); err == nil && tcp.IP.IsUnspecified() {
		host = name
	}
	return net.JoinHostPort(host, fmt.Sprint(tcp.Port))
}

// Secrets are the certificate and the password of the live page, if others than this machine can connect to it.
func (c *Coordinator) Secrets() (cert tls.Certificate, password string, err error) {
	if password, err = c.Folder.token(); err != nil {
		return cert, "", err
	}
	if c.TLS != nil {
		return *c.TLS, password, nil
	}
	cert, err = c.Folder.certificate()
	return cert, password, err
}

// joining says how workers join.
func (c *Coordinator) joining(id string) Joining {
	if c.NATS != nil {
		a := *c.NATS
		return Joining{URL: a.URL + "/" + id, ID: id, TokenFile: a.TokenFile, Creds: a.Creds, Fingerprint: a.Fingerprint,
			CA: a.CA, Access: a}
	}
	j := Joining{ID: id, URL: c.url(), TokenFile: c.Folder.TokenFile(), Access: c.inProcess()}
	if c.cert != nil {
		j.Fingerprint = fingerprint(c.cert)
	}
	return j
}

// Status is how far the campaign is.
func (c *Coordinator) Status() status.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.books.status(time.Now())
	s.Workers = append(s.Workers, c.crew.list()...)
	if c.problem != "" {
		s.Problems = append([]string{c.problem}, s.Problems...)
	}
	return s
}

// errNoRoom is the error of a disk that is full, or nearly.
var errNoRoom = errors.New("the disk is full")

// roomNeeded is how much room there must be for a campaign to go on: for the books, and for what workers answer until
// they are told to wait.
const roomNeeded = 1 << 20

// report puts the reports of the jobs together.
func (c *Coordinator) report() *campaign.Report {
	jobs := make([]campaign.JobReport, len(c.books.Reports))
	for i, r := range c.books.Reports {
		jobs[i] = *r
	}
	return c.books.sum.Report(jobs)
}

// room looks whether there is room, by taking it.
func (c *Coordinator) room() error {
	probe := c.Folder.path("room")
	defer os.Remove(probe)
	err := writeSynced(probe, make([]byte, roomNeeded), 0o600)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return errNoRoom
	}
	return err
}
