package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// Columns is the width of sentences.
const Columns = 100

// Wrap breaks lines between words to at most width columns. It keeps indented lines, as of stacks.
func Wrap(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		length := 0
		for i, word := range strings.Split(line, " ") {
			switch n := utf8.RuneCountInString(strings.TrimSuffix(word, "\n")); {
			case i == 0:
				length = n
			case length+1+n > width && !strings.HasPrefix(line, "\t"):
				out.WriteByte('\n')
				length = n
			default:
				out.WriteByte(' ')
				length += 1 + n
			}
			out.WriteString(word)
		}
	}
	return out.String()
}

// Count is a number of things: 1 client, 2 clients.
func Count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func WriteJSON(w io.Writer, object any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(object)
}

func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// WriteNew writes a file unless it exists with the same content, and refuses to overwrite.
func WriteNew(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if old, err := os.ReadFile(name); err == nil {
		if bytes.Equal(old, data) {
			return nil
		}
		return fmt.Errorf("%s exists already with other content and is not overwritten: move it away", name)
	}
	return wholefile.Write(name, data)
}

type NopCloser struct{ io.Writer }

func (NopCloser) Close() error { return nil }
