package sim

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// failFiles are the fail files of a test, in the order in which rapid tries them before it looks for anything new. rapid
// stops at the first that fails, and says nothing of those that pass.
type failFiles struct {
	names []string
	notes []string // what came of the first of them
}

func failFilesOf(test string) *failFiles {
	f := &failFiles{}
	if name := flagOf("rapid.failfile"); name != "" {
		f.names = append(f.names, name)
	}
	more, _ := filepath.Glob(filepath.Join(failDir(test), fileName(test)+"-*.fail"))
	f.names = append(f.names, more...)
	return f
}

// trying returns the file that rapid tries next or now, "" if it has tried all. It may be called on nil.
func (f *failFiles) trying() string {
	if f == nil || len(f.notes) == len(f.names) {
		return ""
	}
	return f.names[len(f.notes)]
}

// done notes what came of a file. The one that -rapid.failfile names may be tried twice.
func (f *failFiles) done(note string) { f.notes = append(f.notes, note) }

// passed notes that the file passes; beyond: its choices did not suffice.
func (f *failFiles) passed(beyond bool) {
	how := ""
	if beyond {
		how = " (the code asks for more choices than the file has; the rest of the run had no faults)"
	}
	f.done(passesNow(f.trying(), how))
}

// said returns what came of the files, each once.
func (f *failFiles) said() (notes []string) {
	for _, note := range f.notes {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}

// hear reads what rapid says about a file that it leaves out, and is false if the message is about something else.
func (f *failFiles) hear(message string) bool {
	why, ignored := strings.CutPrefix(message, "[rapid] ignoring fail file: ")
	if ignored && f.trying() != "" {
		f.done(cannotRun(f.trying(), why))
	}
	return ignored
}

// passesNow is the sentence about a file that failed once; how says more about the run, or is empty.
func passesNow(file, how string) string {
	return fmt.Sprintf("%s failed before, and passes now%s: keep it as a regression test, or delete it", file, how)
}

// cannotRun is the sentence about a file that is left out.
func cannotRun(file, why string) string {
	return fmt.Sprintf("%s is left out, because it cannot be run (%s): repair it, or delete it", file, why)
}
