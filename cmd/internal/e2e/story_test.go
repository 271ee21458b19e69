package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/zktorture/zktorture/cmd/internal/browser"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/zoo/published"
)

// The page of a story says what broke, fits a desk and a telephone, and its steps can be gone through by keyboard.
func TestStoryInBrowser(t *testing.T) {
	b := browser.New(t)
	w, err := workload.Find("lock", "published/WriteLock")
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Episodes: 200, Seed: 1, Faults: world.NoFaults, NoFaultsAtAll: true}
	result, err := sim.Run(t.Context(), w, cfg)
	if err != nil || len(result.Violations) == 0 {
		t.Fatal(result.Verdict, err)
	}
	example, err := cfg.Counterexample(result, result.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	told, err := story.Tell(t.Context(), w, example)
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	if err := told.HTML(&page); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "story.html")
	if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{390, 1280} {
		b.Open(file, width, 800)
		if wide := browser.Eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("in a window of %d pixels the page is %d wide", width, wide)
		}
		if text := browser.Eval[string](b, `document.getElementById("property").innerText`); !strings.Contains(text, told.Property) {
			t.Errorf("the page names %q, and not %s", text, told.Property)
		}
	}
	scrub := func() int { return browser.Eval[int](b, `Number(document.getElementById("scrub").value)`) }
	b.Key(kb.Home)
	steps := 1
	for last := scrub(); ; steps++ {
		b.Key(kb.ArrowRight)
		at := scrub()
		if at == last {
			break
		}
		last = at
		step := browser.Eval[int64](b, fmt.Sprintf(`JSON.parse(document.getElementById("data").textContent).frames[%d].step`, at))
		text := browser.Eval[string](b, `document.getElementById("at").textContent`)
		if !strings.HasPrefix(text+" ", fmt.Sprintf("step %d ", step)) {
			t.Errorf("after step %d the page says %q", step, text)
		}
	}
	if steps < 5 {
		t.Errorf("there are %d steps", steps)
	}
}
