package torturecli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The command is a worker: it reads an assignment from standard input, and reports errors on standard output.
func TestWorkerCommand(t *testing.T) {
	for args, of := range map[string][2]string{
		"worker":                 {"nothing", `unknown workload \"nothing\"`},
		"worker --recipe=better": {"lock", `unknown recipe \"better\" for lock`},
	} {
		var c struct {
			Worker workerCmd `cmd:"" hidden:""`
		}
		parser, err := kong.New(&c)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.Parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		from(t, `{"zktorture":1,"kind":"`+of[0]+`","servers":"h:1","session_timeout_ms":2000}`+"\n")
		if err := parsed.Run(&commandContext{t.Context(), streams{out: &out}}); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(out.String(), `{"zktorture":1,"error":"`+of[1]) {
			t.Errorf("%s: it says %s", args, out.String())
		}
	}
}

// from sets a test's standard input.
func from(t *testing.T, text string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = in
	t.Cleanup(func() {
		os.Stdin = before
		in.Close()
	})
}

// The workers' standard error is kept up to a limit; a note says that there was more.
func TestWorkersLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	file, err := (&output{dir: dir, named: true}).create(stderrName)
	if err != nil {
		t.Fatal(err)
	}
	w := &boundedLog{out: file, left: stderrMax}
	line := bytes.Repeat([]byte("x"), 1<<20)
	for range 100 {
		if n, err := w.Write(line); n != len(line) || err != nil {
			t.Fatalf("%d bytes of %d are taken: %v", n, len(line), err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, stderrName))
	if err != nil || len(kept) < stderrMax || len(kept) > stderrMax+200 ||
		!bytes.Contains(kept, []byte("the rest is not kept")) {
		t.Errorf("%d bytes are kept, %v: %q", len(kept), err, kept[max(0, len(kept)-100):])
	}
}
