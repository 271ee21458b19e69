package storyindex

import (
	"maps"
	"path"
	"slices"

	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// ProgressLog is the progress of a run, thinned for plotting.
type ProgressLog struct {
	File   string
	Points []progresslog.Point // never empty
	Broken float64             // seconds until a property was first seen broken; 0 if none was
}

// newProgressLog thins points, of which there is at least one.
func newProgressLog(file string, points []progresslog.Point) ProgressLog {
	c := ProgressLog{File: file, Points: spaced(points)}
	if i := slices.IndexFunc(points, func(p progresslog.Point) bool { return p.Violations > 0 }); i >= 0 {
		c.Broken = points[i].Time
	}
	return c
}

// last is the last point.
func (c ProgressLog) last() progresslog.Point { return c.Points[len(c.Points)-1] }

// spaced returns points about a slice of the whole time or more apart, the last among them. Rates over shorter times
// reflect the clock rather than the run.
func spaced(all []progresslog.Point) (points []progresslog.Point) {
	last := all[len(all)-1]
	gap := last.Time / float64(min(slicesMax, len(all))) * 0.75
	before := 0.0
	for _, p := range all {
		if p.Time-before >= gap && p.Time > before {
			points, before = append(points, p), p.Time
		}
	}
	if n := len(points); n > 0 && last.Time-points[n-1].Time < gap { // too close to the last
		points = points[:n-1]
	}
	return append(points, last)
}

// join lists runs without a result: they are under way, or were killed.
func (b *builder) join() {
	listed := map[string]bool{}
	for _, r := range b.index.Runs {
		listed[path.Dir(r.File)] = true
	}
	add := func(r Run) {
		if dir := path.Dir(r.File); !listed[dir] {
			b.index.Runs, listed[dir] = append(b.index.Runs, r.of(b.begins[dir])), true
		}
	}
	for _, c := range b.index.ProgressLogs {
		add(unfinished(c))
	}
	for _, dir := range slices.Sorted(maps.Keys(b.begins)) {
		add(Run{File: path.Join(dir, BeginName), Verdict: "unknown", Reason: noResult})
	}
}

// noResult is the reason why a run has no verdict.
const noResult = "it has no result yet: it is under way, or was killed"

func unfinished(c ProgressLog) Run {
	last := c.last()
	r := Run{
		File: c.File, Verdict: "unknown", Reason: noResult,
		Episodes: int(last.Episodes), Operations: last.Operations, Faults: map[string]int{}, Elapsed: last.Time,
	}
	if last.Violations > 0 {
		r.Verdict, r.Reason = "violation", r.Reason+"; what broke it would have told at its end"
	}
	for kind, n := range last.Faults {
		r.Faults[kind] = int(n)
	}
	return r
}
