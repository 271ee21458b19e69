package torturecli

import "testing"

func TestSelf(t *testing.T) {
	for program, want := range map[string]string{
		"torture":                         "torture",
		"./torture":                       "./torture",
		"/a/go-build1/b001/exe/torture":   "go run example.com/mine",
		`C:/x/go-build9/b001/exe/tor.exe`: "go run example.com/mine",
	} {
		if got := self(program, "example.com/mine"); got != want {
			t.Errorf("self(%q) = %q, want %q", program, got, want)
		}
	}
}

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
