package campaign

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWait is how long a worker may be silent before its unit is given to another.
var ackWait = 15 * time.Second

// payloadMax is how large a message may be at the embedded server, in bytes: results of units have some 200 KB.
const payloadMax = 8 << 20

// queue is a campaign in JetStream. Its names begin with "torture-" and have the campaign's id.
type queue struct {
	id      string
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream      // torture.ID.unit.N: unit N is to be run
	tasks   jetstream.Consumer    // of the stream, which all workers share
	results jetstream.KeyValue    // unit.N: a [UnitResult]
	files   jetstream.ObjectStore // the plan, the sum and the report
}

const prefix = "torture-"

// The files of a campaign.
const (
	planFile   = "plan"
	sumFile    = "sum"
	reportFile = "report"
)

// openQueue makes what a campaign needs, or takes what is there.
func openQueue(ctx context.Context, nc *nats.Conn, id string) (*queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	q, name := &queue{id: id, nc: nc, js: js}, prefix+id
	if q.stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: name, Subjects: []string{q.subject("unit.*")}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	}); err != nil {
		return nil, err
	}
	if q.tasks, err = q.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWait, MaxAckPending: 100_000, MaxDeliver: -1,
	}); err != nil {
		return nil, err
	}
	if q.results, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: name}); err != nil {
		return nil, err
	}
	q.files, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: name})
	return q, err
}

func (q *queue) subject(what string) string { return "torture." + q.id + "." + what }

// ask puts a unit into the queue, if it is not there.
func (q *queue) ask(ctx context.Context, unit int) error {
	_, err := q.js.Publish(ctx, q.subject("unit."+strconv.Itoa(unit)), nil)
	if api := new(jetstream.APIError); errors.As(err, &api) && strings.Contains(api.Description, server.ErrMaxMsgsPerSubject.Error()) {
		return nil
	}
	return err
}

// unitOf is the unit of the key of a result, or of the subject of a task.
func unitOf(name string) (int, error) { return strconv.Atoi(name[strings.LastIndex(name, ".")+1:]) }

// put puts the result of a unit, as long as it takes: the server may be away, or its disk full.
func (q *queue) put(ctx context.Context, plan *Plan, r UnitResult) error {
	for {
		text, err := pack(r)
		if err != nil {
			return err
		}
		_, err = q.results.Put(ctx, "unit."+strconv.Itoa(r.Unit.Number), text)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, nats.ErrMaxPayload):
			r = plan.unknown(r.Unit, fmt.Sprintf("its result has %d bytes, and the server takes %d: let it take more (max_payload), "+
				"or write a smaller unit", len(text), q.nc.MaxPayload()))
		default:
			pause(ctx, time.Second)
		}
	}
}

// store keeps a file.
func (q *queue) store(ctx context.Context, name string, value any) error {
	text, err := pack(value)
	if err == nil {
		_, err = q.files.PutBytes(ctx, name, text)
	}
	return err
}

// load reads a file; false: it is not there.
func (q *queue) load(ctx context.Context, name string, value any) (bool, error) {
	text, err := q.files.GetBytes(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err == nil {
		err = unpack(text, value)
	}
	return true, err
}

func pack(value any) ([]byte, error) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	err := errors.Join(json.NewEncoder(z).Encode(value), z.Close())
	return b.Bytes(), err
}

func unpack(data []byte, value any) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(value)
}

// pause waits; false: the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// access says where a server is and what it asks for. Secrets are in files: other users see the arguments of processes.
type access struct {
	url       string // nats://host:port or tls://host:port
	tokenFile string
	ca        string       // a file with the server's certificate; default: whom the system trusts
	within    *embedded    // instead of the network, in this process
	lost      func(string) // called when the connection was lost
}

// errRefused is the error of a server that wants another token, or is not the one that is expected. To try again does
// not help.
var errRefused = errors.New("refused")

// dial connects, and stays connected: a connection that breaks is made again, for ever. A server that is not there yet is
// waited for as long as patience lasts.
func (a access) dial(ctx context.Context, patience time.Duration) (*nats.Conn, error) {
	options, err := a.options()
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		nc, err := nats.Connect(a.url, options...)
		wrong := new(tls.CertificateVerificationError)
		switch {
		case err == nil:
			return nc, nil
		case errors.Is(err, nats.ErrAuthorization):
			return nil, fmt.Errorf("%w: %s does not know the token: --token-file names a copy of the file that the coordinator wrote",
				errRefused, a.url)
		case errors.As(err, &wrong), errors.Is(err, errCertificate):
			return nil, fmt.Errorf("%w: the certificate of %s is not the expected one, --ca names a copy of the coordinator's: %w",
				errRefused, a.url, err)
		case time.Since(began) > patience:
			return nil, fmt.Errorf("%s: %w", a.url, err)
		}
		if !pause(ctx, time.Second/2) {
			return nil, ctx.Err()
		}
	}
}

func (a access) options() ([]nats.Option, error) {
	options := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(time.Second / 4), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(5 * time.Second), nats.Timeout(10 * time.Second), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if a.lost != nil {
		options = append(options, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { a.lost(fmt.Sprint(err)) }))
	}
	if a.within != nil {
		return append(options, nats.InProcessServer(a.within), nats.Token(a.within.token)), nil
	}
	if u, err := url.Parse(a.url); err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.User != nil {
		return nil, errors.New("the address of a server is nats://HOST:PORT or tls://HOST:PORT; put a secret into a file, for --token-file")
	}
	if a.tokenFile != "" {
		token, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		options = append(options, nats.Token(strings.TrimSpace(string(token))))
	}
	if a.ca != "" {
		text, err := os.ReadFile(a.ca)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		options = append(options, nats.Secure(pinned(text)))
	}
	return options, nil
}

var errCertificate = errors.New("it is another one")

// pinned accepts a server if its certificate is one of these, in PEM, whatever the server is called.
func pinned(these []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(s tls.ConnectionState) error {
			if bytes.Contains(these, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.PeerCertificates[0].Raw})) {
				return nil
			}
			return errCertificate
		},
	}
}

// embedded is a NATS server in this process, whose files are in jetstream/ of a folder.
type embedded struct {
	dir    string
	host   string // "": it does not listen
	port   int    // 0: any
	token  string
	secure *tls.Config // nil: no TLS

	mu   sync.Mutex
	nats *server.Server
}

// start starts the server, anew if it runs: at the same port. It syncs every message to the disk before it acknowledges it.
func (e *embedded) start() error {
	e.close()
	if err := room(e.dir); err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		Host: e.host, Port: cmp.Or(e.port, server.RANDOM_PORT), DontListen: e.host == "", Authorization: e.token,
		TLSConfig: e.secure, TLS: e.secure != nil, TLSTimeout: 5, JetStream: true, StoreDir: e.dir, SyncAlways: true,
		MaxPayload: payloadMax, NoSigs: true, NoLog: true, DisableShortFirstPing: true,
	})
	if err != nil {
		return err
	}
	failed := make(fatals, 1)
	s.SetLoggerV2(failed, false, false, false)
	go s.Start()
	ready := make(chan bool, 1)
	go func() { ready <- s.ReadyForConnections(time.Minute) }()
	select {
	case err = <-failed:
	case ok := <-ready:
		if !ok {
			err = errors.New("it was not ready after a minute")
		}
	}
	e.mu.Lock()
	e.nats = s
	if err == nil && e.host != "" {
		e.port = s.Addr().(*net.TCPAddr).Port
	}
	e.mu.Unlock()
	if err != nil {
		e.close()
		return fmt.Errorf("the server of NATS did not start: %w", err)
	}
	return nil
}

func (e *embedded) running() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.nats
}

// InProcessConn is a connection to the server that runs at the moment, for [nats.InProcessServer].
func (e *embedded) InProcessConn() (net.Conn, error) {
	s := e.running()
	if s == nil {
		return nil, errors.New("the server of NATS does not run")
	}
	return s.InProcessConn()
}

func (e *embedded) close() {
	if s := e.running(); s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nats = nil
}

// trouble is what a server has that has given up its streams, as it does when the disk is full.
func (e *embedded) trouble() error {
	if s := e.running(); s == nil || s.JetStreamEnabled() {
		return nil
	}
	return cmp.Or(room(e.dir), errors.New("the server of NATS has stopped its streams, as it could not write them"))
}

// url is where others find the server.
func (e *embedded) url() string {
	scheme := "nats"
	if e.secure != nil {
		scheme = "tls"
	}
	return scheme + "://" + reachable(e.running().Addr().(*net.TCPAddr))
}

// room returns an error unless a folder's disk has room for what a server writes, by taking it: a server that cannot
// write gives up its streams.
func room(dir string) error {
	probe := filepath.Join(dir, "room")
	defer os.Remove(probe)
	return os.WriteFile(probe, make([]byte, 1<<20), 0o600)
}

// fatals is a log of which only the first fatal message is wanted: why a server did not start.
type fatals chan error

func (f fatals) Fatalf(format string, v ...any) {
	select {
	case f <- fmt.Errorf(format, v...):
	default:
	}
}
func (fatals) Noticef(string, ...any) {}
func (fatals) Warnf(string, ...any)   {}
func (fatals) Errorf(string, ...any)  {}
func (fatals) Debugf(string, ...any)  {}
func (fatals) Tracef(string, ...any)  {}
