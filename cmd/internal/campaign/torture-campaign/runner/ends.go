package runner

import (
	"fmt"
	"sync"
)

// endMax bounds what is kept of the beginning, and of the end, of what a child writes to its standard error, in bytes.
// All goroutines of a child that froze are likely to be in it.
const endMax = 256 << 10

// ends keeps the beginning and the end of what is written to it.
type ends struct {
	mu    sync.Mutex
	first []byte
	last  []byte // of what follows
	left  int    // bytes between them that were not kept
}

// Write implements [io.Writer].
func (e *ends) Write(data []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(data), endMax-len(e.first))
	e.first = append(e.first, data[:n]...)
	e.last = append(e.last, data[n:]...)
	if over := len(e.last) - endMax; over > 0 {
		e.left += over
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return len(data), nil
}

// String is what was kept.
func (e *ends) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == 0 {
		return string(e.first) + string(e.last)
	}
	return fmt.Sprintf("%s\n… %d bytes …\n%s", e.first, e.left, e.last)
}

// briefMax bounds each end of a text for people, in bytes.
const briefMax = 2 << 10

// brief leaves the beginning and the end of a text.
func brief(text string) string {
	if left := len(text) - 2*briefMax; left > 0 {
		return fmt.Sprintf("%s\n… %d bytes …\n%s", text[:briefMax], left, text[len(text)-briefMax:])
	}
	return text
}
