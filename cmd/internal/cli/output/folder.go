package output

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

// Folder is the folder of a run.
type Folder struct {
	Dir   string
	Named bool // by the user
}

// Discard removes the folder of a run that failed to start, if it is the user's and empty, so that the command can be
// repeated.
func (o *Folder) Discard() {
	if !o.Named {
		return
	}
	for _, name := range []string{index.HistoryName, StrikesName} {
		file := filepath.Join(o.Dir, name)
		if info, err := os.Stat(file); err == nil && info.Size() == 0 {
			os.Remove(file)
		}
	}
	if left, err := os.ReadDir(o.Dir); err == nil && len(left) == 1 {
		os.Remove(filepath.Join(o.Dir, index.BeginName))
	}
	os.Remove(o.Dir) // fails unless it is empty
}

// CounterexamplesDir is the default folder of counterexamples.
const CounterexamplesDir = "counterexamples"

// NewFolder makes the folder of a run. It refuses one that exists, so that nothing is overwritten.
func NewFolder(dir string) (*Folder, error) {
	if dir == "" {
		return &Folder{Dir: CounterexamplesDir}, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, console.OfFile("--out "+dir, err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if os.IsExist(err) {
			return nil, fmt.Errorf("--out %s exists already: choose another folder, or remove it", dir)
		}
		return nil, console.OfFile("--out "+dir, err)
	}
	return &Folder{dir, true}, nil
}

// Begin writes the description of the run into the user's folder.
func (o *Folder) Begin(b index.Begin) error {
	if !o.Named {
		return nil
	}
	return index.WriteBegin(o.Dir, b)
}

// Evidence is what was written about the violations of a run.
type Evidence struct {
	Files    []string              // one for each violation; "" if it could not be written
	Examples []*sim.Counterexample // of simulated runs, one for each
	Err      error                 // of writing the files
}

// Save writes a file of the violation, named by its content. The same steps found with another --faults make another
// file.
func (e *Evidence) Save(o *Folder, result sim.Result, found sim.Found, extension string, write func(io.Writer) error) {
	var data bytes.Buffer
	err := write(&data)
	digest := sha256.Sum256(data.Bytes())
	name := filepath.Join(o.Dir, fmt.Sprintf("%s-%s-%s-%x.%s", result.Workload, Flat(result.Recipe), found.Property,
		digest[:4], extension))
	if err == nil {
		err = console.WriteNew(name, data.Bytes())
	}
	if err != nil {
		name, e.Err = "", errors.Join(e.Err, fmt.Errorf("the files of the violation of %s could not be written: %w",
			found.Property, err))
	}
	e.Files = append(e.Files, name)
}

// Counterexamples writes a file for each violation.
func (o *Folder) Counterexamples(cfg sim.Config, result sim.Result) (saved Evidence) {
	for _, found := range result.Violations {
		c, err := cfg.Counterexample(result, found)
		saved.Save(o, result, found, "json", func(w io.Writer) error {
			if err != nil {
				return err
			}
			return c.Write(w)
		})
		saved.Examples = append(saved.Examples, c)
	}
	return saved
}

// Histories writes, for each violation on real servers, the history of the round that showed it first.
func (o *Folder) Histories(result sim.Result) (saved Evidence) {
	for _, found := range result.Violations {
		history, _ := found.History.(linearizability.History)
		saved.Save(o, result, found, "jsonl", func(w io.Writer) error { return histories.Write(w, history) })
	}
	return saved
}

// Flat turns a recipe's name into a part of a file name. A recipe may be a command of any length, and a file's name is
// bounded. The digest of the content keeps names apart.
func Flat(s string) string {
	s = strings.NewReplacer("/", "-", " ", "-", ",", "", ":", "").Replace(s)
	return strings.ToValidUTF8(s[:min(len(s), flatMax)], "")
}

// flatMax bounds a recipe's part of a file name, in bytes.
const flatMax = 60

// StrikesName is the file of the faults of a run on real servers, with their effects.
const StrikesName = "faults.jsonl"

// Create makes a file in the user's folder, if there is one.
func (o *Folder) Create(name string) (io.WriteCloser, error) {
	if !o.Named {
		return console.NopCloser{Writer: io.Discard}, nil
	}
	return os.OpenFile(filepath.Join(o.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// Summary writes the result of a run, as --json prints it, into the user's folder.
func (o *Folder) Summary(s Summary) error {
	if !o.Named {
		return nil
	}
	var data bytes.Buffer
	if err := console.WriteJSON(&data, s); err != nil {
		return err
	}
	return console.WriteNew(filepath.Join(o.Dir, ResultName), data.Bytes())
}

// ResultName is the file of the result of a run that was not killed.
const ResultName = "result.json"
