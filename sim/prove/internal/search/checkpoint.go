package search

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// checkpoint is how far a search has come, in a file.
type checkpoint struct {
	Of     string // what is searched, and by which program: see scope
	Stack  []branch
	Seen   []uint64
	Digest uint64

	Runs, Ends int
	Part       []byte // as JSON
}

// errCheckpoint is the error of a checkpoint file that does not belong to a search, or is none.
var errCheckpoint = errors.New("sim: cannot go on from the checkpoint")

// checkpointEvery is how often a search writes its checkpoint: a process that is killed loses at most so much.
const checkpointEvery = 10 * time.Second

// save writes the checkpoint of a search that is between two runs.
func (s *search) save() error {
	part, err := json.Marshal(s.Part)
	if err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	p := checkpoint{Of: s.scope(), Digest: s.digest, Runs: s.runs, Ends: s.ends, Part: part, Stack: s.stack}
	p.Seen = slices.Collect(s.seen.all)
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(p); err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	return wholefile.Write(s.Checkpoint, out.Bytes())
}

// load goes on from a checkpoint; without a file the search begins.
func (s *search) load() error {
	data, err := os.ReadFile(s.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var p checkpoint
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&p); err != nil {
		return fmt.Errorf("%w %s: it is none, or cut off: %w", errCheckpoint, s.Checkpoint, err)
	}
	if p.Of != s.scope() {
		return fmt.Errorf("%w %s: it is of %q, and this is %q: name another file, or remove it", errCheckpoint,
			s.Checkpoint, p.Of, s.scope())
	}
	s.stack, s.digest, s.runs, s.ends = p.Stack, p.Digest, p.Runs, p.Ends
	for _, key := range p.Seen {
		s.seen.add(key)
	}
	if err := s.Add(p.Part); err != nil {
		return fmt.Errorf("%w %s: %w", errCheckpoint, s.Checkpoint, err)
	}
	return nil
}

// scope says what is searched, and by which program.
func (s *search) scope() string {
	return fmt.Sprintf("%s, share %d, by %s", s.Of, s.Share, version.Build())
}
