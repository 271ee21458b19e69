package histories

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	lin "github.com/zktorture/zktorture/linearizability"
)

var fastLines = []string{
	`{"client":3,"op":"poll","arg":null,"result":"v17","outcome":"ok","call":1041,"return":1077}`,
	`{"client":3,"op":"poll","arg":true,"result":-17,"outcome":"unknown","call":-1,"return":null,` +
		`"object":"q","note":"lost","process":7}`,
	` { "op" : "get" , "client" : 0 ,"return":2,	"call":1,"outcome":"fail","result":false} `,
}

// A line that the fast path takes has the meaning that encoding/json gives it, and it takes the same whatever lines
// came before.
func sameFast(t rapid.TB, line []byte, before ...[]byte) (taken bool) {
	var fast, slow lin.Operation
	first, used := newFastDecoder(), newFastDecoder()
	taken = first.parse(bytes.TrimSpace(line), &fast)
	for _, l := range before {
		used.parse(bytes.TrimSpace(l), new(lin.Operation))
	}
	var later lin.Operation
	if again := used.parse(bytes.TrimSpace(line), &later); again != taken || again && later != fast {
		t.Fatalf("%q after %q: read %v %v, but at first %v %v", line, before, again, later, taken, fast)
	}
	if !taken {
		return false
	}
	if err := slow.UnmarshalJSON(line); err != nil {
		t.Fatalf("%q is read, although: %v", line, err)
	}
	if diff := cmp.Diff(slow, fast, cmp.AllowUnexported(lin.Value{})); diff != "" {
		t.Fatalf("%q: %s", line, diff)
	}
	return true
}

func TestFastPath(t *testing.T) {
	for _, line := range fastLines {
		if !sameFast(t, []byte(line)) {
			t.Errorf("%s is not read on the fast path", line)
		}
	}
}

// The fast path takes what Write writes of ordinary operations; whatever it takes has the same meaning as in JSON.
func TestFastPathOfOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := drawOperation(t)
		if line, err := op.MarshalJSON(); err == nil {
			sameFast(t, line)
		}
		op.Op, op.Object, op.Note, op.Arg, op.Result, op.Process = "poll", "", "", lin.Int(int64(op.Client>>8)),
			lin.Str("v17"), lin.Null
		op.Client, op.Call, op.Return = op.Client>>8, op.Call>>8, op.Return>>8
		if line, err := op.MarshalJSON(); err != nil || !sameFast(t, line) {
			t.Fatalf("%s is not read on the fast path (%v)", line, err)
		}
	})
}

func FuzzFastPath(f *testing.F) {
	for _, line := range fastLines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { sameFast(t, line) })
}

// Lines that the fast path nearly takes: some characters replaced, doubled or left out.
func TestNearlyFastLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := `{}",: 019-nulltrue\\é.eE` + "\t\x00"
	var before [][]byte
	read := 0
	for range 200_000 {
		line := []byte(fastLines[random.IntN(len(fastLines))])
		for range 1 + random.IntN(3) {
			at := random.IntN(len(line))
			switch random.IntN(3) {
			case 0:
				line[at] = alphabet[random.IntN(len(alphabet))]
			case 1:
				line = append(line[:at], line[at+1:]...)
			default:
				line = append(line[:at], append([]byte{line[at]}, line[at:]...)...)
			}
		}
		if sameFast(t, line, before...) {
			read++
		}
		before = append(before[len(before)/3:], line)
	}
	if read < 1000 {
		t.Errorf("only %d lines were read the fast way", read)
	}
}

func BenchmarkRead(b *testing.B) {
	line := `{"client":3,"op":"poll","arg":null,"result":"v%d","outcome":"ok","call":%d,"return":%d,"note":"%s"}` + "\n"
	for name, note := range map[string]string{"plain": "lost", "escaped": `lo\\nst`} {
		var file strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&file, line, i, 10*i, 10*i+15, note)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(file.Len()))
			for b.Loop() {
				if h, err := Read(strings.NewReader(file.String())); err != nil || len(h) != 10_000 {
					b.Fatal(len(h), err)
				}
			}
		})
	}
}
