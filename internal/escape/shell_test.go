package escape

import (
	"os/exec"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

func TestShell(t *testing.T) {
	for word, want := range map[string]string{
		"":                       "''",
		"counterexamples/a.json": "counterexamples/a.json",
		"größe.json":             "größe.json",
		"a b":                    "'a b'",
		"it's":                   `'it'\''s'`,
		"$HOME;`x`":              "'$HOME;`x`'",
		"~/x":                    "'~/x'",
	} {
		if got := quote(word, false); got != want {
			t.Errorf("quote(%q) = %s, want %s", word, got, want)
		}
	}
	for word, want := range map[string]string{`C:\a\b`: `C:\a\b`, `C:\a b`: `"C:\a b"`} {
		if got := quote(word, true); got != want {
			t.Errorf("on Windows quote(%q) = %s, want %s", word, got, want)
		}
	}
}

// A shell reads from what is quoted the same word.
func TestShellReadsTheWord(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh")
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOf(rapid.RuneFrom([]rune("aZ0'\"\\$`!~*?[]{}()<>|&;# \t\n=-é"))).Draw(t, "word")
		out, err := exec.Command("sh", "-c", "printf %s. "+quote(word, false)).Output()
		if err != nil || string(out) != word+"." {
			t.Fatalf("%q is read as %q: %v", word, out, err)
		}
	})
}
