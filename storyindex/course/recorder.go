package course

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// Recorder writes a course while the run is under way. It is not safe for use by several goroutines at
// once.
//
// Invariants: the file has len(points) lines, which is less than LinesMax between calls; points are at
// least every seconds apart, but for the last of a finished course.
type Recorder struct {
	name   string
	file   *os.File // nil before the first line
	points []Point
	every  float64 // seconds
	latest Point   // what was told last …
	told   bool    // … and is not in the file yet
	err    error   // why nothing is written any more
}

// NewRecorder returns a recorder of a course into a file, which is made with the first line and must not
// exist.
func NewRecorder(name string) *Recorder { return &Recorder{name: name, every: 1} }

// Add tells the recorder of a moment; it may be called often. What cannot be written is told by Close:
// a run goes on without a course.
func (r *Recorder) Add(p Point) {
	p.Time = math.Round(p.Time*1000) / 1000
	r.latest, r.told = p, true
	if p.Time-r.lastTime() >= r.every {
		r.write()
	}
}

// Close writes the moment that was told last and ends the course. The error is the first that there
// was.
func (r *Recorder) Close() error {
	if r.told {
		r.write()
	}
	if r.file != nil {
		r.note(r.file.Close())
	}
	if r.err != nil {
		return fmt.Errorf("the course of the run is not complete: %w", r.err)
	}
	return nil
}

func (r *Recorder) lastTime() float64 {
	if len(r.points) == 0 {
		return 0
	}
	return r.points[len(r.points)-1].Time
}

func (r *Recorder) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// write appends the latest moment, and thins a file that is full.
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

func (r *Recorder) append(p Point) error {
	if r.file == nil {
		var err error
		if r.file, err = os.OpenFile(r.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err != nil {
			return err
		}
	}
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(line, '\n'))
	return err
}

// thin leaves out every other moment, but not the latest, and puts a file of the rest in the place of
// the old one.
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
