package pages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/story/index"
)

// The page of a run on real servers is legible on a telephone and on a desk, in both colour schemes, and no label of its
// chart is cut.
func TestOperatorsPageInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../cmd/torture/operators/testdata/leader")); err != nil {
		t.Fatal(err)
	}
	result, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	slow := `{"thresholds":[{"operation":"acquire","quantile":"p99","limit_s":0.015,"took_s":0.19,"count":157,"verdict":"violation"}],` + string(result[1:])
	if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(slow), 0o644); err != nil {
		t.Fatal(err)
	}
	explain := exec.CommandContext(t.Context(), "go", "run", ".", "explain", dir)
	explain.Dir = "../../../cmd/torture"
	if out, err := explain.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, width := range []int64{420, 1400} {
		for _, scheme := range []browsertest.Scheme{browsertest.Dark, browsertest.Light} {
			b.Open(filepath.Join(dir, index.Name), width, 900, scheme)
			if pale := b.Unreadable(); len(pale) > 0 {
				t.Errorf("%d pixels: too little contrast: %q", width, pale)
			}
			if wide := browsertest.Eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the page is %d pixels wide, of %d", wide, width)
			}
			sideways(t, b)
			if cut := browsertest.Eval[[]string](b, cutLabels); len(cut) > 0 {
				t.Errorf("%d pixels: cut, or over another label: %q", width, cut)
			}
		}
	}
	if title := browsertest.Eval[string](b, `document.querySelector("h1").innerText`); !strings.HasPrefix(title, "violation: lock") {
		t.Errorf("of a run that was too slow the page says %q", title)
	}
	b.AxeEverywhere(filepath.Join(dir, index.Name))
}

// cutLabels lists labels of charts that leave their card, or the box that they are in, or lie over another.
const cutLabels = `[...document.querySelectorAll(".chart text")].filter((e, i, all) => {
  const r = e.getBoundingClientRect(), card = e.closest(".card").getBoundingClientRect();
  const over = all.some((o) => { const s = o.getBoundingClientRect();
    return o !== e && s.left < r.right && r.left < s.right && s.top + 2 < r.bottom && r.top + 2 < s.bottom; });
  const box = e.previousElementSibling, inBox = getComputedStyle(e).textAnchor === "middle" && box?.tagName === "rect" && box.closest("svg svg")
    ? box.getBoundingClientRect() : card;
  return over || r.width === 0 || r.left < Math.max(card.left, inBox.left) || r.right > Math.min(card.right, inBox.right);
}).map((e) => e.textContent)`
