package engine

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Access says where a server is and what it asks for.
type Access struct {
	URL         string // nats://host:port, or tls://host:port; several with commas between them
	TokenFile   string
	Creds       string // a file of credentials, as nsc of NATS writes it
	CA          string // a file: who has signed the server's certificate; default: whom the system trusts …
	Fingerprint string // … or SHA-256 of the certificate itself, in hexadecimal

	InProcess nats.InProcessConnProvider // instead of the network
	Token     string                     // instead of a file
}

// ErrRefused is the error of a server that wants another token, or is not the one that is expected. To try again does
// not help.
var ErrRefused = errors.New("refused")

// Dial connects, and stays connected: a connection that breaks is made again, for ever. A server that is not there yet
// is waited for as long as patience lasts.
func (a Access) Dial(ctx context.Context, patience time.Duration) (*nats.Conn, error) {
	options, err := a.options()
	if err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		nc, err := nats.Connect(a.URL, options...)
		switch {
		case err == nil:
			return nc, nil
		case errors.Is(err, nats.ErrAuthorization):
			return nil, fmt.Errorf("%w: %s does not know the token: --token-file names the file that the coordinator wrote",
				ErrRefused, a.URL)
		case certificateProblem(err):
			return nil, fmt.Errorf("%w: the certificate of %s is not the expected one: %w", ErrRefused, a.URL, err)
		case time.Since(began) > patience:
			return nil, fmt.Errorf("%s: %w", a.URL, err)
		}
		if !pause(ctx, time.Second/2) {
			return nil, ctx.Err()
		}
	}
}

func (a Access) options() ([]nats.Option, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(time.Second / 4), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(5 * time.Second), nats.Timeout(10 * time.Second), nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	token := a.Token
	if a.TokenFile != "" {
		data, err := os.ReadFile(a.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("the token: %w", err)
		}
		token = strings.TrimSpace(string(data))
	}
	if token != "" {
		options = append(options, nats.Token(token))
	}
	if a.Creds != "" {
		options = append(options, nats.UserCredentials(a.Creds))
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Fingerprint != "" {
		options = append(options, nats.Secure(pinned(a.Fingerprint)))
	}
	if a.InProcess != nil {
		options = append(options, nats.InProcessServer(a.InProcess))
	}
	return options, nil
}

// check refuses addresses with secrets: other users of a machine see the arguments of its processes.
func (a Access) check() error {
	for one := range strings.SplitSeq(a.URL, ",") {
		u, err := url.Parse(one)
		switch {
		case err != nil:
			return errors.New("the address of the server is not a URL")
		case u.User != nil:
			return errors.New("the address of the server has a secret in it: put it into a file, for --token-file or --creds")
		case a.InProcess == nil && u.Scheme != "nats" && u.Scheme != "tls":
			return fmt.Errorf("%s: the address of a server is nats://host:port or tls://host:port", one)
		}
	}
	return nil
}

// errPinned is the error of a certificate that is not the one that is expected.
var errPinned = errors.New("its certificate has another fingerprint")

// pinned accepts one certificate, whoever signed it.
func pinned(fingerprint string) *tls.Config {
	want := strings.ToLower(strings.ReplaceAll(fingerprint, ":", ""))
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // the fingerprint is checked instead
		VerifyConnection: func(s tls.ConnectionState) error {
			if Fingerprint(s.PeerCertificates[0]) != want {
				return errPinned
			}
			return nil
		},
	}
}

// Fingerprint is the SHA-256 of a certificate, in hexadecimal.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

func certificateProblem(err error) bool {
	var verification *tls.CertificateVerificationError
	return errors.As(err, &verification) || errors.Is(err, errPinned)
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
