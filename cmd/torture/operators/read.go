package operators

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/story/index"
)

// result is what the page says of a run's result.
type result struct {
	Verdict   string         `json:"verdict"`
	Reason    string         `json:"reason"`
	NotJudged []string       `json:"not_judged"`
	Faults    map[string]int `json:"faults"` // times struck
	Recovery  float64        `json:"recovery_s"`
	Elapsed   float64        `json:"elapsed_s"`

	Thresholds []output.Threshold `json:"thresholds"`
}

// Run is what a folder says of a run. Moments are nanoseconds since it began.
type Run struct {
	begin      index.Begin
	result     *result // nil if there is none
	operations []operation
	Hurts      []live.ServerStrike // that have struck
	Strikes    []live.Strike       // of clients, that have begun
	Reigns     []Reign             // who led from when on; nil if nobody watched
	End        int64
	Missing    []string // what could not be read, and why
}

// operation is one of a client.
type operation struct {
	name      string
	call, end int64 // equal if it never returned
	answered  bool  // its outcome is known
	round     int   // -1: not known
}

// Read reads what is in the folder of a run, as far as that can be read.
func Read(dir string, begin index.Begin) *Run {
	r := &Run{begin: begin}
	r.file(dir, output.ResultName, "the verdict is not known, and a fault that lasts, or lasted at the end, is not listed", func(in *os.File) error {
		return json.NewDecoder(in).Decode(&r.result)
	})
	r.file(dir, index.HistoryName, "latencies are not known", r.history)
	r.file(dir, output.StrikesName, "it is not known when faults struck", func(in *os.File) error {
		return lines(in, r.strike)
	})
	if begin.Backend == "ensemble" {
		r.file(dir, leadersName, "nobody watched who led", func(in *os.File) error {
			return lines(in, func(line []byte) error {
				var of Reign
				if err := json.Unmarshal(line, &of); err != nil {
					return err
				}
				r.Reigns = append(r.Reigns, of)
				return nil
			})
		})
	}
	if r.result != nil {
		r.until(int64(r.result.Elapsed * 1e9))
	}
	if n := len(r.Reigns); n > 0 {
		r.until(r.Reigns[n-1].At)
	}
	return r
}

// until notes a moment of the run.
func (r *Run) until(moment int64) { r.End = max(r.End, moment) }

// file reads a file of the folder, or notes what it lacks.
func (r *Run) file(dir, name, without string, read func(*os.File) error) {
	file, err := os.Open(filepath.Join(dir, name))
	if err == nil {
		defer file.Close()
		err = read(file)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		r.Missing = append(r.Missing, fmt.Sprintf("there is no %s: %s", name, without))
	case err != nil:
		r.Missing = append(r.Missing, fmt.Sprintf("%s can be read in part only: %v", name, err))
	}
}

// lines reads a file by lines. One that was cut off is an error.
func lines(in io.Reader, each func([]byte) error) error {
	scanner := bufio.NewScanner(in)
	for number := 1; scanner.Scan(); number++ {
		if line := bytes.TrimSpace(scanner.Bytes()); len(line) > 0 {
			if err := each(line); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
	}
	return scanner.Err()
}

// strike reads a fault of a server, or of a client.
func (r *Run) strike(line []byte) error {
	var client live.Strike
	var server live.ServerStrike
	err := cmp.Or(json.Unmarshal(line, &client), json.Unmarshal(line, &server))
	switch {
	case client.At == 0: // it did not strike
	case client.Client > 0:
		r.Strikes = append(r.Strikes, client)
	default:
		r.Hurts = append(r.Hurts, server)
	}
	r.until(max(server.At, server.Well))
	return err
}

// history reads the complete rounds.
func (r *Run) history(file *os.File) error {
	whole, rest, err := index.WholeRounds(file)
	if err != nil {
		return err
	}
	for o, err := range histories.ReadEach(whole) {
		if err != nil {
			return err
		}
		op := operation{o.Op, o.Call, o.Return, o.Outcome != linearizability.Unknown, -1}
		if n, err := strconv.Atoi(strings.TrimPrefix(path.Base(o.Object), "r")); err == nil {
			op.round = n
		}
		if o.Return == linearizability.Forever {
			op.end = o.Call
		}
		r.operations = append(r.operations, op)
		r.until(op.end)
	}
	if rest > 0 {
		return fmt.Errorf("its last %d bytes are of a round that was cut off", rest)
	}
	return nil
}
