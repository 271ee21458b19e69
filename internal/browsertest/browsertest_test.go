package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page that loads something, throws and prints is reported, and so is low contrast.
func TestFaultsAreSeen(t *testing.T) {
	b := New(t)
	page := filepath.Join(t.TempDir(), "bad.html")
	html := `<!DOCTYPE html><p style="color:#999">pale</p><p>clear</p><img src="http://127.0.0.1:9/x.png">
<script>console.log("hello"); throw new Error("thrown")</script>`
	if err := os.WriteFile(page, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Open(page, 800, 600, Light)
	if pale := b.Unreadable(); len(pale) != 1 || !strings.HasSuffix(pale[0], " pale") {
		t.Errorf("too pale are %q", pale)
	}
	seen := strings.Join(b.Faults(), "\n")
	for _, want := range []string{"a request to http://127.0.0.1:9/x.png", "thrown", "a message on the console"} {
		if !strings.Contains(seen, want) {
			t.Errorf("%q was not seen; seen were:\n%s", want, seen)
		}
	}
}

// axe-core sees a pale text, an image without a text, and in dark mode a text that is pale there.
func TestAxe(t *testing.T) {
	b := New(t)
	page := filepath.Join(t.TempDir(), "bad.html")
	html := `<!DOCTYPE html><html lang="en"><title>bad</title><style>.dim { color: #444 }
@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }</style>
<main><h1>bad</h1><p style="color: #888; background: #fff" id="pale">pale</p><p class="dim">dim</p><img src="data:,"></main>`
	if err := os.WriteFile(page, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[Scheme]string{Light: "(color-contrast): #pale\n", Dark: "(color-contrast): #pale, .dim\n"} {
		b.Open(page, 800, 600, scheme)
		problems := strings.Join(b.problems(), "\n") + "\n"
		if !strings.Contains(problems, want) || !strings.Contains(problems, "(image-alt): img") {
			t.Errorf("%s: %q is not among the problems:\n%s", scheme, want, problems)
		}
	}
}
