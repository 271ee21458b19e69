package progresslog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
)

// lineMax bounds a line, in bytes.
const lineMax = 1 << 16

// linesReadMax bounds the lines read.
const linesReadMax = 5 * LinesMax

// Read reads a progress log. On an error it returns the points before the line that the error names. A log is cut off
// if its run was killed or its disk was full.
func Read(r io.Reader) ([]Point, error) {
	var points []Point
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, lineMax)
	last := Point{}
	for n := 1; lines.Scan(); n++ {
		if n > linesReadMax {
			return points, fmt.Errorf("it has more than %d lines, so it is not the progress log of a run", linesReadMax)
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		p, err := parse(lines.Bytes(), &last)
		if err != nil {
			return points, fmt.Errorf("line %d: %w", n, err)
		}
		points, last = append(points, p), p
	}
	err := lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("after %d lines: a line is longer than %d bytes", len(points), lineMax)
	}
	return points, err
}

// parse reads the line after a point. A kind of fault missing from it has not struck since then.
func parse(line []byte, last *Point) (Point, error) {
	var given struct {
		Point
		Time *float64 `json:"t_s"`
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return Point{}, fmt.Errorf("not a line of a progress log, or cut off: %w", err)
	}
	if given.Time == nil {
		return Point{}, errors.New("not a line of a progress log: it has no t_s, the seconds since the run began")
	}
	p := given.Point
	p.Time = *given.Time
	p.Faults = map[string]int64{}
	maps.Copy(p.Faults, last.Faults)
	maps.Copy(p.Faults, given.Faults)
	if problem := p.problem(last); problem != "" {
		return Point{}, errors.New(problem)
	}
	return p, nil
}
