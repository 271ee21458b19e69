// Package reach has the flags by which a command reaches servers, and is reached by who watches it.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/live/zkclient"
)

// TLSFlags say how to encrypt connections to the user's servers.
type TLSFlags struct {
	TLSCA         string `name:"tls-ca" placeholder:"FILE" help:"Connect with TLS, and trust the certificate authorities in this file (PEM)."`
	TLSCert       string `name:"tls-cert" placeholder:"FILE" help:"Connect with TLS, and present this client certificate (PEM)."`
	TLSKey        string `name:"tls-key" placeholder:"FILE" help:"The private key (PEM) of --tls-cert."`
	TLSServerName string `name:"tls-server-name" placeholder:"NAME" help:"Connect with TLS, and expect certificates for this name. Default: each server's host."`
}

func (f *TLSFlags) Rules() []console.Rule {
	return []console.Rule{console.When(f.TLSCert != "", "tls-key", "needs --tls-cert")}
}

func (f *TLSFlags) Dialer() (zkclient.DialContext, error) {
	dial, err := zkclient.TLS{CA: f.TLSCA, Cert: f.TLSCert, Key: f.TLSKey, ServerName: f.TLSServerName}.Dialer()
	if err != nil {
		err = flagged{err}
	}
	return dial, err
}

// flagged names the flags in place of the fields that they set.
type flagged struct{ error }

var flagOf = strings.NewReplacer("TLS.CA", "--tls-ca", "TLS.Cert", "--tls-cert", "TLS.Key", "--tls-key",
	"TLS.ServerName", "--tls-server-name")

func (e flagged) Error() string { return flagOf.Replace(e.error.Error()) }
func (e flagged) Unwrap() error { return e.error }

// AccessFlags are the credentials for the user's servers.
type AccessFlags struct {
	Auth     string `placeholder:"FILE|env:NAME" help:"A file or an environment variable that holds a digest credential, user:password. The credential is never printed or written."`
	TLSFlags `embed:""`
}

// What bounds the time until the first session. A run knows that the servers that it has started are there; those of the
// user may not be.
const (
	OwnConnect   = 5 * time.Minute
	theirConnect = 30 * time.Second
	tellAfter    = 2 * time.Second // people are told then that they wait
)

// Access is what the flags make. The zero value is plain TCP without credentials.
type Access struct {
	Dial   zkclient.DialContext
	auth   []zkclient.Credential
	theirs bool              // the servers are the user's
	Tell   func(text string) // says what is waited for; nil for nobody
	Alone  time.Duration     // how long a server that has lost the others answers: see link.Config
}

func (f *AccessFlags) Read() (Access, error) {
	dial, err := f.Dialer()
	if err != nil || f.Auth == "" {
		return Access{Dial: dial, theirs: true}, err
	}
	credential, err := zkclient.ReadDigest(f.Auth)
	return Access{Dial: dial, auth: []zkclient.Credential{credential}, theirs: true}, err
}

// Open opens a session and waits for it.
func (a Access) Open(ctx context.Context, servers string, session time.Duration, onEvent func(zk.Event)) (*zkclient.Client,
	error) {
	cfg := zkclient.Config{Servers: servers, SessionTimeout: session, OnEvent: onEvent, Auth: a.auth}
	if a.Dial != nil {
		cfg.Dial = a.Dial.Timed()
	}
	conn, err := cfg.Connect()
	if err != nil {
		return nil, err
	}
	limit := OwnConnect
	if a.theirs {
		limit = theirConnect
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if a.Tell != nil {
		late := time.AfterFunc(tellAfter, func() {
			a.Tell(fmt.Sprintf("waiting for %s, %v at most: %v", servers, limit-tellAfter, flagged{errors.New(conn.Trouble())}))
		})
		defer late.Stop()
	}
	if err := conn.WaitSession(ctx); err != nil {
		conn.Close()
		return nil, flagged{err}
	}
	return conn, nil
}

// WarnBeyond warns of an address at which other machines can reach this one.
func WarnBeyond(c *console.Context, setting string, address net.Addr, do string) {
	if tcp, ok := address.(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		fmt.Fprintf(c.Stderr, "torture: %s: %v can be reached from other machines, and anyone who connects can %s\n",
			setting, address, do)
	}
}
