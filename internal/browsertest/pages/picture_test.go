package pages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zktorture/zktorture/internal/browsertest"
)

// Porcupine's picture names the clients of its rows, and can be moved by keyboard where it is wider than the window. So
// does that of a kind without a model, which has no order to jump in.
func TestPictureInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	for model, history := range map[string]string{
		"queue": `{"client":1,"op":"offer","arg":"a","result":null,"outcome":"ok","call":1,"return":2}
{"client":2,"op":"poll","arg":null,"result":"a","outcome":"ok","call":3,"return":6}
{"client":3,"op":"poll","arg":null,"result":"a","outcome":"ok","call":4,"return":7}
`,
		"lockingqueue": `{"client":1,"op":"offer","arg":"a","result":null,"outcome":"ok","call":1,"return":2}
{"client":2,"op":"claim","arg":null,"result":"a","outcome":"ok","call":3,"return":4}
{"client":3,"op":"claim","arg":null,"result":"a","outcome":"ok","call":5,"return":6}
`,
	} {
		recorded, page := filepath.Join(dir, model+".jsonl"), filepath.Join(dir, model+".html")
		if err := os.WriteFile(recorded, []byte(history), 0o644); err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), "go", "run", ".", "check", recorded, "--model", model, "--html", page)
		check.Dir = "../../../cmd/torture"
		out, err := check.CombinedOutput()
		if _, made := os.Stat(page); made != nil {
			t.Fatalf("%v: %s", err, out)
		}
		b.AxeEverywhere(page)
		if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > 1400 {
			t.Errorf("%s: the page is %d pixels wide, of 1400", model, wide)
		}
		if names := browsertest.Eval[int](b, `[...document.querySelectorAll("#canvas text")].filter((e) => /^client \d$/.test(e.textContent)).length`); names < 2 {
			t.Errorf("%s: %d rows are named", model, names)
		}
		if jumps := browsertest.Eval[bool](b, `document.getElementById("jump-link").getBoundingClientRect().width > 0`); jumps != (model == "queue") {
			t.Errorf("%s: one can jump to the first error: %t", model, jumps)
		}
	}
}
