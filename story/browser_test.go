package story_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
)

// The window in which the certificate must be seen without scrolling.
const (
	windowWidth  = 1280
	windowHeight = 800
)

// shown are the animals whose pages are opened: a lost wake-up, two waiting users of a session, three clients,
// lagging servers, a barrier with a long wait, an election. With -short there are two.
var shown = []string{"W1", "LK6", "LK10", "DQ7", "B4", "E4"}

// TestPagesInBrowser opens pages as a reader does, all in one browser.
func TestPagesInBrowser(t *testing.T) {
	b := browsertest.New(t)
	t.Run("history", func(t *testing.T) { historyInBrowser(t, b.In(t)) })
	t.Run("telephone", func(t *testing.T) { onTelephone(t, b.In(t)) })
	ids := shown
	if testing.Short() {
		ids = ids[:2]
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			b := b.In(t)
			a, c := caught(t, id)
			s := told(t, a, c)
			file := save(t, s)
			for _, scheme := range []browsertest.Scheme{browsertest.Light, browsertest.Dark} {
				b.Open(file, windowWidth, windowHeight, scheme)
				legible(t, b)
				visible(t, b, "#property", "#sentence", ".command button", "#certificate")
			}
			if id == ids[0] {
				b.RefusesForeignScripts(file)
				b.Open(file, windowWidth, windowHeight, browsertest.Light)
			}
			scrubByKeyboard(t, b, s)
			scrubByMouse(t, b)
		})
	}
}

// historyInBrowser checks that a history's page has the certificate and the operations, and no scrubber.
func historyInBrowser(t *testing.T, b *browsertest.Browser) {
	h := linearizability.History{
		{Client: 1, Op: "offer", Outcome: linearizability.OK, Call: 10, Return: 20},
		{Client: 2, Op: "poll", Outcome: linearizability.Unknown, Call: 15, Return: linearizability.Forever},
		{Client: 2, Op: "poll", Outcome: linearizability.OK, Call: 30, Return: 40},
	}
	b.Open(save(t, story.FromHistory(h, "order", "out of order", 3,
		func(o linearizability.Operation) bool { return o.Call == 30 })), windowWidth, windowHeight, browsertest.Dark)
	visible(t, b, "#property", "#certificate", "#operations")
	legible(t, b)
	if n := browsertest.Eval[int](b, `document.querySelectorAll("#operations tbody tr").length`); n != len(h) {
		t.Errorf("%d operations are listed, of %d", n, len(h))
	}
}

// onTelephone checks that nothing is wider than a small window, and that the scrubber is visible.
func onTelephone(t *testing.T, b *browsertest.Browser) {
	a, c := caught(t, "W1")
	b.Open(save(t, told(t, a, c)), 390, 780, browsertest.Light)
	if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide in a window of 390", wide)
	}
	visible(t, b, "#property", "#scrub", "#tree")
}

func save(t *testing.T, s *story.Story) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.html")
	if err := os.WriteFile(file, []byte(pageOf(t, s)), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func legible(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	if pale := b.Unreadable(); len(pale) > 0 {
		t.Errorf("too little contrast: %q", pale)
	}
	if over := browsertest.Eval[[]string](b, overlapping); len(over) > 0 {
		t.Errorf("texts are written over one another: %q", over)
	}
}

// overlapping finds texts of one picture whose boxes overlap by more than a pixel.
const overlapping = `[...document.querySelectorAll("svg.picture")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return texts.flatMap(([t, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([u]) => t + " / " + u));
})`

// visible checks that elements are wholly in the window, without scrolling.
func visible(t *testing.T, b *browsertest.Browser, selectors ...string) {
	t.Helper()
	for _, selector := range selectors {
		if !browsertest.Eval[bool](b, fmt.Sprintf(`(() => {
			const e = document.querySelector(%q);
			const box = e && e.getBoundingClientRect();
			return Boolean(e) && box.width > 0 && scrollY === 0 &&
				box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
		})()`, selector)) {
			t.Errorf("%s is not seen without scrolling", selector)
		}
	}
}

// tree is the tree of znodes on the page.
func tree(b *browsertest.Browser) []string {
	paths := browsertest.Eval[[]string](b, `[...document.querySelectorAll("#tree li:not(.gone)")].map((e) => e.title)`)
	slices.Sort(paths)
	return paths
}

// scrubByKeyboard steps through the whole story and compares the tree at each step with the story's.
func scrubByKeyboard(t *testing.T, b *browsertest.Browser, s *story.Story) {
	t.Helper()
	b.Do(chromedp.KeyEvent(kb.Home))
	changes, steps := 0, 0
	var before []string
	for last := -1; ; {
		at := browsertest.Eval[int](b, `Number(document.getElementById("scrub").value)`)
		if at == last {
			break
		}
		last, steps = at, steps+1
		step := browsertest.Eval[int64](b,
			fmt.Sprintf(`JSON.parse(document.getElementById("data").textContent).frames[%d].step`, at))
		var want []string
		for _, p := range s.Tree(step) {
			want = append(want, s.Znodes[p.Znode].Path)
		}
		got := tree(b)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the tree after step %d (-story +page):\n%s", step, d)
		}
		text := browsertest.Eval[string](b, `document.getElementById("at").textContent`)
		if !strings.HasPrefix(text, fmt.Sprintf("step %d ", step)) {
			t.Errorf("after step %d the page says %q", step, text)
		}
		if steps > 1 && !slices.Equal(before, got) {
			changes++
		}
		before = got
		b.Do(chromedp.KeyEvent(kb.ArrowRight))
	}
	if changes == 0 || steps < len(s.Curve) {
		t.Errorf("in %d steps of %d the tree has changed %d times", steps, len(s.Curve), changes)
	}
}

// scrubByMouse drags along the certificate, clicks a row of the diagram, and uses the buttons.
func scrubByMouse(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	frame := func() int { return browsertest.Eval[int](b, `Number(document.getElementById("scrub").value)`) }
	last := browsertest.Eval[int](b, `Number(document.getElementById("scrub").max)`)
	b.Do(chromedp.KeyEvent(kb.End))
	if frame() != last {
		t.Errorf("End leads to %d of %d", frame(), last)
	}
	browsertest.Eval[bool](b, `(scrollTo(0, 0), true)`)
	box := browsertest.Eval[[]float64](b, `(() => {
		const b = document.querySelector("#certificate .scrub").getBoundingClientRect();
		return [b.left, b.right, (b.top + b.bottom) / 2];
	})()`)
	b.Do(chromedp.DragAndDropXY(box[1]-2, box[2], box[0]+2, box[2]))
	if frame() != 0 {
		t.Errorf("dragging to the left end of the certificate leads to %d", frame())
	}
	b.Do(chromedp.Click("#forth"))
	if frame() != 1 {
		t.Errorf("the button forward leads to %d", frame())
	}
	row := browsertest.Eval[[]float64](b, `(() => {
		const e = document.querySelector("#diagram .hit[data-frame='2']");
		e.scrollIntoView({block: "center"});
		const b = e.getBoundingClientRect();
		return [b.left + 5, b.top + 5];
	})()`)
	b.Do(chromedp.MouseClickXY(row[0], row[1]))
	if frame() != 2 {
		t.Errorf("a click on a row of the diagram leads to %d", frame())
	}
}
