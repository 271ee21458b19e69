package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

// steering is what must not reach a terminal: sequences that change the window's title, the screen, earlier output or
// the direction of a line, and an invalid byte.
const steering = "\x1b]0;pwned\a\u009b2J\r\b\u202e\x9b"

var steers = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f-\x{9f}\x{202a}-\x{202e}]`)

// TestNothingSteersTheTerminal gives every command names and files with such sequences.
func TestNothingSteersTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	operation := func(fields string, args ...any) string {
		quoted, _ := json.Marshal(steering)
		return fmt.Sprintf(strings.ReplaceAll(fields, "STEER", strings.Trim(string(quoted), `"`))+"\n", args...)
	}
	offer := operation(`{"client":1,"op":"offer","arg":"STEER","object":"STEER","outcome":"ok","call":1,"return":2}`)
	write("queue.jsonl", offer+
		operation(`{"client":2,"op":"poll","result":"STEER","object":"STEER","outcome":"ok","call":3,"return":4}`)+
		operation(`{"client":2,"op":"poll","result":"STEER","object":"STEER","outcome":"ok","call":5,"return":6}`))
	write("wrong.jsonl", operation(`{"client":1,"op":"STEER","outcome":"ok","call":1,"return":2}`))
	write("raw.jsonl", steering+"\n")
	write("example.json", operation(`{"format":"STEER","workload":"STEER","recipe":"STEER","message":"STEER"}`))
	write("plan.jsonl", operation(`{"round":1,"fault":"STEER"}`))
	write("auth", "nothing"+steering)
	if err := os.Mkdir("results", 0o755); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("results", "result.json"),
		operation(`{"workload":"STEER","verdict":"STEER","strategy":"STEER"`))
	write(filepath.Join("results", "a"+strings.ReplaceAll(steering, "\x9b", "")+".json"), "{")
	write(filepath.Join("results", index.BeginName), operation(`{"workload":"STEER"}`))
	for _, args := range [][]string{
		{steering}, {"list", steering}, {"--" + steering},
		{"run", steering}, {"run", "lock", "--recipe", steering}, {"run", "lock", "--faults", steering},
		{"run", "lock", "--seed", steering},
		{"live", "lock", "--servers", steering},
		{"live", "lock", "--servers", "127.0.0.1:1", "--auth", "env:" + steering},
		{"live", "lock", "--servers", "127.0.0.1:1", "--auth", "auth"},
		{"live", "lock", "--servers", "127.0.0.1:1", "--tls-ca", "no" + steering},
		{"run", "lock", "--episodes", "1", "--out", "no/" + steering + "\x00"},
		{"check", "queue.jsonl", "--model", "queue"}, {"check", "wrong.jsonl", "--model", "queue"},
		{"check", "raw.jsonl", "--model", "queue"},
		{"check", "no" + steering, "--model", "queue"}, {"check", "queue.jsonl", "--model", steering},
		{"check", "results"},
		{"explain", "queue.jsonl", "--model", "queue"}, {"explain", "queue.jsonl", "--model", "queue", "--json"},
		{"explain", "queue.jsonl", "--model", "queue", "--html", "-"}, {"explain", "example.json"},
		{"replay", "example.json"}, {"replay", "raw.jsonl"}, {"replay", "no" + steering},
		{"explain", "results"}, {"zoo", steering}, {"clean", "--servers", steering},
		{"proxy", "--listen", steering, "--servers", "127.0.0.1:1"},
	} {
		said := saying(t.Context(), args)
		if bad := steers.FindString(said); bad != "" {
			t.Errorf("%q prints %q:\n%q", args, bad, said)
		}
		if said == "" {
			t.Errorf("%q prints nothing", args)
		}
	}
}

func saying(ctx context.Context, args []string) string {
	var out strings.Builder
	run(ctx, args, console.Streams{Stdout: &out, Stderr: &out, Self: "torture"})
	return out.String()
}

// The bar of a run with neither --episodes nor --duration counts the campaign's default episodes.
func TestBarOfDefaultRun(t *testing.T) {
	b := output.NewBar(&console.Context{}, false, 0, 0)
	if _, n, of := b.Text(sim.Progress{Episodes: 500, Of: 1000}); n != 500 || of != 1000 {
		t.Errorf("500 of 1000 episodes are shown as %d of %d", n, of)
	}
}

// The line fits on the terminal, is drawn again in its place, and is gone before anything else is printed.
func TestStatusLine(t *testing.T) {
	var out strings.Builder
	l := &console.Line{To: &out, Width: 30}
	l.Show("half\x1b", 1, 2)
	l.Above(func() { out.WriteString("found\n") })
	l.Show("a text that is longer than the terminal is wide", 0, 0)
	l.End()
	l.Show("late", 1, 1)
	want := "\r" + `half\u001b [=================` + "\x1b[K\r\x1b[Kfound\n\ra text that is longer than th\x1b[K\r\x1b[K"
	if out.String() != want || console.ProgressBar(2, 2) != "["+strings.Repeat("=", console.BarWidth-3)+">] 100%" {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
