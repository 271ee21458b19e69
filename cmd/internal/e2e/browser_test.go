package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
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

// The page of a campaign says how far it is while it runs, and what was found when it has ended, on a desk and on a
// telephone.
func TestCampaignInBrowser(t *testing.T) {
	b := browser.New(t)
	t.Chdir(t.TempDir())
	plan := `{"format": "zktorture plan 1", "name": "night", "canary": "none", "episodes": 40,
		"jobs": [{"kinds": ["queue"], "recipes": ["published/DistributedQueue"], "faults": "loss"}]}`
	if err := os.WriteFile("plan.json", []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	start := func(workers string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "campaign", "start", "plan.json", "--dir", "night", "--workers", workers)
		cmd.Env = append(os.Environ(), asTorture+"=1")
		return cmd
	}
	fits := func(heading string, open func(width int64)) {
		t.Helper()
		for _, width := range []int64{390, 1280} {
			open(width)
			if wide := browser.Eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("in a window of %d pixels the page is %d wide", width, wide)
			}
			if is := browser.Eval[string](b, `document.querySelector("h1").innerText`); is != heading {
				t.Errorf("its heading is %q, not %q", is, heading)
			}
			if cell := browser.Eval[string](b, `document.querySelector("table").innerText`); !strings.Contains(cell, "DistributedQueue") {
				t.Errorf("its jobs are %q", cell)
			}
		}
	}

	running := start("0")
	said, err := running.StderrPipe()
	if err == nil {
		err = running.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	address, lines := "", bufio.NewScanner(said)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "More workers: ") { // then it has begun
		if page, ok := strings.CutPrefix(lines.Text(), "Page: "); ok {
			address = page
		}
	}
	fits("Campaign night: running", func(width int64) { b.Visit(address, width, 800) })
	_ = running.Process.Kill()
	_ = running.Wait()

	if out, err := start("1").CombinedOutput(); err == nil {
		t.Fatalf("nothing was found:\n%s", out)
	}
	fits("Campaign night: violation", func(width int64) { b.Open("night/report/index.html", width, 800) })
	story := browser.Eval[string](b, `(document.querySelector("summary").click(), document.querySelector("details pre").innerText)`)
	if !strings.Contains(story, "children+watch queue") {
		t.Errorf("the story is %q", story)
	}
	example := browser.Eval[string](b, `document.querySelector("details a").getAttribute("href")`)
	if _, err := os.Stat(filepath.Join("night/report", example)); err != nil {
		t.Error(err)
	}
}
