package histories

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	lin "github.com/zktorture/zktorture/linearizability"
)

// draw draws a history of several parts, each of an object of its own. Notes make some longer than what
// is looked through at a time.
func draw(t *rapid.T) (all []lin.History) {
	for i := range rapid.IntRange(0, 6).Draw(t, "parts") {
		var part lin.History
		for j := range rapid.IntRange(0, 4).Draw(t, "operations") {
			note := rapid.SampledFrom([]int{0, 1, 5000, 65400, 65536, 70000}).Draw(t, "note")
			part = append(part, lin.Operation{
				Client: j, Op: "offer", Arg: lin.Str("\n\n"), Call: int64(j), Return: int64(j + 1),
				Object: fmt.Sprint(i), Note: strings.Repeat("x", note),
			})
		}
		all = append(all, part)
	}
	return all
}

// Wherever a file is cut off, what is read of it are the parts that are whole, and [Read] reads the
// uncut file as if it had been written in one.
func TestWholeParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var file bytes.Buffer
		var ends []int
		var all lin.History
		for _, part := range draw(t) {
			if err := WritePart(&file, part); err != nil {
				t.Fatal(err)
			}
			ends, all = append(ends, file.Len()), append(all, part...)
		}
		if got, err := Read(bytes.NewReader(file.Bytes())); err != nil ||
			!cmp.Equal(all, got, cmp.AllowUnexported(lin.Value{})) {
			t.Fatalf("the file reads as %v, %v", got, err)
		}
		cut := rapid.IntRange(0, file.Len()).Draw(t, "cut")
		if len(ends) > 0 && rapid.Bool().Draw(t, "near an end") {
			cut = min(file.Len(), max(0, rapid.SampledFrom(ends).Draw(t, "end")+rapid.IntRange(-2, 2).Draw(t, "off")))
		}
		whole := 0
		for _, end := range ends {
			if end <= cut {
				whole = end
			}
		}
		r, rest, err := WholeParts(bytes.NewReader(file.Bytes()[:cut]), int64(cut))
		if err != nil || rest != int64(cut-whole) {
			t.Fatalf("%d bytes are left out of %d, %v; want %d", rest, cut, err, cut-whole)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, file.Bytes()[:whole]) {
			t.Fatalf("%d bytes are whole, %v; want %d", len(got), err, whole)
		}
	})
}

// What is cut off may be so long that the end of the last whole part lies on an edge of a chunk.
func TestWholePartsOnEdge(t *testing.T) {
	for _, at := range []int{1 << 16, 2 << 16} {
		for off := -3; off <= 3; off++ {
			whole, rest := "{}\n\n", strings.Repeat("x", at+off)
			_, got, err := WholeParts(strings.NewReader(whole+rest), int64(len(whole+rest)))
			if err != nil || got != int64(len(rest)) {
				t.Errorf("%d bytes are left out of %d, %v", got, len(rest), err)
			}
		}
	}
}

// oneWrite counts writes.
type oneWrite struct{ writes int }

func (w *oneWrite) Write(p []byte) (int, error) { w.writes++; return len(p), nil }

// A part is written by one call, so that few can be cut off.
func TestPartIsWrittenAtOnce(t *testing.T) {
	var w oneWrite
	h := make(lin.History, 1000)
	for i := range h {
		h[i] = lin.Operation{Op: "get", Return: 1}
	}
	if err := WritePart(&w, h); err != nil || w.writes != 1 {
		t.Errorf("%d writes, %v", w.writes, err)
	}
}
