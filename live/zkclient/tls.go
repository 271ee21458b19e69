package zkclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-zookeeper/zk"
)

// TLS says how connections to servers are encrypted (ZooKeeper Administrator's Guide, "Encryption, Authentication,
// Authorization Options": secureClientPort). Files are in PEM. The zero value is plain TCP.
type TLS struct {
	CA         string // file of the certificates that servers' are signed with; default: those of the system
	Cert, Key  string // files of the client's own certificate and its key, if servers ask for one
	ServerName string // that servers' certificates must name; default: each server's host
}

// Config reads the files; it is nil for the zero value.
func (t TLS) Config() (*tls.Config, error) {
	if t == (TLS{}) {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("zkclient: certificates of authorities: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("zkclient: certificates of authorities: there are none in %s, which must be in "+
				"PEM", t.CA)
		}
	}
	if (t.Cert == "") != (t.Key == "") {
		return nil, errors.New("zkclient: TLS.Cert and TLS.Key belong together: name both files")
	}
	if t.Cert != "" {
		own, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("zkclient: the client's certificate: %w", err)
		}
		cfg.Certificates = []tls.Certificate{own}
	}
	return cfg, nil
}

// DialContext connects to a server.
type DialContext func(ctx context.Context, address string) (net.Conn, error)

// Dialer returns how to connect: over TLS, or plain TCP for the zero value.
func (t TLS) Dialer() (DialContext, error) {
	cfg, err := t.Config()
	if err != nil {
		return nil, err
	}
	if cfg == nil {
		return func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}, nil
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		return (&tls.Dialer{Config: cfg}).DialContext(ctx, "tcp", address)
	}, nil
}

// Timed is the same as [Config.Dial] takes it.
func (d DialContext) Timed() zk.Dialer {
	return func(_, address string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return d(ctx, address)
	}
}
