// Package browsertest opens pages in a headless Chromium, for tests.
//
// Chromium is sought as $CHROMIUM, and on the PATH. Without it the test is skipped and says how to install it. A test
// fails if its page prints to the console, or requests anything but its own file, or the server it is from.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout bounds a browser's life. A page takes a tenth of a second, and a second if axe-core checks it; a starved machine
// needs ten times as long.
const timeout = 20 * time.Minute

// Browser is a browser with one tab.
type Browser struct {
	t   testing.TB
	ctx context.Context
	*diary
}

// diary records the forbidden actions of pages.
type diary struct {
	mu     sync.Mutex
	faults []string
	origin string // of a server whose pages are opened; "" for files alone
}

// In returns the browser for a subtest.
func (b *Browser) In(t testing.TB) *Browser { return &Browser{t, b.ctx, b.diary} }

// New starts a browser that ends with the test.
func New(t testing.TB) *Browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(find(t)))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Browser{t, ctx, &diary{}}
	b.must(chromedp.Listen(ctx, b.watch))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	t.Cleanup(b.check)
	return b
}

// names are Chromium's names on different systems.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

func find(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("needs Chromium to open the page in: apt-get install chromium, or set $CHROMIUM to where it is")
	return ""
}

func (b *Browser) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatalf("the browser: %v", err)
	}
}

// watch records forbidden actions.
func (b *Browser) watch(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !b.may(e.Request.URL) {
			b.faults = append(b.faults, "a request to "+e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "an exception: "+exception(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, "a message on the console, of type "+string(e.Type))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, "the browser says: "+e.Entry.Text)
	}
}

// may reports whether a page may request something.
func (b *diary) may(url string) bool {
	return strings.HasPrefix(url, "file:") || strings.HasPrefix(url, "data:") || url == "about:blank" ||
		b.origin != "" && strings.HasPrefix(url, b.origin+"/")
}

func exception(d *runtime.ExceptionDetails) string {
	if d.Exception != nil {
		return d.Exception.Description
	}
	return d.Text
}

// check fails the test for recorded actions.
func (b *Browser) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Errorf("a page must be quiet and load nothing: %s", f)
	}
}

// Faults returns the recorded actions, and clears them.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	faults := b.faults
	b.faults = nil
	return faults
}

// Scheme is a user's preferred colour scheme.
type Scheme string

// The schemes.
const (
	Light Scheme = "light"
	Dark  Scheme = "dark"
)

// Open opens a file in a window of width by height pixels and returns once it is loaded.
func (b *Browser) Open(file string, width, height int64, scheme Scheme) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	b.must(err)
	b.open("file://"+filepath.ToSlash(path), width, height, scheme)
}

// Visit opens the page of a server, such as http://127.0.0.1:8080, which may request more from there.
func (b *Browser) Visit(origin string, width, height int64, scheme Scheme) {
	b.t.Helper()
	b.mu.Lock()
	b.origin = origin
	b.mu.Unlock()
	b.open(origin+"/", width, height, scheme)
}

func (b *Browser) open(url string, width, height int64, scheme Scheme) {
	b.t.Helper()
	b.Prefer(scheme)
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height),
		chromedp.Navigate(url)))
}

// Prefer sets the user's preferred colour scheme, for the open page and further ones.
func (b *Browser) Prefer(scheme Scheme) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: string(scheme)}},
	})
	b.must(err)
}

// Do runs actions.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, actions...))
}

// Eval returns the value of an expression, or what it promises.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.must(err)
	return v
}

// Await waits until an expression is true.
func (b *Browser) Await(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression))
	b.must(err)
}

// OnPaper shows the page as it is printed, or again as on a screen.
func (b *Browser) OnPaper(on bool) {
	b.t.Helper()
	media := ""
	if on {
		media = "print"
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media})
	b.must(err)
}

// Unreadable returns the texts of the page with a contrast to their background below 4.5:1, the minimum of WCAG 2.2
// (success criterion 1.4.3).
func (b *Browser) Unreadable() []string {
	b.t.Helper()
	return Eval[[]string](b, unreadable)
}

const unreadable = `(() => {
  const rgb = (c) => (c.match(/[\d.]+/g) || []).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join("");
    if (!text || /^(SCRIPT|STYLE|NOSCRIPT|title)$/.test(e.tagName)) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const [a, b] = [light(rgb(svg ? style.fill : style.color)), light(ground(svg ? e.ownerSVGElement : e))]
      .sort((a, b) => b - a);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) bad.push(ratio.toFixed(2) + ":1 " + text.slice(0, 40));
  }
  return bad;
})()`

// RefusesForeignScripts appends foreign scripts to a page and opens it: an element, and an event handler. The page's
// policy must block both.
func (b *Browser) RefusesForeignScripts(page string) {
	b.t.Helper()
	text, err := os.ReadFile(page)
	b.must(err)
	const foreign = `<script>window.ran = "element"</script><a id="foreign" onclick="window.ran = 'handler'">x</a>`
	tampered := filepath.Join(b.t.TempDir(), "tampered.html")
	b.must(os.WriteFile(tampered, []byte(strings.Replace(string(text), "</body>", foreign+"</body>", 1)), 0o644))
	b.Open(tampered, 800, 600, Light)
	if ran := Eval[string](b, `document.getElementById("foreign").click(), window.ran ?? ""`); ran != "" {
		b.t.Errorf("a foreign script ran: %s", ran)
	}
	if refused := strings.Count(strings.Join(b.Faults(), "\n"), "Content Security Policy"); refused < 2 {
		b.t.Errorf("the browser said %d times that it refuses a script, 2 are wanted", refused)
	}
}
