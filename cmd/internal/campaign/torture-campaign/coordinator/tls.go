package coordinator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
)

// certificate returns the campaign's own certificate. It makes one if there is none. Workers know it by its
// fingerprint, so it has no names that would be wrong once the folder is on another machine.
func (f Folder) certificate() (tls.Certificate, error) {
	certFile, keyFile := f.path("tls", "cert.pem"), f.path("tls", "key.pem")
	if _, err := os.Stat(certFile); errors.Is(err, fs.ErrNotExist) {
		if err := f.makeCertificate(certFile, keyFile); err != nil {
			return tls.Certificate{}, err
		}
	}
	return tls.LoadX509KeyPair(certFile, keyFile)
}

// certificateLife is how long a certificate is valid. Workers do not ask; browsers may.
const certificateLife = 10 * 365 * 24 * time.Hour

func (f Folder) makeCertificate(certFile, keyFile string) error {
	if err := os.MkdirAll(f.path("tls"), 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "torture-campaign"},
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
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if err := writeSynced(keyFile, keyPEM, 0o600); err != nil {
		return err
	}
	return writeSynced(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// fingerprint is the fingerprint of a certificate.
func fingerprint(c *tls.Certificate) string {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil { // it could be loaded
		return ""
	}
	return engine.Fingerprint(leaf)
}
