package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/serving"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// served starts torture serve and returns its first line.
func served(t *testing.T, args ...string) (*process, serving.Ready) {
	t.Helper()
	p := torture(t, append([]string{"serve"}, args...)...)
	var at serving.Ready
	if err := json.Unmarshal([]byte(p.out.await(t, `(?m)^({.*})$`)[1]), &at); err != nil {
		t.Fatal(err)
	}
	return p, at
}

// Clients use the server, its control port injects faults, and SIGINT ends it.
func TestServe(t *testing.T) {
	p, at := served(t, "--size", "3", "--control", "127.0.0.1:0")
	if len(at.Servers) != 3 || at.Connect != strings.Join(at.Servers, ",") || at.Seed != nil {
		t.Errorf("%+v", at)
	}
	c := client(t, at.Connect)
	if _, err := c.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(fmt.Sprintf("%s/expire?session=0x%x", at.Control, c.SessionID()), "", nil)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	if there, _, err := client(t, at.Servers[2]).Exists("/e"); there || err != nil {
		t.Errorf("the ephemeral is there: %v, %v", there, err)
	}
	p.signal()
	p.wait(console.ExitOK)
}

// Ports that other machines can reach are warned of.
func TestServeWarnsBeyondLoopback(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "zoo.cfg", "clientPortAddress=0.0.0.0")
	p, _ := served(t, "--config", "zoo.cfg", "--control", ":0")
	p.signal()
	p.wait(console.ExitOK)
	for _, flag := range []string{"clientPortAddress", "--control"} {
		if said := p.err.String(); !strings.Contains(said, "torture: "+flag+": ") ||
			strings.Count(said, "can be reached from other machines") != 2 {
			t.Errorf("%s: %q", flag, said)
		}
	}
	p, _ = served(t, "--control", "127.0.0.1:0")
	p.signal()
	p.wait(console.ExitOK)
	if said := p.err.String(); said != "" {
		t.Errorf("on loopback: %q", said)
	}
}

// With --faults, faults strike unasked and are logged; the same seed and requests draw the same.
func TestServeFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	drawn := struckBy(t, "faults.jsonl", "--size", "3", "--faults", "loss,expiry,kill", "--every", "4", "--seed", "7")
	again := struckBy(t, "again.jsonl", "--size", "3", "--faults", "loss,expiry,kill", "--every", "4", "--seed", "7", "--log", "again.jsonl")
	if d := cmp.Diff(drawn, again); d != "" {
		t.Error(d)
	}
}

// struckBy serves a client until eight faults have struck, and returns what they were.
func struckBy(t *testing.T, log string, args ...string) (struck []strike.Strike) {
	// No session ends because the machine is busy: those whose end is due end once a tick.
	write(t, "zoo.cfg", "tickTime=86400000\nminSessionTimeout=2000\nmaxSessionTimeout=2000\n")
	p, at := served(t, append(args, "--config", "zoo.cfg")...)
	if at.Seed == nil {
		t.Errorf("%+v", at)
	}
	c := client(t, at.Connect)
	for len(struck) < 8 {
		c.Get("/") // fails now and then
		struck = struck[:0]
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var x strike.Strike
			if json.Unmarshal([]byte(line), &x) == nil {
				x.Time, x.Session, x.Server, x.Connection = time.Time{}, "", "", 0
				struck = append(struck, x)
			}
		}
	}
	p.signal()
	p.wait(console.ExitOK)
	return struck[:8]
}

// What tags and rules of flags refuse is in TestMisuse.
func TestServeRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "elsewhere.cfg", "clientPortAddress=192.0.2.1")
	write(t, "bad.cfg", "tickTime=2s")
	for _, test := range []struct{ args, says string }{
		{"--size 3 --port 65535", "there are fewer than 3 ports from there on"},
		{"--config elsewhere.cfg", "server 1 cannot listen"},
		{"--config none.cfg", "--config none.cfg: no such file"},
		{"--config bad.cfg", "--config bad.cfg: line 1: tickTime=2s: a whole number from 1 to"},
		{"--faults loss,lag", "lag cannot strike 1 servers: there are"},
		{"--control nowhere", "--control: "},
		{"--faults all --log no/such/folder", "--log: "},
	} {
		t.Run(test.args, func(t *testing.T) {
			status, _, messages := command(t, append([]string{"serve"}, strings.Fields(test.args)...)...)
			if status != console.ExitUnknown || !strings.Contains(messages, test.says) || strings.Count(messages, "\n") != 1 {
				t.Errorf("exit status %d, %q, want %q", status, messages, test.says)
			}
		})
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
