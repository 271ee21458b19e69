// Package plaintext keeps text from elsewhere from steering a terminal.
//
// Names and messages of servers, workers and files may hold control characters: sequences that clear the screen, set
// the title of the window or hide what follows (ECMA-48), or characters that turn the direction of a line around
// (Unicode TR 36). [Writer] stands between a program and its terminal and shows them as escapes instead, \u001b say.
// Lines and tabs remain. Inside of JSON's strings such an escape is the same character again, so that JSON may pass,
// too. A byte that is no UTF-8 is shown as \xff.
package plaintext

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// String returns a text with escapes for what steers.
func String(s string) string {
	if at := strings.IndexFunc(s, steers); at < 0 && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		out.WriteString(shown(s[:n], r))
		s = s[n:]
	}
	return out.String()
}

// steers tells whether a character does something to a terminal other than to show a sign in its place.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// shown is how a character looks whose bytes are given.
func shown(bytes string, r rune) string {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Sprintf(`\x%02x`, bytes[0])
	case !steers(r):
		return bytes
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Writer writes as [String] does, for any number of goroutines. A character may be divided between two writes.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character
	err  error
}

// NewWriter returns a writer before another.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write implements io.Writer. After an error it writes nothing more.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	end := len(text) - begun(text)
	w.rest = append([]byte(nil), text[end:]...)
	return len(p), w.write(string(text[:end]))
}

func (w *Writer) write(text string) error {
	if w.err == nil && text != "" {
		_, w.err = io.WriteString(w.w, String(text))
	}
	return w.err
}

// Close writes what is left of a character that was not ended, and returns the first error there was. It leaves what
// is behind open.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(w.rest)
	w.rest = nil
	return w.write(text)
}

// begun returns how many bytes at the end of a text may be the beginning of a character.
func begun(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
