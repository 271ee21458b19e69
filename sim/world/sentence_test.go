package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A violation names what its sentence names, also by way of sentences within it.
func TestSaying(t *testing.T) {
	owner := Say("session %v of c%d", SessionID(0x100000000000001), 1)
	watch := Say("it watches %s, owned by %v", Path("/t/a"), owner)
	got := Violation{Property: "progress"}.Saying("%v; its own %s is of session %v", watch, Path("/t/b"), SessionID(2))
	want := Violation{
		Property: "progress",
		Message:  "it watches /t/a, owned by session 0x100000000000001 of c1; its own /t/b is of session 0x2",
		Sessions: []int64{0x100000000000001, 2},
		Paths:    []string{"/t/a", "/t/b"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
