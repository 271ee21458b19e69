package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// Columns is the width of sentences: that of the terminal, between widthMin and widthMax, if standard output is one.
var Columns = 100

const widthMin, widthMax = 60, 120

// fit gives sentences the width of a terminal, and tells kong, and the processes that this one starts.
func fit(terminal *os.File) {
	if width, _, err := term.GetSize(int(terminal.Fd())); err == nil && width > 0 {
		Columns = min(max(width, widthMin), widthMax)
		os.Setenv("COLUMNS", strconv.Itoa(Columns))
	}
}

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

// Hanging wraps a text with all lines but the first indented.
func Hanging(begin, text, indent string) string {
	lines := strings.Split(Wrap(begin+text, Columns-len(indent)), "\n")
	return strings.Join(lines, "\n"+indent) + "\n"
}

// Count is a number of things: 1 client, 2 clients.
func Count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// OfFile says once of which file an error is, and in plain words what is wrong with its content.
func OfFile(name string, err error) error {
	if verdict := VerdictError(0); err == nil || errors.As(err, &verdict) || errors.Is(err, ErrInterrupted) {
		return err
	}
	at, syntax, other := new(fs.PathError), new(json.SyntaxError), new(json.UnmarshalTypeError)
	text := err.Error()
	switch {
	case errors.As(err, &at):
		text = strings.ReplaceAll(text, at.Error(), at.Err.Error())
	case errors.As(err, &syntax):
		why := "it is empty"
		if syntax.Offset > 0 {
			why = fmt.Sprintf("it is not JSON, from byte %d on", syntax.Offset)
		}
		text = strings.ReplaceAll(text, syntax.Error(), why)
	case errors.As(err, &other):
		text = strings.ReplaceAll(text, other.Error(), fmt.Sprintf("its %s cannot be a JSON %s", cmp.Or(other.Field, "content"), other.Value))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		text = strings.ReplaceAll(strings.ReplaceAll(text, io.ErrUnexpectedEOF.Error(), "EOF"), "EOF", "it is empty, or cut off")
	}
	return fmt.Errorf("%s: %s", name, text)
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
