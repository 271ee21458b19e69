package zkclient_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
)

var _ recipes.Conn = (*zkclient.Client)(nil)

// A credential is read from a file or the environment, and no text about it has the secret in it.
func TestReadDigest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"me:hush", "me:hush\n", "me:hush\r\n", "me:hu:sh"} {
		write(text)
		t.Setenv("ZK_AUTH", text)
		for _, source := range []string{file, "env:ZK_AUTH"} {
			c, err := zkclient.ReadDigest(source)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			for _, said := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c),
				fmt.Sprintf("%+v", []zkclient.Credential{c})} {
				wantNo(t, said, "hu")
			}
		}
	}
	for _, text := range []string{"", "hush", ":hush", "me:hush\nyou:hush2"} {
		write(text)
		t.Setenv("ZK_AUTH", text)
		for _, source := range []string{file, "env:ZK_AUTH"} {
			_, err := zkclient.ReadDigest(source)
			wantError(t, err, source, "user:password")
			wantNo(t, err.Error(), "hush")
		}
	}
	_, err := zkclient.ReadDigest("env:ZK_NO_SUCH")
	wantError(t, err, "ZK_NO_SUCH")
	_, err = zkclient.ReadDigest(file + "x")
	wantError(t, err, "authx")
	for _, source := range []string{"alice:hush", "env:alice:hush", "alice:hush:more", ":hush"} {
		_, err := zkclient.ReadDigest(source)
		wantError(t, err, "zkclient: credentials: ", "env:NAME", "file")
		wantNo(t, err.Error(), "hush")
	}
}

func wantNo(t *testing.T, text, secret string) {
	t.Helper()
	if strings.Contains(text, secret) {
		t.Errorf("the secret is in %q", text)
	}
}

// A client with the right credential, shown on every connection, is let at what others are not.
func TestAuth(t *testing.T) {
	e := ensembletest.Start(t, 1)
	var connections []net.Conn
	var mu sync.Mutex
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, address, timeout)
		mu.Lock()
		defer mu.Unlock()
		connections = append(connections, c)
		return c, err
	}
	connect := func(password string) *zkclient.Client {
		c, err := zkclient.Config{Servers: e.ConnectString(), SessionTimeout: ensembletest.Lasting, Dial: dial,
			Auth: []zkclient.Credential{zkclient.Digest("me", password)}}.Connect()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := c.WaitSession(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	mine, wrong := connect("right"), connect("wrong")
	if _, err := mine.Create("/mine", nil, 0, zk.DigestACL(zk.PermAll, "me", "right")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := wrong.Get("/mine"); err != zk.ErrNoAuth {
		t.Errorf("with a wrong password: %v", err)
	}
	mu.Lock()
	connections[0].Close()
	mu.Unlock()
	testkit.Until(t, "another connection", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(connections) > 2
	})
	var err error
	testkit.Until(t, "what is mine, after that", func() bool {
		_, _, err = mine.Get("/mine")
		return err != zk.ErrConnectionClosed
	})
	if err != nil {
		t.Error(err)
	}
}

// Over TLS a client with a certificate is served, and one without, or that trusts others, is told why not.
func TestTLS(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	address := ca.Front(e.ConnectString())
	good := zkclient.TLS{CA: ca.CA, Cert: ca.Cert, Key: ca.Key, ServerName: testkit.ServerName}
	for _, test := range []struct {
		name, says string
		change     func(*zkclient.TLS)
	}{
		{"good", "", func(*zkclient.TLS) {}},
		{"of another authority", "not trusted: name the authority in TLS.CA", func(c *zkclient.TLS) { c.CA = other.CA }},
		{"of another name", "give that as TLS.ServerName", func(c *zkclient.TLS) { c.ServerName = "elsewhere.test" }},
		{"by address", "for another name", func(c *zkclient.TLS) { c.ServerName = "" }},
		{"without one of the client's", "misses one (tls: certificate required): name in TLS.Cert", func(c *zkclient.TLS) { c.Cert, c.Key = "", "" }},
		{"of an authority that the server does not trust", "does not accept the client's certificate", func(c *zkclient.TLS) {
			c.Cert, c.Key = other.Cert, other.Key
		}},
		{"in plain", "or speaks TLS", func(c *zkclient.TLS) { *c = zkclient.TLS{} }},
	} {
		files := good
		test.change(&files)
		dial, err := files.Dialer()
		if err != nil {
			t.Fatal(err)
		}
		c, err := zkclient.Config{Servers: address, SessionTimeout: 2 * time.Second, Dial: dial.Timed()}.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		testkit.Until(t, cmp.Or(test.says, test.name), func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := c.WaitSession(ctx)
			return err == nil && test.says == "" || err != nil && test.says != "" && strings.Contains(err.Error(), test.says)
		})
	}
}

func TestTLSRefuses(t *testing.T) {
	ca := testkit.NewAuthority(t)
	for says, files := range map[string]zkclient.TLS{
		"there are none in":           {CA: ca.Key},
		"no such file":                {CA: ca.CA + "x"},
		"TLS.Cert and TLS.Key belong": {Cert: ca.Cert},
		"the client's certificate":    {Cert: ca.Cert, Key: ca.CA},
		"belong together":             {Key: ca.Key},
	} {
		_, err := files.Dialer()
		wantError(t, err, "zkclient: ", says)
	}
}
