package torturecli

import "testing"

func TestWrap(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"short":                    "short",
		"one two three":            "one two\nthree",
		"one two three four":       "one two\nthree four",
		"averyverylongword a b":    "averyverylongword\na b",
		"a\n\tgo.go:1 b c d e f g": "a\n\tgo.go:1 b c d e f g",
		"aaa bbb ccc\nd":           "aaa bbb\nccc\nd",
	} {
		if got := wrap(in, 10); got != want {
			t.Errorf("wrap(%q) = %q, want %q", in, got, want)
		}
	}
}
