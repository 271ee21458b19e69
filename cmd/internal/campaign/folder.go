package campaign

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// folder is where the coordinator of a campaign keeps the streams of its embedded server, and what workers need to
// connect. How far the campaign is, JetStream alone knows.
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// The files of a folder.
const (
	tokenName   = "token"    // that everybody needs
	certName    = "cert.pem" // of the server, for --ca
	keyName     = "key.pem"
	addressName = "address" // where the server is, with the campaign's id
	statusName  = "status.json"
	lockName    = "lock"
	reportName  = "report"
)

// lock keeps other coordinators out, until unlock is called or the process has ended.
func (f folder) lock() (unlock func(), err error) {
	if err := os.MkdirAll(string(f), 0o755); err != nil {
		return nil, err
	}
	l := flock.New(f.path(lockName))
	switch ours, err := l.TryLock(); {
	case err != nil:
		return nil, err
	case !ours:
		return nil, fmt.Errorf("another coordinator is at work in %s: see torture campaign status %s", f, f)
	}
	return func() { l.Unlock() }, nil
}

// token is what a file has, or the folder's token. It makes one if there is none.
func (f folder) token(file string) (string, error) {
	text, err := os.ReadFile(cmp.Or(file, f.path(tokenName)))
	if file == "" && errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text())
		err = writePrivate(f.path(tokenName), append(text, '\n'))
	}
	return strings.TrimSpace(string(text)), err
}

// writePrivate writes a file that no other user can read.
func writePrivate(name string, data []byte) error {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return wholefile.Write(name, data)
}

// address is where the folder's server was last, with the campaign's id as its path; "": it never was anywhere.
func (f folder) address() string {
	text, _ := os.ReadFile(f.path(addressName))
	return strings.TrimSpace(string(text))
}

// certificate is the folder's own certificate. It makes one if there is none. Workers know it by itself, so it has no
// names that would be wrong once the folder is on another machine.
func (f folder) certificate() (tls.Certificate, error) {
	if _, err := os.Stat(f.path(keyName)); errors.Is(err, fs.ErrNotExist) {
		if err := f.makeCertificate(); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.LoadX509KeyPair(f.path(certName), f.path(keyName))
}

// certificateLife is how long a certificate is valid. Workers do not ask; browsers may.
const certificateLife = 10 * 365 * 24 * time.Hour

func (f folder) makeCertificate() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "torture campaign"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(certificateLife), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return errors.Join(wholefile.Write(f.path(certName), cert),
		writePrivate(f.path(keyName), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
}

// reachable is a host:port by which others can connect to an address: of one that stands for all of this machine's it is
// the machine's name.
func reachable(addr *net.TCPAddr) string {
	host := addr.IP.String()
	if name, err := os.Hostname(); err == nil && addr.IP.IsUnspecified() {
		host = name
	}
	return net.JoinHostPort(host, fmt.Sprint(addr.Port))
}
