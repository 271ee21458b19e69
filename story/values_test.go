package story_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zktorture/zktorture/story"
)

// Data are told as a word, or quoted; what is long is cut between two characters, and says its size.
func TestShownData(t *testing.T) {
	for data, want := range map[string]string{
		"": `""`, "41": "41", "a b": `"a b"`, "\x00\xff\n": `"\x00\xff\n"`, "→": `"→"`,
		strings.Repeat("x", 25):      `"` + strings.Repeat("x", 24) + `"… (25 bytes)`,
		"x" + strings.Repeat("→", 9): `"x` + strings.Repeat("→", 7) + `"… (28 bytes)`,
		strings.Repeat("\x80", 30):   `"` + strings.Repeat(`\x80`, 20) + `"… (30 bytes)`,
	} {
		if got := story.Shown([]byte(data)); got != want || !utf8.ValidString(got) {
			t.Errorf("%q is told as %s, want %s", data, got, want)
		}
	}
}
