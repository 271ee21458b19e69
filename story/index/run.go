package index

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// Run is a run's description of itself. The fields are those of torture run --json.
type Run struct {
	File       string         `json:"-"` // its result; or its begin, if it has not ended
	Workload   string         `json:"workload"`
	Recipe     string         `json:"recipe"`
	Backend    string         `json:"backend"`
	Strategy   string         `json:"strategy"`
	Seed       uint64         `json:"seed"`
	Episodes   int            `json:"episodes"`
	Operations int64          `json:"operations"`
	Faults     map[string]int `json:"faults"` // times struck
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`
	Elapsed    float64        `json:"elapsed_s"`
	Thresholds []struct {
		Verdict string `json:"verdict"`
	} `json:"thresholds"` // of torture live: a broken one is a violation, too

	// Violations is a list of finding, or another type in other lists of runs.
	Violations json.RawMessage `json:"violations"`
}

// finding is a violation that a run found.
type finding struct {
	Property string `json:"property"`
	Message  string `json:"message"`
	File     string `json:"file"`
}

func (r Run) findings() (found []finding) {
	if json.Unmarshal(r.Violations, &found) != nil {
		return nil // a number of violations, for example
	}
	return found
}

// found returns the violation that the run wrote to a file of that name.
func (r Run) found(name string) (finding, bool) {
	if i := r.place(name); i >= 0 {
		return r.findings()[i], true
	}
	return finding{}, false
}

// place is where that violation is in the run's list, which has the likely root first; -1 if it is not.
func (r Run) place(name string) int {
	return slices.IndexFunc(r.findings(), func(f finding) bool {
		return path.Base(strings.ReplaceAll(f.File, `\`, "/")) == path.Base(name)
	})
}

// wrote reports whether the run wrote a history. Only runs on real servers do.
func (r Run) wrote(name string) bool {
	_, found := r.found(name)
	return r.Workload != "" && r.Backend != "" && r.Backend != "sim" && (found || path.Base(name) == HistoryName)
}

// Struck lists the faults of a run with how often they struck, by name. A name and its number stay on one line.
func (r Run) Struck() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		if n := r.Faults[name]; n > 0 {
			parts = append(parts, name+"\u00a0"+count(n))
		}
	}
	return strings.Join(parts, ", ")
}

// beside returns the only run in a file's folder: nil if there is none, or several.
func (x *Index) beside(name string) *Run {
	var found *Run
	for i := range x.Runs {
		if path.Dir(x.Runs[i].File) != path.Dir(name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = &x.Runs[i]
	}
	return found
}

// join lists runs without a result: they are under way, or were killed.
func (b *builder) join() {
	listed := map[string]bool{}
	for _, r := range b.index.Runs {
		listed[path.Dir(r.File)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(b.begins)) {
		begin := b.begins[dir]
		if b.options.Section != nil {
			b.index.Sections = append(b.index.Sections, b.options.Section(b.path(dir), begin))
		}
		if !listed[dir] {
			b.index.Runs = append(b.index.Runs, Run{File: path.Join(dir, BeginName), Verdict: "unknown",
				Reason:   "it has no result yet: it is under way, or was killed",
				Workload: begin.Workload, Recipe: begin.Recipe, Backend: begin.Backend,
				Strategy: begin.Strategy, Seed: begin.Seed})
		}
	}
}
