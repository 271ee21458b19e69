// Package stream escapes what is written piece by piece.
package stream

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/zktorture/zktorture/internal/escape"
)

// Writer escapes as [escape.Text] does. It is safe for concurrent use. A character may be split between two writes.
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
		_, w.err = io.WriteString(w.w, escape.Text(text))
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
