package sim

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim/internal/search"
	"github.com/zktorture/zktorture/sim/tally"
)

// checkpoint is how far a search has come, in a file.
type checkpoint struct {
	Of     string // what is searched, and by which program: see scope
	Stack  []search.Branch
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
func (c *campaign) save(s *search.Search) error {
	part, err := json.Marshal(c.part)
	if err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	p := checkpoint{Of: c.scope(), Digest: s.Digest, Runs: s.Runs, Ends: s.Ends, Part: part, Stack: s.Stack}
	for key := range s.Seen {
		p.Seen = append(p.Seen, key)
	}
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(p); err != nil {
		return fmt.Errorf("sim: the checkpoint: %w", err)
	}
	return wholefile.Write(c.cfg.Checkpoint, out.Bytes())
}

// load goes on from a checkpoint; without a file the search begins.
func (c *campaign) load(s *search.Search) error {
	data, err := os.ReadFile(c.cfg.Checkpoint)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var p checkpoint
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&p); err != nil {
		return fmt.Errorf("%w %s: it is none, or cut off: %w", errCheckpoint, c.cfg.Checkpoint, err)
	}
	if p.Of != c.scope() {
		return fmt.Errorf("%w %s: it is of %q, and this is %q: name another file, or remove it", errCheckpoint,
			c.cfg.Checkpoint, p.Of, c.scope())
	}
	s.Stack, s.Digest, s.Runs, s.Ends = p.Stack, p.Digest, p.Runs, p.Ends
	for _, key := range p.Seen {
		s.Seen[key] = struct{}{}
	}
	var part tally.Part
	if err := json.Unmarshal(p.Part, &part); err != nil {
		return fmt.Errorf("%w %s: %w", errCheckpoint, c.cfg.Checkpoint, err)
	}
	return c.part.Add(part)
}

// scope says what is searched, and by which program.
func (c *campaign) scope() string {
	return fmt.Sprintf("%s, share %d, by %s", c.of(), c.cfg.Share, digest.Build())
}
