// Package storyindex makes one page over a folder of results.
//
// Whoever tortures a recipe for a night has a folder in the morning: what the run said about itself
// (result.json), a file for each violation, histories of what clients saw. [Build] reads what is there,
// makes the page of each violation's story beside its file, and index.html, which lists runs, violations
// and hunts of the zoo with links to the stories, and draws what has a course: the episodes that it took
// to find each animal, and operations over time.
//
// What a file is, is seen from what is in it and not from its name:
//
//	a counterexample      one JSON object with a format, see [sim.CounterexampleFormat]
//	a run                 a JSON object with workload and verdict, as torture run --json prints it; also
//	                      one a line
//	a hunt of the zoo     a JSON object with animals, as torture zoo --json prints it; several such files,
//	                      as of different strategies or seeds, are drawn together
//	a history             one operation a line, see [linearizability.Read]
//
// All else is passed over. A file that is none of these is no error, as folders have all kinds of things
// in them; one that begins like one of them and cannot be read is listed as such.
//
// The page is one file and loads nothing. Its plots are drawn by uPlot (https://github.com/leeoniya/uPlot,
// by its licence, which is beside it in page/).
package storyindex

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
)

// Name is the file that [Build] writes.
const Name = "index.html"

// Bounds of an index.
const (
	filesMax   = 5000    // that are looked at
	fileMax    = 1 << 30 // bytes of one
	storiesMax = 500     // whose pages are made
)

// Index is what is in a folder.
type Index struct {
	Runs       []Run
	Violations []Violation
	Hunts      []Hunt
	Courses    []Course
	Problems   []Problem // files that could not be read, or whose story cannot be told
}

// Run is what a run says about itself. The fields are those of torture run --json.
type Run struct {
	File       string         `json:"-"`
	Workload   string         `json:"workload"`
	Recipe     string         `json:"recipe"`
	Backend    string         `json:"backend"`
	Strategy   string         `json:"strategy"`
	Seed       uint64         `json:"seed"`
	Episodes   int            `json:"episodes"`
	Operations int64          `json:"operations"`
	Faults     map[string]int `json:"faults"` // times struck
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`
	Elapsed    float64        `json:"elapsed_s"`
}

// Violation is a file that tells of one.
type Violation struct {
	File     string // relative to the folder
	Story    string // its page, relative to the folder; empty if there is none
	Workload string
	Recipe   string
	Property string
	Message  string
}

// Hunt is a hunt of the zoo.
type Hunt struct {
	File    string   `json:"-"`
	Animals []Animal `json:"animals"`
	Found   int      `json:"found"`
	Total   int      `json:"total"`
}

// Animal is an animal of a hunt.
type Animal struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Property string `json:"property"`
	Found    bool   `json:"found"`
	Episodes int    `json:"episodes"`
	Clean    bool   `json:"twin_clean"`
}

// Problem is a file about which there is something to say.
type Problem struct{ File, Text string }

// Options say how stories are told.
type Options struct {
	// Tell makes the story of a counterexample in a file.
	Tell func(ctx context.Context, c *sim.Counterexample, file string) (*story.Story, error)
	// Progress, if set, is called before each story is told.
	Progress func(file string)
}

// Build writes the index of a folder into it, and the pages of its stories beside their files, and returns
// what it has listed. It takes about a second for each story. Pages that are there already are written
// anew. The error is for a folder that cannot be read or written, and for a context that ended.
func Build(ctx context.Context, dir string, o Options) (*Index, error) {
	b := &builder{ctx: ctx, dir: dir, options: o, index: &Index{}}
	if err := b.walk(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // while the last file was read
	}
	var page bytes.Buffer
	if err := b.index.write(&page); err != nil {
		return nil, err
	}
	return b.index, os.WriteFile(filepath.Join(dir, Name), page.Bytes(), 0o644)
}

// builder is a Build under way.
type builder struct {
	ctx     context.Context
	dir     string
	options Options
	index   *Index
	files   int
	stories int
}

// walk looks at the files of the folder and those below it, by name.
func (b *builder) walk() error {
	return filepath.WalkDir(b.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != b.dir:
			return fs.SkipDir
		case !entry.Type().IsRegular() || !strings.HasPrefix(filepath.Ext(path), ".json"):
			return nil
		}
		if b.files++; b.files > filesMax {
			return fmt.Errorf("%s has more than %d files of results: make the index of one of its folders", b.dir, filesMax)
		}
		return b.file(path)
	})
}

// file puts a file into the index, or what is the matter with it.
func (b *builder) file(path string) error {
	name, err := filepath.Rel(b.dir, path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > fileMax {
		err = fmt.Errorf("it has %d MB, and %d MB is the most", info.Size()>>20, fileMax>>20)
	}
	if err == nil {
		err = b.read(path, filepath.ToSlash(name))
	}
	if err != nil {
		b.index.Problems = append(b.index.Problems, Problem{filepath.ToSlash(name), err.Error()})
	}
	return nil
}
