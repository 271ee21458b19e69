package torturecli

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zkclient"
)

// tlsFlags say how to encrypt connections to the user's servers.
type tlsFlags struct {
	TLSCA         string `name:"tls-ca" placeholder:"FILE" help:"Connect with TLS, and trust the certificate authorities in this file (PEM)."`
	TLSCert       string `name:"tls-cert" placeholder:"FILE" help:"Connect with TLS, and present this client certificate (PEM)."`
	TLSKey        string `name:"tls-key" placeholder:"FILE" help:"The private key (PEM) of --tls-cert." needs:"tls-cert"`
	TLSServerName string `name:"tls-server-name" placeholder:"NAME" help:"Connect with TLS, and expect certificates for this name. Default: each server's host."`
}

func (f *tlsFlags) dialer() (zkclient.DialContext, error) {
	return zkclient.TLS{CA: f.TLSCA, Cert: f.TLSCert, Key: f.TLSKey, ServerName: f.TLSServerName}.Dialer()
}

// accessFlags are the credentials for the user's servers.
type accessFlags struct {
	Auth     string `placeholder:"FILE|env:NAME" help:"A file or an environment variable that holds a digest credential, user:password. The credential is never printed or written."`
	tlsFlags `embed:""`
}

// given tells whether any flag is set.
func (f *accessFlags) given() bool { return *f != accessFlags{} }

// access is what the flags make. The zero value is plain TCP without credentials.
type access struct {
	dial   zkclient.DialContext
	auth   []zkclient.Credential
	around func(op, path string, send func() error) error // sends each request; nil for nothing in between
	alone  time.Duration                                  // how long a partitioned server answers: see link.Config
}

func (f *accessFlags) read() (access, error) {
	dial, err := f.dialer()
	if err != nil || f.Auth == "" {
		return access{dial: dial}, err
	}
	credential, err := zkclient.ReadDigest(f.Auth)
	return access{dial: dial, auth: []zkclient.Credential{credential}}, err
}

// open opens a session and waits for it.
func (a access) open(ctx context.Context, servers string, session time.Duration, onEvent func(zk.Event)) (*zkclient.Client,
	error) {
	cfg := zkclient.Config{Servers: servers, SessionTimeout: session, OnEvent: onEvent, Auth: a.auth}
	if a.dial != nil {
		cfg.Dial = a.dial.Timed()
	}
	conn, err := cfg.Connect()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, liveConnect)
	defer cancel()
	if err := conn.WaitSession(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// observed is a client with its events, whose requests go through around.
func (a access) observed(client *zkclient.Client) recipes.Conn {
	conn := recipes.WithEvents(client, client.Events())
	if a.around == nil {
		return conn
	}
	return recipes.Around(conn, a.around)
}
