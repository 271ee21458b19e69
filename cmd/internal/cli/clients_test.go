package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/output"
)

// The workers' standard error is kept up to a limit; a note says that there was more.
func TestWorkersLogIsBounded(t *testing.T) {
	dir := t.TempDir()
	file, err := (&output.Folder{Dir: dir, Named: true}).Create(stderrName)
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
