package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story/index"
)

// recorded is a history to be judged.
type recorded struct {
	io.Reader
	file  *os.File
	model linearizability.Model
	notes []string // remarks for the user
}

// Close closes the file, unless it is standard input.
func (r *recorded) Close() {
	if r.file != os.Stdin {
		r.file.Close()
	}
}

// expect prepares for the whole history: its operations take nearly twice as much memory as their lines.
func (r *recorded) expect() {
	if info, err := r.file.Stat(); err == nil && info.Mode().IsRegular() {
		memory.ExpectHeap(2 * info.Size())
	}
}

// errNoRound is the error of a run without a finished round.
var errNoRound = errors.New("there is nothing to judge: the run has not finished a round")

// open opens the input: a file, or the history in the folder of a run.
func (k *CheckCmd) open() (*recorded, error) {
	info, err := os.Stat(k.File)
	folder := err == nil && info.IsDir()
	switch {
	case folder && k.Model != "":
		return nil, errors.New("a folder of a run has a model of its own: leave out --model, or name the file of the history")
	case folder:
		return openRun(k.File)
	case k.Model == "":
		return nil, errors.New("give --model, the model to judge the history against; only the folder of a run needs none")
	}
	model, err := modelNamed(k.Model, linearizability.Parameters{Parties: k.Parties, Permits: k.Permits})
	if err != nil {
		return nil, err
	}
	file, err := openHistory(k.File)
	return &recorded{Reader: file, file: file, model: model}, err
}

// openRun opens the history in the folder of a run on real servers, which may be under way or killed, up to its last
// whole round. Rounds do not depend on each other.
func openRun(dir string) (*recorded, error) {
	begin, err := index.ReadBegin(dir)
	if err != nil {
		return nil, err
	}
	if output.Simulates(begin.Backend) {
		return nil, errors.New("a simulated run writes no history, but counterexamples: run torture replay or torture explain")
	}
	model, err := output.ModelOf(begin.Workload, begin.Recipe)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(dir, index.HistoryName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNoRound
	} else if err != nil {
		return nil, err
	}
	whole, rest, err := index.WholeRounds(file)
	if err != nil {
		return nil, cmp.Or(err, file.Close())
	}
	return &recorded{Reader: whole, file: file, model: model.Model, notes: notes(dir, rest)}, nil
}

// modelNamed returns what a history is judged by: a model; or that of a kind without one, which has no more than its name.
func modelNamed(name string, size linearizability.Parameters) (linearizability.Model, error) {
	if judges.Knows(name) {
		return linearizability.Model{Name: name}, nil
	}
	return linearizability.ByName(name, size)
}

// judgeHistory judges a history by what modelNamed has returned.
func judgeHistory(m linearizability.Model, h linearizability.History, timeout time.Duration) []linearizability.Verdict {
	if judges.Knows(m.Name) {
		return judges.Check(m.Name, h, timeout)
	}
	return linearizability.Check(m, h, timeout)
}

// notes say what is missing in the folder of a run.
func notes(dir string, rest int64) (said []string) {
	if _, err := os.Stat(filepath.Join(dir, output.ResultName)); err != nil {
		said = append(said, "the run has no result: it is under way, or was killed; "+
			"only its finished rounds are judged")
	}
	if rest > 0 {
		said = append(said, fmt.Sprintf("the last %d bytes of the history are left out: "+
			"their round is not complete", rest))
	}
	return said
}
