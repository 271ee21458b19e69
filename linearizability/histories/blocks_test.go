package histories

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	lin "github.com/zktorture/zktorture/linearizability"
)

// readByLine is what Read has to be the same as: line after line.
func readByLine(r io.Reader) (h lin.History, err error) {
	for op, err := range ReadEach(r) {
		if err != nil {
			return h, err
		}
		h = append(h, op)
	}
	return h, nil
}

// sameByLine compares them on input that both get anew.
func sameByLine(t rapid.TB, size int, open func() io.Reader) {
	want, wrong := readByLine(open())
	got, err := readBlocks(open(), size)
	if !slices.Equal(got, want) || (got == nil) != (want == nil) {
		t.Fatalf("blocks of %d bytes: read %.500v, want %.500v", size, got, want)
	}
	if fmt.Sprint(err) != fmt.Sprint(wrong) || errors.Is(err, errTruncated) != errors.Is(wrong, errTruncated) {
		t.Fatalf("blocks of %d bytes: the error is %v, want %v", size, err, wrong)
	}
}

const goodLine = `{"client":3,"op":"poll","outcome":"ok","call":1,"return":2,"note":"%s"}`

// drawLine draws a line, from the file of another program perhaps. Most are good.
func drawLine(t *rapid.T) string {
	switch rapid.IntRange(0, 40).Draw(t, "line") {
	case 0:
		return ""
	case 1:
		return " \t"
	case 2:
		return "\ufeff" + fmt.Sprintf(goodLine, "after a byte order mark")
	case 3:
		return fmt.Sprintf(goodLine, "é, and a tail") + "x"
	case 4:
		return goodLine[:20]
	case 5:
		length := rapid.SampledFrom([]int{1 << 16, 1 << 18, lineMax - len(goodLine)}).Draw(t, "length")
		return fmt.Sprintf(goodLine, strings.Repeat("x", length+rapid.IntRange(-3, 5).Draw(t, "more")))
	}
	return fmt.Sprintf(goodLine, strings.Repeat("x", rapid.IntRange(0, 99).Draw(t, "length")))
}

func drawFile(t *rapid.T) []byte {
	var file bytes.Buffer
	for range rapid.IntRange(0, 60).Draw(t, "lines") {
		file.WriteString(drawLine(t))
		file.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"}).Draw(t, "end"))
	}
	cut := rapid.SampledFrom([]int{0, 0, 1, 2, 30}).Draw(t, "cut")
	return file.Bytes()[:max(0, file.Len()-cut)]
}

// Property: files of any program are read in blocks as they are read line by line, whatever the reader is like.
func TestBlocksAsByLine(t *testing.T) {
	broken := errors.New("the disk is gone")
	readers := map[string]func(io.Reader) io.Reader{
		"all at once":       func(r io.Reader) io.Reader { return r },
		"halves":            iotest.HalfReader,
		"end with the data": iotest.DataErrReader,
		"broken":            func(r io.Reader) io.Reader { return io.MultiReader(r, iotest.ErrReader(broken)) },
	}
	for name, reader := range readers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				file := drawFile(t)
				size := rapid.SampledFrom([]int{1, 100, 1000, 5000, blockSize}).Draw(t, "size")
				sameByLine(t, size, func() io.Reader { return reader(bytes.NewReader(file)) })
			})
		})
	}
}

// Files are read as well as what has no length.
func TestBlocksOfFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history.jsonl")
	for _, blank := range []int{0, 1, 100_000} {
		line := fmt.Sprintf(goodLine, "") + strings.Repeat("\n", 1+blank)
		for _, text := range []string{"", line, strings.Repeat(line, 5), strings.Repeat("\n", blank) + line + "{"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			sameByLine(t, 1000, func() io.Reader {
				file, err := os.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { file.Close() })
				return file
			})
		}
	}
}

// A reader that never returns anything is given up.
func TestBlocksOfNothing(t *testing.T) {
	sameByLine(t, 100, func() io.Reader { return nothing{} })
}

// A line that is too long is not read to its end, which it may not have.
func TestBlocksOfAnEndlessLine(t *testing.T) {
	line := io.LimitReader(ones{}, 10*lineMax)
	if _, err := Read(line); fmt.Sprint(err) != "line 1: "+errLong.Error() {
		t.Error(err)
	}
	if rest, _ := io.Copy(io.Discard, line); rest < 7*lineMax {
		t.Errorf("only %d bytes were not read", rest)
	}
	for _, length := range []int{lineMax - 1, lineMax, lineMax + 1} {
		sameByLine(t, blockSize, func() io.Reader { return io.LimitReader(ones{}, int64(length)) })
	}
}

// ones are digits without end.
type ones struct{}

func (ones) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '1'
	}
	return len(p), nil
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }

// What is wrong with a line is said when it has been written, though the writer goes on.
func TestBlocksFromAPipe(t *testing.T) {
	in, out := io.Pipe()
	go fmt.Fprintln(out, "nonsense")
	if _, err := Read(in); err == nil || !strings.HasPrefix(err.Error(), "line 1: not JSON") {
		t.Error(err)
	}
}

func FuzzBlocks(f *testing.F) {
	f.Add([]byte(goodLine+"\n"+goodLine), 10)
	f.Add([]byte("\r\n\ufeff"+goodLine+"\n"), 100)
	f.Add([]byte("{\n{"), 1)
	f.Fuzz(func(t *testing.T, file []byte, size int) {
		sameByLine(t, max(1, min(size, blockSize)), func() io.Reader { return bytes.NewReader(file) })
	})
}
