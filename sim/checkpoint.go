package sim

import (
	"bytes"
	"encoding/gob"
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

	Runs, Ends  int
	SearchSteps int64
	Result      Result // as far as it goes on growing
	Struck      [faultCount]int
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
	p := checkpoint{
		Of: c.scope(), Digest: s.digest, Runs: s.runs, Ends: s.ends, SearchSteps: s.steps, Result: c.result, Struck: c.struck,
	}
	for key := range s.seen {
		p.Seen = append(p.Seen, key)
	}
	for _, b := range s.stack {
		p.Stack = append(p.Stack, savedBranch{b.n, b.label, b.options, b.taken, b.met, b.key})
	}
	p.Result.Disputed = nil
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
	s.digest, s.runs, s.ends, s.steps = p.Digest, p.Runs, p.Ends, p.SearchSteps
	for _, key := range p.Seen {
		s.seen[key] = struct{}{}
	}
	for _, b := range p.Stack {
		s.stack = append(s.stack, branch{b.N, b.Label, slices.Clone(b.Options), b.Taken, b.Met, b.Key})
	}
	c.result, c.struck = p.Result, p.Struck
	return nil
}

// scope says what is searched, and by which program.
func (c *campaign) scope() string {
	cfg := c.cfg
	return fmt.Sprintf("%s (%s): %d clients, %d users, %d operations, faults %v, at most %d, plain %v, without %v, "+
		"backwards %v, whole %v, by %s", c.workload.Name(), c.workload.Recipe(), cfg.Clients, cfg.Users, cfg.Ops, cfg.Faults,
		cfg.AtMost, cfg.Plain, cfg.Without, cfg.Backwards, cfg.Whole, Build())
}
