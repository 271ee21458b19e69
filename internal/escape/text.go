package escape

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text with steering characters escaped.
func Text(s string) string {
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

// steers reports whether a terminal may do anything with a character but show it in place.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// shown is the shown form of a character with these bytes.
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

// Writer escapes as [String] does. It is safe for concurrent use. A character may be split between two writes.
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
		_, w.err = io.WriteString(w.w, Text(text))
	}
	return w.err
}

// Close writes the rest of an incomplete character, and returns the first error. It does not close the underlying
// writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(w.rest)
	w.rest = nil
	return w.write(text)
}

// begun returns how many bytes at the end of a text may begin a character.
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
