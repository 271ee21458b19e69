package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/cmd/torture/serving"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/recipes/zkclient"
)

// super is the digest of super:test.
const super = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

// Each flag does what the property of ZooKeeper does that it is named after. Without it, it is not done.
func TestServeFlags(t *testing.T) {
	p, at := served(t, "--size", "3", "--super-digest", super, "--reconfig", "--enforce-quota", "--ttl",
		"--user", "ann:pass:word",
		"--read-only", "--jute-maxbuffer", "2000", "--container-check-interval", "50ms", "--tick", "50ms",
		"--max-client-cnxns", "3",
		"--min-session-timeout", "19s", "--max-session-timeout", "21s", "--sync-limit", "9", "--control", "127.0.0.1:0")
	plain, bare := served(t, "--size", "3")
	for _, served := range []struct {
		at   serving.Ready
		with bool
	}{{at, true}, {bare, false}} {
		t.Run(fmt.Sprint("with ", served.with), func(t *testing.T) { checkFlags(t, served.at, served.with) })
	}
	r, err := http.Post(at.Control+"/quorum?on=false", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if got := askWord(t, at.Servers[1], "isro"); got != "ro" {
		t.Errorf("without a quorum a server is %q", got)
	}
	for _, x := range []*process{p, plain} {
		x.signal()
		x.wait(console.ExitOK)
	}
}

func checkFlags(t *testing.T, at serving.Ready, with bool) {
	c := client(t, at.Connect, zkclient.Digest("super", "test"))
	all := zk.WorldACL(zk.PermAll)
	config, _, err := c.Get("/zookeeper/config")
	for _, address := range at.Servers {
		if err != nil || strings.Contains(string(config), ";"+address+"\n") != with {
			t.Errorf("the configuration is %q, %v", config, err)
		}
	}
	done := map[string]error{}
	_, done["reconfig"] = c.IncrementalReconfig(nil, []string{"3"}, -1)
	_, done["ttl"] = c.CreateTTL("/ttl", nil, zk.FlagTTL, all, time.Hour)
	for _, path := range []string{"/q", "/zookeeper/quota/q", "/zookeeper/quota/q/zookeeper_stats"} {
		if _, err := c.Create(path, nil, 0, all); err != nil {
			t.Fatal(err)
		}
	}
	limit := []byte("count=-1,bytes=-1=;byteHardLimit=3")
	if _, err := c.Create("/zookeeper/quota/q/zookeeper_limits", limit, 0, all); err != nil {
		t.Fatal(err)
	}
	_, beyond := c.Set("/q", []byte("four"), -1)
	_, long := c.Create("/long", make([]byte, 3000), 0, all)
	for what, refused := range map[string]bool{
		"reconfig": done["reconfig"] != nil, "ttl": done["ttl"] != nil,
		"the quota": beyond == nil, "a long request": long == nil,
	} {
		if refused == with {
			t.Errorf("%s: %v, %v, %v", what, done, beyond, long)
		}
	}
	conf := askWord(t, at.Servers[0], "conf")
	limits := []string{"tickTime=50", "maxClientCnxns=3", "minSessionTimeout=19000", "maxSessionTimeout=21000"}
	for _, line := range limits {
		if slices.Contains(strings.Split(conf, "\n"), line) != with {
			t.Errorf("conf: %s, want %s: %v", conf, line, with)
		}
	}
	if token := login(t, at.Servers[0]); strings.HasPrefix(token, "realm=") != with {
		t.Errorf("the token of a login is %q", token)
	}
}

// login begins a login and returns the token that is answered.
func login(t *testing.T, address string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write(wire.AppendFrame(nil, &wire.ConnectRequest{Timeout: 1000}))
	c.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpSASL}, &wire.TokenRecord{Token: []byte{}}))
	var token wire.TokenRecord
	for range 2 {
		frame, err := wire.ReadFrame(c, nil, wire.FrameMax)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := wire.Parse(frame, &wire.ReplyHeader{}); err == nil {
			wire.Parse(rest, &token)
		}
	}
	return string(token.Token)
}

func askWord(t *testing.T, address, word string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, word)
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
