package deploy

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// service is the name by which workers know the coordinator.
const service = "zktorture-coordinator"

// The coordinator as its Job has it, and workers as theirs has them, report what one machine does, though the first
// coordinator is killed. They speak by TLS, with a token.
func TestTheCoordinatorReportsWhatOneMachineDoes(t *testing.T) {
	m := newMachine(t, "coordinator")
	secrets(t, m)
	loopback := []string{"0.0.0.0:4222", "127.0.0.1:0", "0.0.0.0:8443", "127.0.0.1:0"}
	m.network = strings.NewReplacer(loopback...)
	first, address := m.coordinator()
	m.network = strings.NewReplacer(append(loopback, "tls://"+service+":4222", address)...)
	workers := []*exec.Cmd{m.worker(), m.worker()}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	second, again := m.coordinator()
	if again != address {
		t.Fatalf("the second coordinator is at %s, and workers look for it at %s", again, address)
	}
	for _, cmd := range append(workers, second) {
		if err := cmd.Wait(); err != nil {
			_ = second.Process.Kill() // or it waits for workers
			t.Errorf("%v: %v\n%s", cmd.Args, err, cmd.Stdout)
		}
	}
	compare(t, filepath.Join(m.volume("zktorture-state"), "report", "report.json"))
}

// Through the Service workers reach the port on which the coordinator listens, and people its page.
func TestTheServiceReachesTheCoordinator(t *testing.T) {
	all := objects(t, "coordinator")
	reached, pod := all["Service "+service].Spec, all["Job zktorture-coordinator"].Spec.Template
	for label, value := range reached.Selector {
		if pod.Metadata.Labels[label] != value {
			t.Errorf("the Service wants %s: %s, and the coordinator has %q", label, value, pod.Metadata.Labels[label])
		}
	}
	args := map[string]string{"nats": "--listen", "page": "--page"}
	for _, port := range reached.Ports {
		i := slices.IndexFunc(pod.Spec.Containers[0].Ports, func(p containerPort) bool { return p.Name == port.TargetPort })
		if i < 0 {
			t.Fatalf("the coordinator has no port %s", port.TargetPort)
		}
		arg := fmt.Sprintf("%s=0.0.0.0:%d", args[port.Name], pod.Spec.Containers[0].Ports[i].ContainerPort)
		if !slices.Contains(pod.Spec.Containers[0].Args, arg) {
			t.Errorf("the coordinator is not started with %s", arg)
		}
	}
	url := fmt.Sprintf("tls://%s:%d", service, reached.Ports[0].Port)
	if args := all["Job zktorture-workers"].Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, url) {
		t.Errorf("workers are started as %v, and not for %s", args, url)
	}
}

// coordinator starts the coordinator, and returns the address that it tells workers.
func (m *machine) coordinator() (cmd *exec.Cmd, address string) {
	m.t.Helper()
	cmd = m.command(m.objects["Job zktorture-coordinator"].Spec.Template.Spec)
	cmd.Stdout = &bytes.Buffer{}
	told, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		if _, command, ok := strings.Cut(lines.Text(), "More workers: torture-campaign work "); ok {
			go io.Copy(io.Discard, told)
			return cmd, strings.Fields(command)[0]
		}
	}
	m.t.Fatalf("%v did not say how workers join: %v", cmd.Args, cmd.Wait())
	return nil, ""
}

// worker starts a worker.
func (m *machine) worker() *exec.Cmd {
	m.t.Helper()
	cmd := m.command(m.objects["Job zktorture-workers"].Spec.Template.Spec)
	cmd.Stdout = &bytes.Buffer{}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	return cmd
}

// secrets makes the secrets that the guide has people make: a token, and a certificate of the service.
func secrets(t *testing.T, m *machine) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		DNSNames: []string{service}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	for name, content := range map[string][]byte{
		"zktorture-token/token": []byte(rand.Text() + "\n"),
		"zktorture-tls/tls.crt": certificate, "zktorture-tls/ca.crt": certificate,
		"zktorture-tls/tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(m.volume(filepath.Dir(name)), filepath.Base(name)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
