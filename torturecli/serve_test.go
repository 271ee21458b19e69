package torturecli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

// served starts torture serve and returns its first line.
func served(t *testing.T, args ...string) (*process, ready) {
	t.Helper()
	p := torture(t, append([]string{"serve"}, args...)...)
	var at ready
	if err := json.Unmarshal([]byte(p.out.await(t, `(?m)^({.*})$`)[1]), &at); err != nil {
		t.Fatal(err)
	}
	return p, at
}

// Clients use the server, its control port injects faults, and SIGINT ends it.
func TestServe(t *testing.T) {
	p, at := served(t, "--servers", "3", "--control", "127.0.0.1:0")
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
	p.wait(exitOK)
}

// With --data a restarted server has its data.
func TestServeKeepsData(t *testing.T) {
	dir := t.TempDir()
	p, at := served(t, "--data", dir)
	if _, err := client(t, at.Connect).Create("/kept", []byte("x"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	p.signal()
	p.wait(exitOK)
	p, at = served(t, "--data", dir)
	if data, _, err := client(t, at.Connect).Get("/kept"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	status, _, messages := command(t, "serve", "--data", dir)
	if status != exitUnknown || !strings.Contains(messages, "another server uses this folder") {
		t.Errorf("exit status %d, %s", status, messages)
	}
	p.signal()
	p.wait(exitOK)
}

// With --faults, faults strike unasked and are logged.
func TestServeFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	p, at := served(t, "--servers", "3", "--faults", "loss,expiry", "--every", "4", "--seed", "7")
	if at.Seed == nil || *at.Seed != 7 {
		t.Errorf("%+v", at)
	}
	c := client(t, at.Connect)
	struck := map[string]bool{}
	for !struck["loss"] || !struck["expiry"] {
		c.Get("/") // fails now and then
		log, err := os.ReadFile("faults.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			var s struct{ Fault string }
			if json.Unmarshal([]byte(line), &s) == nil {
				struck[s.Fault] = true
			}
		}
	}
	p.signal()
	p.wait(exitOK)
}

func TestServeRefuses(t *testing.T) {
	for _, test := range []struct{ args, says string }{
		{"--servers 2", "--servers 2: there can be 1, 3 or 5"},
		{"--servers 3 --port 65535", "there are no 3 ports from there on"},
		{"--host 192.0.2.1", "server 1 cannot listen"},
		{"--tick 0s", "--tick has to be at least 1ms"},
		{"--max-session 1s", "--max-session 1s is less than --min-session 4s"},
		{"--max-client-cnxns=-1", "cannot be negative"},
		{"--faults rain", `--faults: unknown fault "rain"`},
		{"--faults all --every 1 --rate 1", "one of the two"},
		{"--control nowhere", "--control: "},
		{"--data /dev/null", "data: "},
		{"--faults all --log no/such/folder", "--log: "},
	} {
		t.Run(test.args, func(t *testing.T) {
			status, _, messages := command(t, append([]string{"serve"}, strings.Fields(test.args)...)...)
			if status != exitUnknown || !strings.Contains(messages, test.says) || strings.Count(messages, "\n") != 1 {
				t.Errorf("exit status %d, %q, want %q", status, messages, test.says)
			}
		})
	}
}
