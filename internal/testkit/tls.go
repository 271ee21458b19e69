package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// ServerName is the name in server certificates, which have no address.
const ServerName = "zookeeper.test"

// Authority signs certificates.
type Authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey

	CA        string // file with the authority's own certificate, in PEM
	Cert, Key string // files of a client
}

// NewAuthority returns an authority with its files in a folder of the test's.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.key = a.newKey()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = template
	der := a.sign(template, a.key)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.CA = a.write("ca.pem", "CERTIFICATE", der)
	client := a.issue(2, x509.ExtKeyUsageClientAuth)
	a.Cert = a.write("client.pem", "CERTIFICATE", client.Certificate[0])
	key, err := x509.MarshalECPrivateKey(client.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	a.Key = a.write("client.key", "EC PRIVATE KEY", key)
	return a
}

func (a *Authority) newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	return key
}

func (a *Authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *Authority) issue(serial int64, usage x509.ExtKeyUsage) tls.Certificate {
	key := a.newKey()
	der := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: ServerName},
		NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{ServerName}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *Authority) write(name, kind string, der []byte) string {
	file := filepath.Join(a.t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return file
}

// Front listens with TLS, demands a client certificate, and forwards to a server. It returns its address.
func (a *Authority) Front(server string) string {
	a.t.Helper()
	clients := x509.NewCertPool()
	clients.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{a.issue(3, x509.ExtKeyUsageServerAuth)},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: clients,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			ended.Go(func() { join(client, server) })
		}
	})
	a.t.Cleanup(func() {
		listener.Close()
		ended.Wait()
	})
	return listener.Addr().String()
}

// join forwards between a client and its server until one of them closes.
func join(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { io.Copy(server, client); server.Close() })
	both.Go(func() { io.Copy(client, server); client.Close() })
	both.Wait()
}
