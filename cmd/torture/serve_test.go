package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/torture/serving"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/cli/console"
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
	p, _ := served(t, "--host", "0.0.0.0", "--control", ":0")
	p.signal()
	p.wait(console.ExitOK)
	for _, flag := range []string{"--host", "--control"} {
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

// With --data a restarted server has its data.
func TestServeKeepsData(t *testing.T) {
	dir := t.TempDir()
	p, at := served(t, "--data", dir)
	if _, err := client(t, at.Connect).Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	p.signal()
	p.wait(console.ExitOK)
	p, at = served(t, "--data", dir)
	if data, _, err := client(t, at.Connect).Get("/kept"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	status, _, messages := command(t, "serve", "--data", dir)
	if status != console.ExitUnknown || !strings.Contains(messages, "another server uses this folder: stop it") {
		t.Errorf("exit status %d, %s", status, messages)
	}
	p.signal()
	p.wait(console.ExitOK)
}

// With --faults, faults strike unasked and are logged; the log is a plan, with which they strike the same client again.
func TestServeFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	drawn := struckBy(t, "faults.jsonl", "--size", "3", "--faults", "loss,expiry,kill", "--every", "4", "--seed", "7")
	planned := struckBy(t, "again.jsonl", "--size", "3", "--faults-from", "faults.jsonl", "--log", "again.jsonl")
	if d := cmp.Diff(drawn, planned); d != "" {
		t.Error(d)
	}
}

// struckBy serves a client until eight faults have struck, and returns what a plan has of them.
func struckBy(t *testing.T, log string, args ...string) (struck []strike.Strike) {
	// No session ends because the machine is busy: those whose end is due end once a tick.
	p, at := served(t, append(args, "--tick", "24h", "--min-session-timeout", "2s", "--max-session-timeout", "2s")...)
	if (at.Seed != nil) == slices.Contains(args, "--faults-from") {
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
	for name, text := range map[string]string{
		"bad.jsonl": `{"fault":"quorum","for_ms":1,"client":1,"request":1}` + "\n" + `{"fault":"rain"}`,
		"lag.jsonl": `{"fault":"lag","target":2,"for_ms":1,"client":1,"request":1}`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ args, says string }{
		{"--size 3 --port 65535", "there are fewer than 3 ports from there on"},
		{"--host 192.0.2.1", "server 1 cannot listen"},
		{"--max-session-timeout 1s", "--max-session-timeout 1s is less than --min-session-timeout 4s"},
		{"--min-session-timeout 1m", "--min-session-timeout 1m0s is more than 20 ticks, 40s"},
		{"--max-session-timeout 600h", "sessions can take at most 596h31m23.647s"},
		{"--tick 100h", "sessions can take at most 596h31m23.647s"},
		{"--user ann", `--user "ann": NAME:PASSWORD is needed`},
		{"--user ann:a --user ann:b", "--user ann is given twice"},
		{"--super-digest super:test", "--super-digest is NAME:DIGEST, with what this prints as DIGEST: printf"},
		{"--reconfig --data d", "--reconfig with --data needs a --port"},
		{"--faults loss,lag", "lag cannot strike 1 servers: there are"},
		{"--faults-from none.jsonl", "--faults-from none.jsonl: no such file"},
		{"--faults-from /dev/zero", "--faults-from /dev/zero: line 1: "},
		{"--faults-from .", "--faults-from .: line 1: is a directory"},
		{"--faults-from bad.jsonl", `--faults-from bad.jsonl: line 2: there is no fault "rain" with the variant "" here`},
		{"--faults-from lag.jsonl", "--faults-from lag.jsonl: line 1: lag takes 2 servers, and there are 1"},
		{"--faults-from lag.jsonl --size 3 --log ./lag.jsonl", "--faults-from lag.jsonl is also what --log appends to"},
		{"--control nowhere", "--control: "},
		{"--data /dev/null", "data: "},
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
