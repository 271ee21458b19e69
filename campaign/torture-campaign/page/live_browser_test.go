package page

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/zktorture/zktorture/internal/browsertest"
	"github.com/zktorture/zktorture/internal/webpage"
)

// serving serves a page on loopback until stop is called.
func serving(t *testing.T, l *Live, address string) (origin string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: webpage.OwnOnly(l.Handler())}
	go server.Serve(listener)
	stop = func() { server.Close() }
	t.Cleanup(stop)
	return "http://" + listener.Addr().String(), stop
}

// await waits until an expression is true.
func await(b *browsertest.Browser, expression string) {
	b.Do(chromedp.Poll[chromedp.Void](expression))
}

// legible fails if the page is too pale, or has to be moved sideways.
func legible(t *testing.T, b *browsertest.Browser, width int) {
	t.Helper()
	if pale := b.Unreadable(); len(pale) > 0 {
		t.Errorf("at %d pixels there is too little contrast: %q", width, pale)
	}
	if wide := browsertest.Eval[int](b, `document.documentElement.scrollWidth`); wide > width {
		t.Errorf("at %d pixels the page is %d wide: %v", width, wide, browsertest.Eval[[]string](b, fmt.Sprintf(beyond,
			width)))
	}
	if cut := browsertest.Eval[[]string](b, moved); len(cut) > 0 {
		t.Errorf("at %d pixels there are sideways to be moved: %q", width, cut)
	}
}

// beyond lists what reaches beyond a width.
const beyond = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > %d)
  .map((e) => e.tagName + "." + e.className + " " + e.textContent.slice(0, 30)).slice(0, 5)`

// moved lists what has to be moved sideways, but for the matrix of coverage and the diagrams of stories.
const moved = `[...document.querySelectorAll(".card, .stack, .banner, .tiles > div, .plot, details")]
  .filter((e) => !e.hidden && e.id !== "coverage" && e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.tagName + "#" + e.id + "." + e.className)`

// visible counts the things of a list that are shown.
func visible(b *browsertest.Browser, selector string) int {
	return browsertest.Eval[int](b,
		fmt.Sprintf(`[...document.querySelectorAll(%q)].filter((e) => e.offsetParent).length`, selector))
}

func text(b *browsertest.Browser, selector string) string {
	return browsertest.Eval[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// The page is legible in both colour schemes, wide and narrow, with text that wants to be something else.
func TestLiveInBrowser(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	s := broken(30, 4)
	before := s
	before.Now, before.Episodes = before.Now.Add(-before.Now.Sub(before.Began)/2), before.Episodes/2
	l.Observe(before)
	l.Observe(s)
	origin, _ := serving(t, l, "127.0.0.1:0")
	for _, scheme := range []browsertest.Scheme{browsertest.Dark, browsertest.Light} {
		for _, width := range []int{1280, 420} {
			b.Visit(origin, int64(width), 800, scheme)
			await(b, `document.querySelectorAll("#jobs tbody tr").length === 33`)
			b.Do(chromedp.Click(chromedp.CSS("details.failure:not([hidden]) summary")))
			await(b, `document.querySelector("details.failure pre").textContent.includes("the story of")`)
			legible(t, b, width)
			if ran := browsertest.Eval[int](b, `document.querySelectorAll("img, b, #jobs script").length`); ran > 0 {
				t.Errorf("text became %d elements", ran)
			}
		}
	}
	if n := browsertest.Eval[int](b, `document.querySelectorAll(".plot canvas").length`); n != 3 {
		t.Errorf("%d plots are drawn, not 3", n)
	}
	if got := text(b, "#coverage tbody"); !strings.Contains(got, "49 %") || !strings.Contains(got, "–") {
		t.Errorf("the coverage is %q", got)
	}
}

// What changes is shown without loading the page again: what breaks, why it is red, and that it is over.
func TestLiveFollows(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	s := running()
	l.Observe(s)
	origin, _ := serving(t, l, "127.0.0.1:0")
	b.Visit(origin, 1280, 800, browsertest.Light)
	await(b, `document.getElementById("verdict").innerText === "running"`)
	if got := text(b, "#tiles"); !strings.Contains(got, "16 of 27") || !strings.Contains(got, "15,400") ||
		!strings.Contains(got, "found at its rate") {
		t.Errorf("the tiles say %q", got)
	}
	if visible(b, "#red") != 0 || visible(b, "details.failure") != 0 || !strings.Contains(text(b, "#failures"),
		"None so far") {
		t.Error("something is the matter where all is well")
	}

	s = broken(3, 1)
	s.Problems = []string{"the disk is full"}
	l.Observe(s)
	await(b, `document.getElementById("verdict").innerText === "violation"`)
	if got := text(b, "#red"); !strings.Contains(got, "The coordinator has a problem: the disk is full.") ||
		!strings.Contains(got, "No result of unit 4: it froze") {
		t.Errorf("the reasons are %q", got)
	}
	b.Do(chromedp.Click(chromedp.CSS("details.failure:not([hidden]) summary")))
	await(b, `document.querySelector("details.failure pre").textContent.includes("the story of 0")`)

	s = broken(3, 2)
	s.Episodes++
	l.Observe(s)
	await(b, `[...document.querySelectorAll("details.failure")].filter((e) => e.offsetParent).length === 2`)
	if !browsertest.Eval[bool](b, `document.querySelector("details.failure").open`) {
		t.Error("the story that was open is closed")
	}

	e := ended()
	e.Jobs[0].Found = nil
	l.Observe(e)
	await(b,
		`document.getElementById("verdict").innerText === "red" &&
			document.getElementById("ends").innerText === "it has ended"`)
	if got := text(b, "#red"); !strings.Contains(got, "The canary is missed") || strings.Contains(got, "disk") {
		t.Errorf("the reasons are %q", got)
	}
	if n := visible(b, "details.failure"); n != 0 {
		t.Errorf("%d failures are there still", n)
	}
	if title := browsertest.Eval[string](b, "document.title"); title != "red 100 % · night" {
		t.Errorf("the title is %q", title)
	}
}

// With 300 jobs and 100 failures what is sought is found, by words and by order, with the keyboard alone.
func TestLiveIsSearched(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	l.Observe(broken(300, 100))
	origin, _ := serving(t, l, "127.0.0.1:0")
	b.Visit(origin, 1280, 800, browsertest.Light)
	await(b, `document.querySelectorAll("#jobs tbody tr").length === 303`)
	if n := visible(b, "details.failure"); n != 100 {
		t.Errorf("%d failures are shown", n)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#failurefilter"), "Yours a, 42 QUEUE"))
	if n := visible(b, "details.failure"); n != 0 {
		t.Errorf("%d failures are shown of a kind that broke nothing such", n)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#failurefilter"), strings.Repeat(kb.Backspace, 5)+"lock"))
	if n := visible(b, "details.failure"); n != 1 {
		t.Errorf("%d failures are shown, not one", n)
	}
	if got := browsertest.Eval[string](b, `document.getElementById("failurecount").textContent`); got != "1 of 102" {
		t.Errorf("it says %q", got)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#failurefilter"), strings.Repeat(kb.Backspace, 20)),
		chromedp.Click(chromedp.CSS("#failureexpected")))
	if n := visible(b, "details.failure"); n != 102 {
		t.Errorf("%d failures are shown with those of the zoo", n)
	}

	b.Do(chromedp.SendKeys(chromedp.CSS("#jobs input"), "kazoo counter"))
	if n := visible(b, "#jobs tbody tr"); n != 22 {
		t.Errorf("%d jobs are shown", n)
	}
	b.Do(chromedp.SendKeys(chromedp.CSS("#jobs input"), strings.Repeat(kb.Backspace,
		20)+kb.Tab+kb.Tab+kb.Tab+kb.Tab+kb.Tab+kb.Enter))
	first := func() string {
		return browsertest.Eval[string](b, `document.querySelector("#jobs tbody tr").cells[4].textContent`)
	}
	if got := first(); got != "29,900" {
		t.Errorf("the most episodes are %s", got)
	}
	b.Do(chromedp.KeyEvent(kb.Enter))
	if got := first(); got != "0" {
		t.Errorf("the fewest episodes are %s", got)
	}
	const told = `[...document.querySelectorAll("#jobs th[aria-sort]")]
  .map((e) => e.ariaSort + " " + e.textContent).join()`
	if got := browsertest.Eval[string](b, told); got != "ascending episodes" {
		t.Errorf("the order is told as %q", got)
	}
}

// A page whose coordinator goes away says so, and goes on when it comes back.
func TestLiveWithoutNews(t *testing.T) {
	b := browsertest.New(t)
	l := NewLive()
	l.Observe(running())
	origin, stop := serving(t, l, "127.0.0.1:0")
	b.Visit(origin, 1280, 800, browsertest.Dark)
	await(b, `document.getElementById("verdict").innerText === "running"`)
	if visible(b, "#silence") != 0 {
		t.Error("there is no news at once")
	}
	stop()
	await(b, `!document.getElementById("silence").hidden`)
	if got := text(b, "#silence"); !strings.HasPrefix(got, "No news since ") {
		t.Errorf("it says %q", got)
	}
	legible(t, b, 1280)
	for _, fault := range b.Faults() {
		if !strings.Contains(fault, "ERR_CONNECTION_REFUSED") {
			t.Errorf("while nobody answers: %s", fault)
		}
	}
	again := NewLive()
	s := ended()
	again.Observe(s)
	serving(t, again, strings.TrimPrefix(origin, "http://"))
	await(b, `document.getElementById("silence").hidden && document.getElementById("verdict").innerText === "ok"`)
	for _, fault := range b.Faults() {
		if !strings.Contains(fault, "ERR_CONNECTION_REFUSED") {
			t.Errorf("when it was back: %s", fault)
		}
	}
}
