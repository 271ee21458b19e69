package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/internal/escape"
)

// crashFile is a counterexample file of the current episode, for the case that the process dies in it: a panic on a
// goroutine of the recipe's own cannot be recovered from. It is memory that the kernel shares with a file, so that it
// is always up to date at no cost. It is removed in the end.
//
// The goroutines of the episode are labelled with the command that runs the file again, and the runtime prints the
// labels of a goroutine that panics. (Those which [time.AfterFunc] starts inherit none; GOTRACEBACK=all prints the
// others.)
//
// All methods may be called on nil: there is no such file then.
type crashFile struct {
	file     *os.File
	labelled context.Context
	page     []byte
	head     int // where the number of the episode begins
	first    int // where the choices begin
	used     int // where they end
}

// crashFileMax is the size of the file, zeros at its end included; the choices of an episode take some kilobytes.
const crashFileMax = 1 << 16

// Doomed is what a crash file is made of.
type Doomed struct {
	File  any    // all that is known before an episode begins: a counterexample file but for its faults and choices
	Again string // the command that runs it again, FILE standing for its name
}

// newCrashFile makes a file for episodes. It returns nil where that is not possible.
func newCrashFile(of Doomed) *crashFile {
	file, err := os.CreateTemp("", "zktorture-crash-*.json")
	if err != nil {
		return nil
	}
	f := &crashFile{file: file}
	again := strings.ReplaceAll(of.Again, "FILE", escape.Shell(file.Name()))
	head, err := json.Marshal(of.File)
	if err == nil {
		f.page, err = shareMemory(file, crashFileMax)
	}
	if err != nil || len(head) > len(f.page)/2 {
		f.end(true)
		return nil
	}
	f.head = copy(f.page, bytes.TrimSuffix(head, []byte("}")))
	f.used = f.head
	f.labelled = pprof.WithLabels(context.Background(), pprof.Labels("zktorture, what runs it again", again))
	showLabels()
	return f
}

// begin empties the file for another episode, whose number is -1 if it has none, and labels the goroutine and its
// children. end takes the label off.
func (f *crashFile) begin(episode *Episode) (end func()) {
	if f == nil {
		return func() {}
	}
	clear(f.page[f.head:min(f.used+len(crashEnd), len(f.page))])
	at := fmt.Appendf(f.page[:f.head], `,"faults":"%v","episode":%d`, episode.Faults, episode.Number)
	f.first = len(append(at, `,"choices":[`...))
	f.used = f.first
	copy(f.page[f.used:], crashEnd)
	pprof.SetGoroutineLabels(f.labelled)
	return unlabel
}

func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

const crashEnd = "]}\n"

// add adds a choice. What does not fit is left out.
func (f *crashFile) add(choice int) {
	if f == nil || f.used+64 > len(f.page) {
		return
	}
	at := f.page[:f.used]
	if f.used > f.first {
		at = append(at, ',')
	}
	f.used = len(strconv.AppendInt(at, int64(choice), 10))
	copy(f.page[f.used:], crashEnd)
}

// end removes the file. Its memory is kept if a world that was left behind may still write to it.
func (f *crashFile) end(ended bool) {
	if f == nil {
		return
	}
	if ended {
		unshareMemory(f.page)
	}
	f.file.Close()
	os.Remove(f.file.Name())
}

// showLabels lets the runtime print the labels of goroutines that panic, unless GODEBUG says whether it should.
var showLabels = sync.OnceFunc(func() {
	const setting = "tracebacklabels="
	if debug := os.Getenv("GODEBUG"); !strings.Contains(debug, setting) {
		os.Setenv("GODEBUG", strings.TrimPrefix(debug+","+setting+"1", ","))
	}
})
