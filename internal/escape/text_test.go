package escape_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/escape/stream"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain, ä → 日本 😀\n\tnext":  "plain, ä → 日本 😀\n\tnext",
		"\x1b]0;title\a":           `\u001b]0;title\u0007`,
		"over\rwritten\b\x7f\x00":  `over\u000dwritten\u0008\u007f\u0000`,
		"\u009b31m":                `\u009b31m`,
		"\x9b31m \xff":             `\x9b31m \xff`,
		"a\u202eb\u2066c\u200d":    `a\u202eb\u2066c\u200d`,
		"\u2028\u2029\U000e0041":   `\u2028\u2029\udb40\udc41`,
		"a backslash \\ is itself": `a backslash \ is itself`,
	} {
		if got := escape.Text(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// A text is escaped the same however it is split into writes.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		steering := rapid.RuneFrom([]rune("\x1b\u009b\u202e😀a"))
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), steering)).Draw(t, "text")
		text += string(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes"))
		var out strings.Builder
		w := stream.NewWriter(&out)
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if written, err := w.Write([]byte(rest[:n])); written != n || err != nil {
				t.Fatalf("%d of %d bytes written, error %v", written, n, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got := out.String()
		if want := escape.Text(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\x00\u009b\u202e") {
			t.Errorf("%q is shown as %q", text, got)
		}
	})
}

// JSON keeps its meaning.
func TestJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want, got string
		data, _ := json.Marshal(rapid.String().Draw(t, "text"))
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(escape.Text(string(data))), &got); err != nil || got != want {
			t.Errorf("%s means %q afterwards, error %v", data, got, err)
		}
	})
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

// The first error remains.
func TestError(t *testing.T) {
	w := stream.NewWriter(full{})
	if _, err := w.Write([]byte("x")); err != errFull {
		t.Errorf("error %v", err)
	}
	if err := w.Close(); err != errFull {
		t.Errorf("error %v at the end", err)
	}
}
