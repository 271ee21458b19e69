package main

import (
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/internal/testkit"
)

// built is the site that make site builds.
const built = "../../../out/site"

// narrow is the width of a small telephone.
const narrow = 420

// files are the files of the site, by their paths in it. Without a site the test is skipped.
func files(t *testing.T) map[string]string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(built, "index.html")); err != nil {
		t.Skip("needs the site, which make site builds: ", err)
	}
	files := map[string]string{}
	site := os.DirFS(built)
	err := fs.WalkDir(site, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(site, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// pages are the names of the pages in Markdown, in order.
func pages(files map[string]string) (pages []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".html" && !strings.HasPrefix(name, "stories/") {
			pages = append(pages, name)
		}
	}
	return pages
}

// Each page of docs/ is in the site, and its comments are not.
func TestPagesAreWhole(t *testing.T) {
	site := files(t)
	docs, err := markdown("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != len(pages(site)) {
		t.Errorf("of %d documents the site has %d: make site builds it anew", len(docs), len(pages(site)))
	}
	for _, document := range docs {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(document), "../../../docs/"), ".md")
		if site[name+".html"] == "" || !strings.Contains(site["llms.txt"], "]("+name+".md)") && name != "index" {
			t.Errorf("%s is not in the site, or not in its llms.txt", document)
		}
		for _, ext := range []string{".html", ".md"} {
			if directive := regexp.MustCompile(`(&lt;|<)!-- (run|file|shell|patch|story)\b`).FindString(site[name+ext]); directive != "" {
				t.Errorf("%s%s shows a comment: %s", name, ext, directive)
			}
		}
	}
	if !strings.Contains(site["llms-full.txt"], site["ci.md"]) {
		t.Error("llms-full.txt is without ci.md")
	}
}

var (
	references = regexp.MustCompile(`\s(?:href|src)="([^"]*)"`)
	linkOfList = regexp.MustCompile(`\]\(([^)]*)\)`)
	outside    = regexp.MustCompile(`^https?://`)
)

// Every link within the site leads to a file and a heading of it, and is relative.
func TestLinksResolve(t *testing.T) {
	site := files(t)
	for _, page := range pages(site) {
		for _, m := range references.FindAllStringSubmatch(site[page], -1) {
			if err := resolve(site, page, html.UnescapeString(m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	for _, m := range linkOfList.FindAllStringSubmatch(site["llms.txt"], -1) {
		if err := resolve(site, "llms.txt", m[1]); err != nil {
			t.Errorf("llms.txt: %v", err)
		}
	}
}

func resolve(site map[string]string, page, link string) error {
	if outside.MatchString(link) {
		return nil
	}
	u, err := url.Parse(link)
	if err != nil || u.IsAbs() || path.IsAbs(u.Path) {
		return fmt.Errorf("%s is no relative link (%v)", link, err)
	}
	name := page
	if u.Path != "" {
		name = path.Join(path.Dir(page), u.Path)
	}
	text, exists := site[name]
	if !exists {
		return fmt.Errorf("%s leads to nothing", link)
	}
	if u.Fragment != "" && !strings.Contains(text, ` id="`+html.EscapeString(u.Fragment)+`"`) {
		return fmt.Errorf("%s leads to nothing in %s", link, name)
	}
	return nil
}

// Pages are accessible in both colour schemes, and on a small telephone nothing is wider than the screen: every eighth
// page, or with ZKTORTURE_PAGES=all each of them.
func TestPagesInBrowser(t *testing.T) {
	site := files(t)
	b := browsertest.New(t)
	every := 8
	if os.Getenv("ZKTORTURE_PAGES") == "all" {
		every = 1
	}
	for i, page := range pages(site) {
		if i%every > 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			b := b.In(t)
			b.Open(filepath.Join(built, page), narrow, 800, browsertest.Dark)
			fits(t, b)
			accessible(b)
		})
	}
	t.Run("wide", func(t *testing.T) {
		b := b.In(t)
		open(b, "ci.html", browsertest.Dark)
		accessible(b)
		sidebar(t, b)
	})
	t.Run("story", func(t *testing.T) { story(t, b.In(t)) })
	t.Run("copy", func(t *testing.T) { copies(t, b.In(t)) })
	t.Run("zoo", func(t *testing.T) { folded(t, b.In(t)) })
	t.Run("menu", func(t *testing.T) { menu(t, b.In(t)) })
	t.Run("keyboard", func(t *testing.T) { byKeyboard(t, b.In(t)) })
	t.Run("search", func(t *testing.T) { search(t, b.In(t)) })
	t.Run("scheme", func(t *testing.T) { switchScheme(t, b.In(t)) })
	t.Run("served", func(t *testing.T) { served(t, b.In(t)) })
}

// open opens a page on a wide screen, with the navigation beside it.
func open(b *browsertest.Browser, page string, scheme browsertest.Scheme) {
	b.Open(filepath.Join(built, page), 1280, 900, scheme)
}

// accessible checks the open page, which is dark, also when it is light.
func accessible(b *browsertest.Browser) {
	b.Axe()
	b.Prefer(browsertest.Light)
	b.Axe()
}

// fits checks that the open page is no wider than a telephone, and that of its tables and headings nothing is hidden.
func fits(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	if cut := browsertest.Eval[[]string](b, cutTables); len(cut) > 0 {
		t.Errorf("cut, or without their labels, are tables: %q", cut)
	}
	if wide := browsertest.Eval[int](b, "document.documentElement.scrollWidth"); wide > narrow {
		t.Errorf("the page is %d pixels wide on a screen of %d", wide, narrow)
	}
}

// cutTables lists tables of many columns that are wider than their box, or have a cell that is not labelled beside its text.
const cutTables = `[...document.querySelectorAll(".table:has(th:nth-child(4))")].filter((e) => e.scrollWidth > e.clientWidth + 1 ||
  [...e.querySelectorAll("td:not(:empty)")].some((cell, i) => {
    const label = getComputedStyle(cell, "::before"), first = cell === cell.parentElement.cells[0]
    return first ? label.display !== "none" : label.content === "none" || parseFloat(label.width) > parseFloat(getComputedStyle(cell).paddingLeft)
  })).map((e) => e.textContent.trim().slice(0, 60))`

// entries is how many lines a group of the sidebar may show at once.
const entries = 12

// sidebar checks that the groups are short, and have no page of their own name.
func sidebar(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	for _, group := range browsertest.Eval[[]string](b, `[...document.querySelectorAll("#pages > details")].map((g) => g.innerText)`) {
		name, lines, _ := strings.Cut(strings.TrimSpace(group), "\n")
		if n := len(strings.Split(lines, "\n")); n > entries || strings.HasPrefix(lines, "How to\n") {
			t.Errorf("the group %s of the sidebar shows %d entries, and at most %d are read:\n%s", name, n, entries, lines)
		}
	}
}

// story checks that the home page shows a story beside its panel, or, where there is no place for that, only links it.
func story(t *testing.T, b *browsertest.Browser) {
	for width, shown := range map[int64]bool{1400: true, 1000: false, narrow: false} {
		b.Open(filepath.Join(built, "index.html"), width, 900, browsertest.Light)
		const beside = 900 // pixels, below which the panel of a story lies on it
		if w := browsertest.Eval[int](b, `document.querySelector(".story iframe").clientWidth`); shown != (w > beside) || !shown && w > 0 {
			t.Errorf("on a screen of %d pixels the story has %d", width, w)
		}
		if !browsertest.Eval[bool](b, `document.querySelector(".story a").checkVisibility()`) {
			t.Errorf("on a screen of %d pixels nothing leads to the story", width)
		}
	}
}

// copies presses the button of a block with a command and its output: the command is copied.
func copies(t *testing.T, b *browsertest.Browser) {
	open(b, "howto/known-bugs.html", browsertest.Light)
	browsertest.Eval[bool](b, `navigator.clipboard.writeText = async (text) => { window.copied = text }, true`)
	b.Do(chromedp.Click("button.copy"))
	if text := browsertest.Eval[string](b, "window.copied"); !strings.HasPrefix(text, "torture zoo ") || strings.Contains(text, "\n") {
		t.Errorf("copied is %q", text)
	}
}

// folded checks that the table of the zoo does not come all at once, and that a telephone shows long tables whole.
func folded(t *testing.T, b *browsertest.Browser) {
	open(b, "reference/zoo.html", browsertest.Light)
	if high := browsertest.Eval[int](b, "document.documentElement.scrollHeight"); high > 2000 {
		t.Errorf("the zoo is %d pixels high", high)
	}
	for _, page := range []string{"reference/zoo.html", "found.html"} {
		b.Open(filepath.Join(built, page), narrow, 800, browsertest.Dark)
		browsertest.Eval[bool](b, `(document.querySelectorAll("main details").forEach((e) => { e.open = true }), true)`)
		fits(t, b)
	}
}

// byKeyboard walks over a page by Tab: first is the link that skips the navigation, and one sees where the focus is.
func byKeyboard(t *testing.T, b *browsertest.Browser) {
	open(b, "ci.html", browsertest.Light)
	b.Do(chromedp.KeyEvent(kb.Tab))
	if skip := browsertest.Eval[string](b, "document.activeElement.hash"); skip != "#content" {
		t.Errorf("the first stop is %q and not the link that skips the navigation", skip)
	}
	for range 12 {
		if hidden := browsertest.Eval[string](b, unseenFocus); hidden != "" {
			t.Errorf("one does not see that the focus is on %s", hidden)
		}
		b.Do(chromedp.KeyEvent(kb.Tab))
	}
	open(b, "ci.html", browsertest.Light)
	b.Do(chromedp.KeyEvent(kb.Tab + kb.Enter))
	if at := browsertest.Eval[string](b, "document.activeElement.id"); at != "content" {
		t.Errorf("the link that skips the navigation leads to %q", at)
	}
}

const unseenFocus = `(() => {
  const e = document.activeElement, box = e.getBoundingClientRect(), outline = getComputedStyle(e).outlineStyle
  return outline !== "none" && box.top >= 0 && box.bottom <= innerHeight ? "" : e.outerHTML
})()`

// search finds a heading of the home page without the mouse, and goes there.
func search(t *testing.T, b *browsertest.Browser) {
	for _, keys := range []chromedp.Action[chromedp.Void]{
		chromedp.KeyEvent("/"), chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)),
	} {
		open(b, "index.html", browsertest.Dark)
		b.Do(keys, chromedp.KeyEvent("pass proves"))
		found(t, b)
		b.Axe()
		b.Do(chromedp.KeyEvent(kb.ArrowDown))
		if link := browsertest.Eval[string](b, "document.activeElement.href"); !strings.HasSuffix(link, "/index.html"+heading) {
			t.Errorf("the arrow key goes to %q and not to the first result", link)
		}
		b.Do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.Enter))
		if hash := browsertest.Eval[string](b, "location.hash"); hash != heading || searching(b) {
			t.Errorf("Enter leads to %q and not to the first result", hash)
		}
		b.Do(keys, chromedp.KeyEvent(kb.Escape))
		if searching(b) {
			t.Error("Escape does not close the search")
		}
	}
}

func searching(b *browsertest.Browser) bool {
	return browsertest.Eval[bool](b, `document.getElementById("search").open`)
}

// heading is what the search must find.
const heading = "#what-a-pass-proves"

// eventually waits until a function returns something true.
func eventually(function string) chromedp.Action[chromedp.Void] {
	return chromedp.PollFunction[chromedp.Void](function, chromedp.WithPollingTimeout(testkit.Hang))
}

// found waits until the search shows results.
func found(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	b.Do(eventually(`() => document.querySelector("#search li a")`))
	if text := browsertest.Eval[string](b, `document.getElementById("search").innerText`); !strings.Contains(text, "What a pass proves") {
		t.Errorf("a heading of the home page is not found by its words:\n%s", text)
	}
}

// switchScheme presses the button, which counts for other pages, too.
func switchScheme(t *testing.T, b *browsertest.Browser) {
	const dark = `document.documentElement.classList.contains("dark")`
	open(b, "index.html", browsertest.Light)
	b.Do(chromedp.Click(".scheme"))
	open(b, "ci.html", browsertest.Light)
	if !browsertest.Eval[bool](b, dark) {
		t.Error("the next page is light after the button Dark was pressed")
	}
	b.Do(chromedp.Click(".scheme"))
	if browsertest.Eval[bool](b, dark) {
		t.Error("the page is dark after the button Dark was pressed again")
	}
}

// menu opens the navigation of a narrow screen.
func menu(t *testing.T, b *browsertest.Browser) {
	b.Open(filepath.Join(built, "ci.html"), narrow, 800, browsertest.Light)
	b.Do(chromedp.Click(".menu"))
	if !browsertest.Eval[bool](b, `document.querySelector("#pages a").checkVisibility()`) {
		t.Error("the button Menu does not show the pages")
	}
	fits(t, b)
	b.Axe()
}

// served opens the site from a server.
func served(t *testing.T, b *browsertest.Browser) {
	server := httptest.NewServer(http.FileServer(http.Dir(built)))
	t.Cleanup(server.Close)
	b.Visit(server.URL, 1280, 900, browsertest.Light)
	b.Do(chromedp.KeyEvent("/"), chromedp.KeyEvent("pass proves"))
	found(t, b)
}
