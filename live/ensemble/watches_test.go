package ensemble

import (
	"slices"
	"testing"
)

// What wchp answers is read; anything else is an error.
func TestParseWatches(t *testing.T) {
	got, err := parseWatches("/a\n\t0x30001a2b3c40001\n\t0xff0001a2b3c40002\n/b c\n\t0x1\n\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []Watch{{0x30001a2b3c40001, "/a"}, {-0xfffe5d4c3bfffe, "/a"}, {1, "/b c"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := parseWatches("/a\n\t0xhello\n"); err == nil {
		t.Error("a session that is no number was read")
	}
}
