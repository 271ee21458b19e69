package progresslog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Recorder writes a progress log while the run is under way. It is not safe for concurrent use.
//
// Invariants: between calls the file has len(points) lines, fewer than LinesMax. Points are at least every seconds
// apart, except for the last of a finished log.
type Recorder struct {
	name   string
	file   *os.File // nil before the first line
	points []Point
	every  float64 // seconds
	latest Point   // the last point given …
	told   bool    // … if it is not in the file yet
	err    error   // of a write; nothing is written after it
}

// NewRecorder returns a recorder to a file, which is created with the first line and must not exist.
func NewRecorder(name string) *Recorder { return &Recorder{name: name, every: 1} }

// Add records a point; it may be called often. Close returns the first write error: a run goes on without a log.
func (r *Recorder) Add(p Point) {
	p.Time = math.Round(p.Time*1000) / 1000
	r.latest, r.told = p, true
	last := 0.0
	if n := len(r.points); n > 0 {
		last = r.points[n-1].Time
	}
	if p.Time-last >= r.every {
		r.write()
	}
}

// Close writes the last point. It returns the first error.
func (r *Recorder) Close() error {
	if r.told {
		r.write()
	}
	if r.file != nil {
		r.note(r.file.Close())
	}
	if r.err != nil {
		return fmt.Errorf("the progress log of the run is not complete: %w", r.err)
	}
	return nil
}

func (r *Recorder) note(err error) { r.err = cmp.Or(r.err, err) }

// write appends the latest point, and thins a full file.
func (r *Recorder) write() {
	if r.err != nil {
		return
	}
	r.told = false
	r.points = append(r.points, r.latest)
	r.note(r.append(r.latest))
	if len(r.points) >= LinesMax {
		r.thin()
	}
}

func (r *Recorder) append(p Point) (err error) {
	if r.file == nil {
		if r.file, err = os.OpenFile(r.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	return json.NewEncoder(r.file).Encode(p)
}

// thin drops every other point, but not the latest, and replaces the file.
func (r *Recorder) thin() {
	kept := r.points[:0]
	for i := 1; i < len(r.points); i += 2 {
		kept = append(kept, r.points[i])
	}
	r.points, r.every = kept, 2*r.every
	r.note(r.replace())
}

func (r *Recorder) replace() error {
	var all bytes.Buffer
	lines := json.NewEncoder(&all)
	for _, p := range r.points {
		if err := lines.Encode(p); err != nil {
			return err
		}
	}
	next := r.name + ".tmp"
	if err := os.WriteFile(next, all.Bytes(), 0o644); err != nil {
		return err
	}
	err := cmp.Or(r.file.Close(), os.Rename(next, r.name))
	if err == nil {
		r.file, err = os.OpenFile(r.name, os.O_APPEND|os.O_WRONLY, 0o644)
	}
	return err
}
