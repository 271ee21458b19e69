package pages_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
	"github.com/zktorture/zktorture/zoo"
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
	t.Run("labels", func(t *testing.T) { labelsAreWhole(t, b.In(t)) })
	t.Run("tools", func(t *testing.T) { toolsInBrowser(t, b.In(t)) })
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
	file := save(t, stamps.Part(h, "order", "out of order", 3,
		func(o linearizability.Operation) bool { return o.Call == 30 }))
	b.Open(file, 390, 780, browsertest.Dark)
	narrow(t, b)
	if texts := browsertest.Eval[[]string](b, cut); len(texts) > 0 {
		t.Errorf("not whole are %q", texts)
	}
	if browsertest.Eval[bool](b, `getComputedStyle(document.querySelector(".cursor")).visibility !== "hidden"`) {
		t.Error("without a scrubber there is its line")
	}
	b.Open(file, windowWidth, windowHeight, browsertest.Dark)
	visible(t, b, "#property", "#certificate", "#operations")
	legible(t, b)
	if n := browsertest.Eval[int](b, `document.querySelectorAll("#operations tbody tr").length`); n != len(h) {
		t.Errorf("%d operations are listed, of %d", n, len(h))
	}
	b.Do(chromedp.SendKeys("#query", "poll"))
	if n := browsertest.Eval[int](b, `document.querySelectorAll("#operations tr.found").length`); n != 2 {
		t.Errorf("a search for poll marks %d operations, want 2", n)
	}
	b.AxeEverywhere(file)
}

// onTelephone checks that nothing is wider than a small window, and that the scrubber is visible.
func onTelephone(t *testing.T, b *browsertest.Browser) {
	a, c := caught(t, "W1")
	s := told(t, a, c)
	s.Compare(s, "one", "another")
	file := save(t, s)
	b.Open(file, 390, 780, browsertest.Light)
	narrow(t, b)
	if texts := browsertest.Eval[[]string](b, cut); len(texts) > 0 {
		t.Errorf("not whole are %q", texts)
	}
	visible(t, b, "#property", "#scrub", "#tree")
	top := func() float64 {
		return browsertest.Eval[float64](b, `document.querySelector(".scrubber").getBoundingClientRect().top`)
	}
	open := top()
	b.Do(chromedp.Focus("#panel"), chromedp.KeyEvent(" "))
	if top() < open+100 || browsertest.Eval[string](b, `document.getElementById("panel").getAttribute("aria-expanded")`) != "false" {
		t.Errorf("the folded panel begins at %v, and the open one at %v", top(), open)
	}
	visible(t, b, "#scrub", "#at", "#link", "#panel")
	b.Do(chromedp.KeyEvent(" "))
	if top() != open {
		t.Errorf("open again the panel begins at %v, and did at %v", top(), open)
	}
	if top := browsertest.Eval[float64](b, `new Promise((done) => {
		addEventListener("scroll", () => requestAnimationFrame(() => done(document.querySelector("#diagram .heads").getBoundingClientRect().top)), {once: true});
		scrollTo({top: scrollY + document.querySelector("#diagram").getBoundingClientRect().top + 200, behavior: "instant"});
	})`); top < -1 || top > 1 {
		t.Errorf("where the diagram is scrolled its heads are at %v", top)
	}
	one := browsertest.Eval[bool](b, `document.getElementById("at").getBoundingClientRect().bottom > document.getElementById("link").getBoundingClientRect().top`)
	if !one {
		t.Error("the button for the link is not on the line of the step")
	}
	accused := browsertest.Eval[[]float64](b, `[...document.querySelectorAll("#diagram .life:not(.server)")].map((e) => e.getBoundingClientRect().right)`)
	if len(accused) < 2 || slices.Max(accused) > 390 {
		t.Errorf("the lines of the clients are at %v, in a window of 390", accused)
	}
	b.AxeEverywhere(file)
}

// narrow checks that the page does not scroll sideways in a window of 390 pixels.
func narrow(t *testing.T, b *browsertest.Browser) {
	t.Helper()
	if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide in a window of 390", wide)
	}
}

// toolsInBrowser searches, zooms, folds, links and exports on one page, which has a second run beside it.
func toolsInBrowser(t *testing.T, b *browsertest.Browser) {
	a, c := caught(t, "W1")
	s := told(t, a, c)
	r, err := sim.Replay(a.Twin(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.Compare(story.Of(c, a.Twin(), r), "W1", "mended")
	file := save(t, s)
	b.Open(file, windowWidth, windowHeight, browsertest.Light)
	t.Run("search", func(t *testing.T) { search(t, b.In(t)) })
	t.Run("zoom", func(t *testing.T) { zoom(t, b.In(t)) })
	t.Run("fold", func(t *testing.T) { fold(t, b.In(t)) })
	t.Run("export", func(t *testing.T) { export(t, b.In(t)) })
	t.Run("print", func(t *testing.T) { printed(t, b.In(t)) })
	t.Run("permalink", func(t *testing.T) { permalink(t, b.In(t), file, s) })
	t.Run("beside", func(t *testing.T) { beside(t, b.In(t), s) })
}

// step is the step that the page shows.
func step(b *browsertest.Browser) int64 {
	return browsertest.Eval[int64](b, `Number(document.getElementById("at").textContent.match(/\d+/)[0])`)
}

func search(t *testing.T, b *browsertest.Browser) {
	seek := func(text string) {
		browsertest.Eval[bool](b, `(document.getElementById("query").select(), true)`)
		b.Do(chromedp.SendKeys("#query", text))
	}
	seek("DELETE")
	n := browsertest.Eval[int](b, `document.querySelectorAll("#diagram .hit.found").length`)
	says := func() string { return browsertest.Eval[string](b, `document.getElementById("matches").textContent`) }
	if n < 2 || says() != fmt.Sprintf("%d found", n) {
		t.Errorf("%d steps are marked, and the page says %q", n, says())
	}
	b.Do(chromedp.SendKeys("#query", kb.Enter))
	first := step(b)
	if says() != fmt.Sprintf("1 of %d", n) {
		t.Errorf("at the first match the page says %q", says())
	}
	b.Do(chromedp.Click("#previous"))
	if last := step(b); last <= first || says() != fmt.Sprintf("%d of %d", n, n) {
		t.Errorf("before the first match, at step %d, comes step %d, %q", first, last, says())
	}
	seek("lock.go:")
	if n := browsertest.Eval[int](b, `document.querySelectorAll("#diagram .hit.found").length`); n == 0 {
		t.Error("no line of code is found")
	}
	seek("no such text")
	if says() != "none" {
		t.Errorf("of what is not there the page says %q", says())
	}
}

func zoom(t *testing.T, b *browsertest.Browser) {
	width := func() float64 {
		return browsertest.Eval[float64](b, `document.getElementById("diagram").getBoundingClientRect().width`)
	}
	natural := width()
	b.Do(chromedp.Click("#larger"), chromedp.Click("#larger"), chromedp.Click("#larger"))
	large := width()
	b.Do(chromedp.Focus(".flow"), chromedp.KeyEvent("-"))
	if smaller := width(); large < 1.3*natural || smaller >= large {
		t.Errorf("the diagram is %v wide, larger %v, and a step smaller %v", natural, large, smaller)
	}
	if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > windowWidth {
		t.Errorf("with a large diagram the page is %d wide", wide)
	}
	b.Do(chromedp.KeyEvent("0"))
	if again := width(); again != natural {
		t.Errorf("the natural size is %v, and was %v", again, natural)
	}
}

func fold(t *testing.T, b *browsertest.Browser) {
	height := func(id string) float64 {
		return browsertest.Eval[float64](b, `document.getElementById("`+id+`").getBoundingClientRect().height`)
	}
	whole := height("diagram")
	b.Do(chromedp.Click("#fold"))
	if h := height("folded"); height("diagram") != 0 || h == 0 || h >= whole {
		t.Errorf("folded the diagram is %v high, and was %v", h, whole)
	}
	hidden := browsertest.Eval[int](b, `(() => {
		const frames = JSON.parse(document.getElementById("data").textContent).frames;
		return frames.find((f, i) => f.bottom > f.top && frames[i + 1]?.foldedTop === f.foldedTop).step;
	})()`)
	browsertest.Eval[bool](b, fmt.Sprintf(`(location.hash = "#step-%d", true)`, hidden))
	if !browsertest.Eval[bool](b, `(() => {
		const now = document.querySelector("#folded .now").getBoundingClientRect();
		return [...document.querySelectorAll("#folded .world-repeats")].some((e) => {
			const box = e.getBoundingClientRect();
			return now.top <= box.top && box.bottom <= now.bottom;
		});
	})()`) {
		t.Errorf("step %d is folded away, and the cursor is not at the fold", hidden)
	}
	legible(t, b)
	b.Do(chromedp.Click("#fold"))
	if height("folded") != 0 || height("diagram") != whole {
		t.Errorf("unfolded the diagram is %v high, and was %v", height("diagram"), whole)
	}
}

// export looks at what would be saved: an SVG with its own colours, and a PNG of twice its size.
func export(t *testing.T, b *browsertest.Browser) {
	browsertest.Eval[bool](b, `(() => {
		window.saved = [];
		HTMLAnchorElement.prototype.click = function () {};
		URL.createObjectURL = (blob) => { saved.push(blob); return "#"; };
		return true;
	})()`)
	b.Do(chromedp.Click("#svg"), chromedp.Click("#png"))
	b.Await("window.saved.length === 2")
	browsertest.Eval[bool](b, `(Promise.all([saved[0].text(), createImageBitmap(saved[1])]).then(([text, image]) => {
		const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
		const data = document.createElement("canvas").getContext("2d");
		data.drawImage(image, 0, 0);
		window.seen = {
			root: svg.nodeName, width: svg.getAttribute("width"), colour: /:root\{[^}]*--ink:\s*#1b2330/.test(text.slice(text.lastIndexOf(":root{"))),
			wide: image.width, type: saved[1].type, white: data.getImageData(2, 2, 1, 1).data[0],
		};
	}), true)`)
	b.Await("Boolean(window.seen)")
	seen := browsertest.Eval[struct {
		Root, Width, Type string
		Colour            bool
		Wide, White       int
	}](b, "window.seen")
	width, err := strconv.ParseFloat(seen.Width, 64)
	if err != nil || seen.Root != "svg" || !seen.Colour || seen.Type != "image/png" || seen.Wide != int(2*width) || seen.White != 255 {
		t.Errorf("saved is %+v", seen)
	}
}

// printed checks that on paper everything is light and whole, and what only a screen can use is gone.
func printed(t *testing.T, b *browsertest.Browser) {
	b.OnPaper(true)
	defer b.OnPaper(false)
	for _, selector := range []string{".tools", ".side", ".command button"} {
		if browsertest.Eval[bool](b, fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).display !== "none"`, selector)) {
			t.Errorf("%s is printed", selector)
		}
	}
	if browsertest.Eval[bool](b, `(dispatchEvent(new Event("beforeprint")), !document.querySelector("details").open)`) {
		t.Error("the text of the story is not printed")
	}
}

// permalink opens the page at a step, which is in the window and marked; a click on a number copies its address.
func permalink(t *testing.T, b *browsertest.Browser, file string, s *story.Story) {
	last := s.Events[len(s.Events)-1].Step
	b.Open(file+fmt.Sprintf("#step-%d", last), 900, 300, browsertest.Dark)
	if at := step(b); at != last {
		t.Errorf("the address of step %d opens step %d", last, at)
	}
	if !browsertest.Eval[bool](b, `(() => {
		const box = document.querySelector("#diagram .now").getBoundingClientRect();
		return scrollY > 0 && box.height > 10 && box.top >= 0 && box.bottom <= innerHeight;
	})()`) {
		t.Error("the step of the address is not in the window")
	}
	browsertest.Eval[bool](b, `(navigator.clipboard.writeText = async (text) => { window.copied = text; },
		document.querySelector("#diagram .hit.number[data-frame='1']").dispatchEvent(new MouseEvent("click", {bubbles: true})), true)`)
	want := fmt.Sprintf("#step-%d", step(b))
	if copied := browsertest.Eval[string](b, `window.copied ?? ""`); !strings.HasSuffix(copied, ".html"+want) || step(b) == last {
		t.Errorf("a click on a step's number copies %q, want an address that ends with %s", copied, want)
	}
	if at := browsertest.Eval[string](b, "location.hash"); at != want {
		t.Errorf("the page's address is %s, want %s", at, want)
	}
}

func beside(t *testing.T, b *browsertest.Browser, s *story.Story) {
	rows := browsertest.Eval[int](b, `document.querySelectorAll("#beside tbody tr:not(.parting)").length`)
	before := browsertest.Eval[int](b, `[...document.querySelectorAll("#beside tbody tr")].findIndex((r) => r.id === "parting")`)
	if rows != len(s.Beside.Rows) || before != s.Beside.Parts {
		t.Errorf("%d rows with the parting before row %d, want %d and %d", rows, before, len(s.Beside.Rows), s.Beside.Parts)
	}
}

func save(t *testing.T, s *story.Story) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.html")
	var page strings.Builder
	if err := s.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
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

// overlapping finds texts and bolts of one picture whose boxes overlap by more than a pixel. Heads lie on what is scrolled.
const overlapping = `[...document.querySelectorAll("svg.picture")].flatMap((svg) => {
  const pinned = svg.querySelector(".heads")?.transform.baseVal.numberOfItems ? ".heads *" : "none";
  const texts = [...svg.querySelectorAll("text, #certificate .bolt")].filter((e) => !e.matches(pinned))
    .map((e) => [e.textContent || "a fault", e.getBoundingClientRect()]);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  return texts.flatMap(([t, a], i) => texts.slice(i + 1).filter(([, b]) => meet(a, b)).map(([u]) => t + " / " + u));
})`

// cut finds numbers on several lines, texts that are not wholly in their picture, rows of the diagram that do not say all of what their title says,
// arrows that end among the texts, and elements of the page that are wider than they may be.
const cut = `[...document.querySelectorAll("svg.picture:not([hidden])")].flatMap((svg) => {
  const box = svg.getBoundingClientRect(), of = (e) => e.getBoundingClientRect(), bare = (t) => t.replace(/\s/g, "");
  const texts = [...svg.querySelectorAll("text")], words = [...svg.querySelectorAll(".words")];
  const told = Math.min(...words.map((g) => of(g.querySelector("text")).left));
  return [
    ...texts.filter((e) => of(e).left < box.left - 1 || of(e).right > box.right + 1 || of(e).bottom > box.bottom + 1),
    ...words.filter((g) => !g.querySelector("text.asked") && !bare(g.querySelector("title").textContent.replace(/^! /, ""))
      .startsWith(bare([...g.querySelectorAll("text")].map((e) => e.textContent).join("")).replace(/^(c\d+)(u\d+)?/, (_, c, u) =>
        c + (u && u !== "u1" ? "(user" + u.slice(1) + ")" : "") + ":"))),
    ...[...svg.querySelectorAll(".message")].filter((e) => of(e).right > told),
  ].map((e) => e.textContent || e.className.baseVal);
}).concat([...document.querySelectorAll("body, header, main, .scrubber, .hint, .card:not(.flow):not(.certificate), h1, button")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.id || e.className || e.tagName))
  .concat([...document.querySelectorAll(".number")].filter((e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return range.getClientRects().length > 1;
  }).map((e) => e.textContent))`

// big is a story with many clients and nothing minimised.
func big(t *testing.T, id string, clients int) *story.Story {
	t.Helper()
	animals, err := zoo.Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	w := animals[0].Broken()
	cfg := sim.Config{Episodes: 3000, Seed: 1, Clients: clients, Faults: animals[0].Faults(), NoFaultsAtAll: true,
		NoShrink: true, Until: animals[0].Property, Workers: 1}
	for ; cfg.Seed < 20; cfg.Seed++ {
		r, err := sim.Run(t.Context(), w, cfg)
		if err != nil || len(r.Violations) == 0 {
			t.Fatalf("nothing was found: %v", err)
		}
		c, err := cfg.Counterexample(r, r.Violations[0])
		if err != nil {
			t.Fatal(err)
		}
		again, err := sim.Replay(w, c)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Record.Users) == clients {
			return story.Of(c, w, again)
		}
	}
	t.Fatalf("no story of %s has %d clients", id, clients)
	return nil
}

// labelsAreWhole looks at stories of one, two, three and five clients, and of six kinds, in two windows.
func labelsAreWhole(t *testing.T, b *browsertest.Browser) {
	stories := map[string]*story.Story{"LK10 of five": big(t, "LK10", 5), "X5 of five": big(t, "X5", 5)}
	for _, id := range shown {
		a, c := caught(t, id)
		stories[id] = told(t, a, c)
	}
	for name, s := range stories {
		file := save(t, s)
		for _, width := range []int64{420, 1400} {
			b.Open(file, width, 900, browsertest.Light)
			if texts := browsertest.Eval[[]string](b, cut); len(texts) > 0 {
				t.Errorf("%s, %d clients, at %d pixels: not whole are %q", name, len(s.Clients), width, texts)
			}
			legible(t, b)
			whole := len(s.Clients) == 5 && width == 420
			if beyond := browsertest.Eval[[]string](b, `[...document.querySelectorAll("#diagram text, #folded text")].filter((e) => e.getBoundingClientRect().right > innerWidth)
				.map((e) => e.textContent)`); whole && len(beyond) > 0 {
				t.Errorf("%s: beyond a telephone's window are %q", name, beyond)
			}
			if asked := browsertest.Eval[int](b, `document.querySelectorAll("#diagram .operation.asked").length`); whole && asked == 0 {
				t.Errorf("%s: the operations in question are not among those drawn", name)
			}
			if tops := browsertest.Eval[int](b, `new Set([...document.querySelectorAll(".row .card")].map((e) => e.getBoundingClientRect().top)).size`); width == 1400 && tops != 1 {
				t.Errorf("%s: the cards of one row begin at %d heights", name, tops)
			}
		}
	}
}

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

// znodesAfter are the paths of the znodes that are there after a step.
func znodesAfter(s *story.Story, step int64) (paths []string) {
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			if l.From <= step && (l.Until < 0 || step < l.Until) {
				paths = append(paths, z.Path)
			}
		}
	}
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
		want, got := znodesAfter(s, step), tree(b)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the tree after step %d (-story +page):\n%s", step, d)
		}
		text := browsertest.Eval[string](b, `document.getElementById("at").textContent`)
		if !strings.HasPrefix(text+" ", fmt.Sprintf("step %d ", step)) {
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
