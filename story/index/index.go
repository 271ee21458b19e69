// Package index makes one page over a folder of results.
//
// A night of torture leaves a folder with the run's result (result.json), a file for each violation, and histories of
// what clients saw. [Build] makes the page of each violation's story beside its file, and writes index.html: the runs,
// violations and histories, with the verdicts of the runs and links to the stories. It judges nothing: torture check does.
//
// The kind of a file is determined by its content, not its name:
//
//	a counterexample      one JSON object with a format, see [sim.CounterexampleFormat]
//	a run                 a JSON object with workload and verdict, as torture run --json prints it; also
//	                      one a line
//	the begin of a run    a JSON object with the format [BeginFormat]
//	a history             one operation a line, see [histories.Read]
//
// Other files are skipped. A file that begins like one of these and cannot be read is listed as a problem.
//
// A history has the verdict of the run beside it that wrote it on real servers, or the violation that this run found in
// it. Any other is listed as not judged, and that of a killed run, which has a begin and no result, as unknown.
//
// The page is one file and loads nothing.
package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// Name is the file that [Build] writes.
const Name = "index.html"

// Bounds of an index.
const (
	filesMax   = 5000    // files considered
	fileMax    = 1 << 30 // bytes of a file
	storiesMax = 500     // pages made
)

// Index is the content of a folder.
type Index struct {
	Runs       []Run
	Violations []Violation
	Histories  []History
	Problems   []Problem       // unreadable files, and stories that cannot be told
	Sections   []template.HTML // of Options.Section
}

// Violation is a file with a violation.
type Violation struct {
	File     string // relative to the folder
	Story    string // its page, relative to the folder; empty if none
	Workload string
	Recipe   string
	Property string
	Message  string

	place int // among those of its run, where the likely root is first
	steps int // of a counterexample
}

// Problem is a remark on a file.
type Problem struct{ File, Text string }

// Model is the model of a recipe's histories, by which the operations of a violation are found.
type Model struct {
	linearizability.Model
	Flags string                                                    // the same, as flags of torture check
	Check func(h linearizability.History) []linearizability.Verdict // instead of [linearizability.Check], if set
}

// Options configure [Build].
type Options struct {
	// Tell makes the story of a counterexample in a file.
	Tell func(ctx context.Context, c *sim.Counterexample, file string) (*story.Story, error)
	// Model returns the model of a recipe; the error says why there is none. Without a model the story of a history tells
	// all of its operations.
	Model func(workload, recipe string) (Model, error)
	// Section, if set, makes a part of the page about the run of a folder; empty for none.
	Section func(dir string, run Begin) template.HTML
	// Command is how to call torture, for commands on a page; default torture.
	Command string
	// File writes the name of a file as an argument of such a command; default quoted for the shell where needed.
	File func(name string) string
	// Progress, if set, is called before a story is told.
	Progress func(file string)
}

// Build writes the index of a folder into it, with the pages of its stories beside their files, and returns it. It
// takes about a second for each story. It replaces existing pages. The error is for a folder that cannot be read or
// written or has no results, and for a context that ended.
func Build(ctx context.Context, dir string, o Options) (*Index, error) {
	if o.File == nil {
		o.File = escape.Shell
	}
	o.Command = cmp.Or(o.Command, "torture")
	b := &builder{ctx: ctx, dir: dir, options: o, index: &Index{}, begins: map[string]Begin{}}
	if err := b.walk(); err != nil {
		return nil, err
	}
	b.join()
	b.histories()
	if x := b.index; len(x.Violations)+len(x.Runs)+len(x.Histories)+len(x.Problems) == 0 {
		return nil, errors.New("there are no results in it: name a folder that torture run --out or torture live --out has written")
	}
	slices.SortStableFunc(b.index.Runs, func(x, y Run) int { return cmp.Compare(x.File, y.File) })
	b.rootsFirst()
	if ctx.Err() != nil {
		return nil, ctx.Err() // during the last file
	}
	return b.index, wholefile.WriteBy(filepath.Join(dir, Name), b.index.write)
}

// rootsFirst sorts the violations: first the likely root of each run, and of those the simplest.
func (b *builder) rootsFirst() {
	for i := range b.index.Violations {
		v := &b.index.Violations[i]
		if run := b.index.beside(v.File); run != nil {
			v.place = max(run.place(v.File), 0)
		}
	}
	slices.SortStableFunc(b.index.Violations, func(x, y Violation) int {
		return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.steps, y.steps), cmp.Compare(x.File, y.File))
	})
}

// builder is the state of [Build].
type builder struct {
	ctx      context.Context
	dir      string
	options  Options
	index    *Index
	files    int
	stories  int
	recorded []string         // histories, read after all runs
	begins   map[string]Begin // of runs, by folder
}

// walk visits the files of the folder and its subfolders, by name.
func (b *builder) walk() error {
	return filepath.WalkDir(b.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == b.dir:
			return err
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		case err != nil:
			b.problem(b.relative(path), err)
			return nil
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != b.dir:
			return fs.SkipDir
		case !entry.Type().IsRegular() || !strings.HasPrefix(filepath.Ext(path), ".json"):
			return nil
		}
		if b.files++; b.files > filesMax {
			b.problem(b.relative(path), fmt.Errorf("this file and those after it are not in the index, "+
				"as %d files are the most: make the index of a folder with fewer", filesMax))
			return fs.SkipAll
		}
		b.file(path)
		return nil
	})
}

// file adds a file to the index, or its problem.
func (b *builder) file(path string) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > fileMax {
		err = fmt.Errorf("it has %d MB, and %d MB is the most", info.Size()>>20, fileMax>>20)
	}
	if err == nil {
		err = b.read(path, b.relative(path))
	}
	if err != nil {
		b.problem(b.relative(path), err)
	}
}

func (b *builder) problem(name string, err error) {
	b.index.Problems = append(b.index.Problems, Problem{name, err.Error()})
}

// relative is a file's name in the index.
func (b *builder) relative(path string) string {
	name, err := filepath.Rel(b.dir, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(name)
}

// path is the path of a file of the index.
func (b *builder) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }
