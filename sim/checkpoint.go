package sim

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

	"github.com/zktorture/zktorture/internal/wholefile"
)

// checkpoint is how far a search has come, in a file.
type checkpoint struct {
	Of     string // what is searched, and by which program: see [Config.scope]
	Stack  []savedBranch
	Seen   []uint64
	Digest uint64

	Runs, Ends int
	Part       []byte // as JSON
}

type savedBranch struct {
	N       int
	Label   string
	Options []int
	Taken   int
	Met     int
	Key     uint64
}

// ErrCheckpoint is the error of a checkpoint file that does not belong to a search, or is none.
var ErrCheckpoint = errors.New("sim: cannot go on from the checkpoint")

// checkpointEvery is how often a search writes its checkpoint: a process that is killed loses at most so much.
const checkpointEvery = 10 * time.Second

// save writes the checkpoint of a search that is between two runs.
func (c *campaign) save(s *search) error {
	part, err := json.Marshal(c.part)
	if err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	p := checkpoint{Of: c.scope(), Digest: s.digest, Runs: s.runs, Ends: s.ends, Part: part}
	for key := range s.seen {
		p.Seen = append(p.Seen, key)
	}
	for _, b := range s.stack {
		p.Stack = append(p.Stack, savedBranch{b.n, b.label, b.options, b.taken, b.met, b.key})
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(p); err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	return wholefile.Write(c.cfg.Checkpoint, out.Bytes())
}

// load goes on from a checkpoint; without a file the search begins.
func (c *campaign) load(s *search) error {
	data, err := os.ReadFile(c.cfg.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var p checkpoint
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&p); err != nil {
		return fmt.Errorf("%w %s: it is none, or cut off: %w", ErrCheckpoint, c.cfg.Checkpoint, err)
	}
	if p.Of != c.scope() {
		return fmt.Errorf("%w %s: it is of %q, and this is %q: name another file, or remove it", ErrCheckpoint,
			c.cfg.Checkpoint, p.Of, c.scope())
	}
	s.digest, s.runs, s.ends = p.Digest, p.Runs, p.Ends
	for _, key := range p.Seen {
		s.seen[key] = struct{}{}
	}
	for _, b := range p.Stack {
		s.stack = append(s.stack, branch{b.N, b.Label, slices.Clone(b.Options), b.Taken, b.Met, b.Key})
	}
	var part Part
	if err := json.Unmarshal(p.Part, &part); err != nil {
		return fmt.Errorf("%w %s: %w", ErrCheckpoint, c.cfg.Checkpoint, err)
	}
	return c.part.Add(part)
}

// scope says what is searched, and by which program.
func (c *campaign) scope() string {
	return fmt.Sprintf("%s, share %d, by %s", c.of(), c.cfg.Share, Build())
}
