package storyindex_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/storyindex"
)

// everything makes a folder with all kinds of results.
func everything(t *testing.T) string {
	t.Helper()
	dir, o := results(t)
	o.Model = judging().Model
	one := fmt.Sprintf(onObject, "order", "b came before a", "queue-ours-order-1.jsonl")
	built(t, dir, map[string]string{
		"live/result.json":              fmt.Sprintf(onServers, one),
		"live/history.jsonl":            rounds(500, 20),
		"live/queue-ours-order-1.jsonl": rounds(1, 0),
		"live/course.jsonl":             aCourse(700, "kill"),
	}, o)
	return dir
}

// The page is legible in both colour schemes, its plots are not empty, and all its links lead to files.
func TestIndexInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := everything(t)
	for _, scheme := range []browsertest.Scheme{browsertest.Dark, browsertest.Light} {
		b.Open(filepath.Join(dir, storyindex.Name), 1280, 800, scheme)
		if pale := b.Unreadable(); len(pale) > 0 {
			t.Errorf("too little contrast: %q", pale)
		}
		if n := browsertest.Eval[int](b, `document.querySelectorAll(".plot canvas").length`); n != 9 {
			t.Errorf("%d plots are drawn, not 9", n)
		}
		for _, plot := range browsertest.Eval[[]string](b, wide) {
			t.Errorf("a plot is wider than its place: %s", plot)
		}
		for _, plot := range browsertest.Eval[[]string](b, bare) {
			t.Errorf("a plot lacks a line of its own colour: %s", plot)
		}
		if split := browsertest.Eval[[]string](b, broken); len(split) > 0 {
			t.Errorf("on several lines are %q", split)
		}
		if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > 1280 {
			t.Errorf("the page is %d pixels wide", wide)
		}
	}
	b.RefusesForeignScripts(filepath.Join(dir, storyindex.Name))
	b.Open(filepath.Join(dir, storyindex.Name), 1280, 800, browsertest.Light)
	linksLead(t, b, dir)
	b.Do(chromedp.Click("#violations .links a"))
	b.Do(chromedp.WaitVisible("#certificate"))
	if title := browsertest.Eval[string](b, "document.title"); !strings.Contains(title, "order") {
		t.Errorf("the link leads to %q", title)
	}
}

// bare lists the lines of plots whose colour is missing from the canvas. Later lines may cover earlier ones, so a
// plot with many lines must show half of them.
const bare = `[...document.querySelectorAll(".uplot")].flatMap((plot) => {
  const canvas = plot.querySelector("canvas"), style = getComputedStyle(document.documentElement);
  const blank = () => Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
  const copy = blank().getContext("2d", { willReadFrequently: true });
  const probe = blank().getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const seen = new Set(new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer));
  const names = [...plot.querySelectorAll(".u-legend .u-label")].slice(1).map((e) => e.textContent);
  const missing = names.filter((_, i) => {
    probe.fillStyle = style.getPropertyValue("--line" + (i % 8 + 1)).trim();
    probe.fillRect(0, 0, 1, 1);
    return !seen.has(new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0]);
  });
  return names.length === 0 || missing.length * 2 > names.length ? [names.join() + " lacks " + missing.join()] : [];
})`

// wide lists the plots that are wider than their place, and cover what is beside them.
const wide = `[...document.querySelectorAll(".plot")].filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.textContent)`

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

// A page without results has no plots and no script.
func TestEmptyIndexInBrowser(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	built(t, dir, nil, storyindex.Options{})
	b.Open(filepath.Join(dir, storyindex.Name), 1280, 800, browsertest.Light)
	if text := browsertest.Eval[string](b, "document.body.innerText"); !strings.Contains(text,
		"There are no results in this folder") {
		t.Errorf("the page says %q", text)
	}
}

// The index of this repository's results can be made.
func TestIndexOfOurResults(t *testing.T) {
	b := browsertest.New(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../results")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "campaign")); err != nil { // its nights have pages of their own
		t.Fatal(err)
	}
	index, _ := built(t, dir, nil, storyindex.Options{})
	if len(index.Runs) < 10 || len(index.Documents) < 4 || len(index.Problems) > 0 {
		t.Errorf("%d runs, %d texts, and problems: %+v", len(index.Runs), len(index.Documents), index.Problems)
	}
	for _, scheme := range []browsertest.Scheme{browsertest.Dark, browsertest.Light} {
		b.Open(filepath.Join(dir, storyindex.Name), 1280, 800, scheme)
		if pale := b.Unreadable(); len(pale) > 0 {
			t.Errorf("too little contrast: %q", pale)
		}
		if split := browsertest.Eval[[]string](b, broken); len(split) > 0 {
			t.Errorf("on several lines are %q", split)
		}
	}
	linksLead(t, b, dir)
}
