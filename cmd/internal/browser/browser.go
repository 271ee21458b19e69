// Package browser opens pages in a headless Chromium, for tests. Chromium is sought as $CHROMIUM, and on the PATH; without
// it the test is skipped. A test fails if its page prints to the console, or requests anything but its own files.
package browser

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout bounds a browser's life.
const timeout = 5 * time.Minute

// Browser is a browser with one tab.
type Browser struct {
	t   testing.TB
	ctx context.Context

	mu     sync.Mutex
	faults []string
	origin string // of a server whose pages are opened; "" for files alone
}

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
	b := &Browser{t: t, ctx: ctx}
	b.must(chromedp.Listen(ctx, b.watch))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	b.must(err)
	t.Cleanup(b.check)
	return b
}

func find(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
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

// watch records what a page must not do.
func (b *Browser) watch(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		own := b.origin != "" && strings.HasPrefix(url, b.origin+"/")
		if !own && !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") && url != "about:blank" {
			b.faults = append(b.faults, "a request to "+url)
		}
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "an exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.faults = append(b.faults, "a message on the console, of type "+string(e.Type))
	case *log.EventEntryAdded:
		b.faults = append(b.faults, "the browser says: "+e.Entry.Text)
	}
}

// check fails the test for what pages have done that they must not.
func (b *Browser) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Errorf("a page must be quiet and load nothing: %s", f)
	}
}

// Open opens a file in a window of width by height pixels and returns once it is loaded.
func (b *Browser) Open(file string, width, height int64) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	b.must(err)
	b.open("file://"+filepath.ToSlash(path), width, height)
}

// Visit opens the page of a server, such as http://127.0.0.1:8080, which may request more from there.
func (b *Browser) Visit(origin string, width, height int64) {
	b.t.Helper()
	b.mu.Lock()
	b.origin = origin
	b.mu.Unlock()
	b.open(origin+"/", width, height)
}

func (b *Browser) open(url string, width, height int64) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(url)))
}

// Key presses a key, such as those of package kb.
func (b *Browser) Key(key string) {
	b.t.Helper()
	b.must(chromedp.Do(b.ctx, chromedp.KeyEvent(key)))
}

// Eval returns the value of an expression, or what it promises.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	b.must(err)
	return v
}
