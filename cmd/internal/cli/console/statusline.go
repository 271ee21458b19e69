package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/internal/escape"
)

// Line is the line of a terminal that says how far a command is. Elsewhere nothing is shown.
type Line struct {
	mu    sync.Mutex
	To    io.Writer // nil if nothing is shown
	Width int
	drawn time.Time
}

const (
	lineEvery = 100 * time.Millisecond
	BarWidth  = 40 // of what is done, with its brackets
)

func NewLine(c *Context, quiet bool) *Line {
	file, ok := c.Bare.Stderr.(*os.File)
	if quiet || !c.Terminal || !ok {
		return &Line{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width == 0 {
		width = Columns
	}
	return &Line{To: file, Width: width}
}

// Show says a text, and, if of is not 0, that n of so many are done.
func (l *Line) Show(text string, n, of int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.To == nil || time.Since(l.drawn) < lineEvery {
		return
	}
	l.drawn = time.Now()
	if text = escape.Text(text); of > 0 {
		text += " " + ProgressBar(min(n, of), of)
	}
	for utf8.RuneCountInString(text) >= l.Width {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
	}
	fmt.Fprint(l.To, "\r", text, "\x1b[K")
}

// ProgressBar is a picture of what is done.
func ProgressBar(n, of int64) string {
	full := int(n * (BarWidth - 3) / of)
	return fmt.Sprintf("[%s>%*s] %d%%", strings.Repeat("=", full), BarWidth-3-full, "", n*100/of)
}

// Above does something that prints, without the line.
func (l *Line) Above(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	do()
}

// End removes the line.
func (l *Line) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.To = nil
}

func (l *Line) clear() {
	if l.To != nil && !l.drawn.IsZero() {
		fmt.Fprint(l.To, "\r\x1b[K")
		l.drawn = time.Time{}
	}
}
