package pages_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
)

// The index of this repository's results and a counterexample is legible in both colour schemes, and its links lead to
// files.
func TestIndexInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../results")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "campaign")); err != nil { // its nights have pages of their own
		t.Fatal(err)
	}
	animal, c := caught(t, "W1")
	file, err := os.Create(filepath.Join(dir, "found <1>.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	tell := func(ctx context.Context, c *sim.Counterexample, _ string) (*story.Story, error) {
		return story.Tell(ctx, animal.Broken(), c)
	}
	found, err := index.Build(t.Context(), dir, index.Options{Tell: tell})
	if err != nil || len(found.Runs) < 10 || len(found.Problems) > 0 {
		t.Fatalf("%v: %+v", err, found)
	}
	page := filepath.Join(dir, index.Name)
	for width, scheme := range map[int64]browsertest.Scheme{1280: browsertest.Dark, 1281: browsertest.Light, 420: browsertest.Light} {
		b.Open(page, width, 800, scheme)
		sideways(t, b)
		if pale := b.Unreadable(); len(pale) > 0 {
			t.Errorf("too little contrast: %q", pale)
		}
		if split := browsertest.Eval[[]string](b, broken); len(split) > 0 {
			t.Errorf("on several lines are %q", split)
		}
		if wide := browsertest.Eval[int64](b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d pixels wide, of %d", wide, width)
		}
	}
	b.RefusesForeignScripts(page)
	b.Open(page, 1280, 800, browsertest.Light)
	linksLead(t, b, dir)
	b.Do(chromedp.Click("#violations .links a"))
	b.Do(chromedp.WaitVisible("#certificate"))
	if title := browsertest.Eval[string](b, "document.title"); !strings.Contains(title, animal.Property) {
		t.Errorf("the link leads to %q", title)
	}
	b.AxeEverywhere(page)
}

// sideways reports tables that are wider than their card, and labels of cells that are empty.
func sideways(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	if alone := browsertest.Eval[[]string](b, `innerWidth > 700 ? [] : [...document.querySelectorAll(".stack td:empty")].filter((e) => e.offsetHeight > 0)
		.map((e) => e.dataset.label)`); len(alone) > 0 {
		t.Errorf("nothing is said of %q", alone)
	}
	if wide := browsertest.Eval[[]string](b, `[...document.querySelectorAll(".wide")].filter((e) => e.scrollWidth > e.clientWidth + 1)
		.map((e) => e.innerText.slice(0, 60))`); len(wide) > 0 {
		t.Errorf("wider than their cards are %q", wide)
	}
}

// broken lists numbers and verdicts that are wrapped.
const broken = `[...document.querySelectorAll("td.number, td .verdict")].filter((e) => {
  const range = document.createRange();
  range.selectNodeContents(e);
  return new Set([...range.getClientRects()].map((r) => r.top)).size > 1;
}).map((e) => e.textContent)`

// linksLead follows all links of the page to files.
func linksLead(t *testing.T, b *browsertest.Browser, dir string) {
	t.Helper()
	links := browsertest.Eval[[]string](b, `[...document.querySelectorAll("a")].map((a) => a.href)`)
	if len(links) < 20 {
		t.Errorf("the page has %d links", len(links))
	}
	for _, link := range links {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.FromSlash(u.Path))
		if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(u.Path, filepath.ToSlash(dir)) {
			t.Errorf("%s leads to no file of the folder: %v", link, err)
		}
	}
}
