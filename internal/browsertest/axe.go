package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeFile is axe-core, where npm puts it for the documentation site.
const axeFile = "docs/node_modules/axe-core/axe.min.js"

// Axe checks the open page with axe-core, and fails the test for each problem that is serious or critical. Without
// axe-core the test is skipped.
func (b *Browser) Axe() {
	b.t.Helper()
	for _, problem := range b.problems() {
		b.t.Errorf("axe-core: %s", problem)
	}
}

// AxeEverywhere opens a file on a telephone and on a desk, light and dark, with all that is folded open, and checks each as
// [Browser.Axe] does.
func (b *Browser) AxeEverywhere(file string) {
	b.t.Helper()
	for _, width := range []int64{420, 1400} {
		for _, scheme := range []Scheme{Light, Dark} {
			b.Open(file, width, 900, scheme)
			Eval[bool](b, `(document.querySelectorAll("details").forEach((e) => { e.open = true; }), true)`)
			b.Axe()
		}
	}
}

// problems are those of the page itself; pages that it embeds are left out.
func (b *Browser) problems() []string {
	b.t.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](axe(b.t)))
	return Eval[[]string](b, runAxe)
}

const runAxe = `axe.run(document, {iframes: false, preload: false, resultTypes: ["violations"]}).then((results) => results.violations
  .filter((v) => ["serious", "critical"].includes(v.impact))
  .map((v) => v.impact + ": " + v.help + " (" + v.id + "): " + v.nodes.map((n) => n.target.join(" ")).join(", ")))`

// axe returns the text of axe-core. Tests run somewhere below the root of the repository.
func axe(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if text, err := os.ReadFile(filepath.Join(folder, axeFile)); err == nil {
			return string(text)
		}
	}
	t.Skip("needs axe-core, which make site installs: there is no " + axeFile)
	return ""
}
