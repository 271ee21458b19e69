package campaign

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
)

// nightFormat is the first field of the file of every night. What [Identify] makes of a story belongs to the format.
const nightFormat = "zktorture night 2"

// night is what a campaign has seen, a file that never changes. Its name is when the campaign began, and the digest of
// its plan. Counterexamples are files beside it, named by the SHA-256 of their content.
type night struct {
	Format   string     `json:"format"` // [nightFormat]
	Name     string     `json:"name"`   // of the plan
	Began    time.Time  `json:"began"`
	Digest   string     `json:"digest"` // of the plan
	Build    string     `json:"build"`  // of the code that was tortured
	Failures []sighting `json:"failures"`
	Fixed    []place    `json:"fixed"` // whose counterexamples were run again, and do not break any more
}

// place is a failure in a recipe.
type place struct {
	ID     string `json:"id"` // see [Identify]
	Kind   string `json:"kind"`
	Recipe string `json:"recipe"`
}

// sighting is a failure that was found, or that its counterexample has shown again.
type sighting struct {
	place
	Property       string `json:"property"`
	Message        string `json:"message"`
	Times          int    `json:"times,omitempty"` // that it was found; 0: its counterexample has shown it
	Counterexample string `json:"counterexample"`  // the name of its file
}

// FailureState is what became of a failure from night to night.
type FailureState string

// The states of failures.
const (
	New   FailureState = "new"   // not seen before, or fixed before
	Open  FailureState = "open"  // seen before, and not fixed since
	Fixed FailureState = "fixed" // its counterexample does not break any more, and nothing else has shown it
)

// NightFailure is a failure after a night.
type NightFailure struct {
	sighting              // the last one
	State    FailureState `json:"state"`
	First    time.Time    `json:"first"` // the night in which it was new
	Last     time.Time    `json:"last"`  // the last night in which it was seen
}

// nights is a folder of nights.
type nights string

// read reads all nights, in the order of their times.
func (n nights) read() (all []night, err error) {
	names, err := filepath.Glob(filepath.Join(string(n), "night-*.json"))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		one := night{}
		if err := json.Unmarshal(text, &one); err != nil || one.Format != nightFormat {
			return nil, fmt.Errorf("%s: it is no night of this version: move it away (its format is %q, not %q)", name, one.Format, nightFormat)
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b night) int { return a.Began.Compare(b.Began) })
	return all, err
}

// failures are what became of all failures after the last of some nights, those that are new first, and then by the
// night in which they were new.
func failures(all []night) []NightFailure {
	known := map[place]*NightFailure{}
	var order []*NightFailure
	for _, n := range all {
		for _, f := range known {
			if f.State == New {
				f.State = Open
			}
		}
		seen := map[place]bool{}
		for _, s := range n.Failures {
			f := known[s.place]
			switch {
			case f == nil:
				f = &NightFailure{State: New, First: n.Began}
				known[s.place] = f
				order = append(order, f)
			case f.State == Fixed:
				f.State, f.First = New, n.Began
			}
			if !seen[s.place] || s.Times > 0 { // what was found now is of the code of now
				f.sighting = s
			}
			f.Last, seen[s.place] = n.Began, true
		}
		for _, p := range n.Fixed {
			if f := known[p]; f != nil && !seen[p] {
				f.State = Fixed
			}
		}
	}
	list := make([]NightFailure, 0, len(order))
	for _, f := range order {
		list = append(list, *f)
	}
	rank := map[FailureState]int{New: 0, Open: 1, Fixed: 2}
	slices.SortStableFunc(list, func(a, b NightFailure) int {
		return cmp.Or(rank[a.State]-rank[b.State], a.First.Compare(b.First))
	})
	return list
}

// known are the counterexamples of failures that are not fixed, to be run again first.
func (n nights) known() (known []Known, err error) {
	if n == "" {
		return nil, nil
	}
	all, err := n.read()
	if err != nil {
		return nil, err
	}
	for _, f := range failures(all) {
		if f.State == Fixed {
			continue
		}
		text, err := os.ReadFile(filepath.Join(string(n), f.Counterexample))
		if err != nil {
			return nil, fmt.Errorf("%w: get it from another copy of the folder", err)
		}
		example, err := sim.ReadCounterexample(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Counterexample, err)
		}
		known = append(known, Known{ID: f.ID, Counterexample: example})
	}
	return known, nil
}

// record adds a campaign to the nights, once, and says what became of all failures.
func (n nights) record(r *Report, began time.Time) ([]NightFailure, error) {
	if err := os.MkdirAll(string(n), 0o755); err != nil {
		return nil, err
	}
	one := night{Format: nightFormat, Name: r.Plan.Name, Began: began.UTC().Truncate(time.Second), Digest: r.Digest, Build: version.Build(),
		Failures: []sighting{}, Fixed: []place{}}
	add := func(id, message string, times int, c *sim.Counterexample) error {
		file, err := n.keep(c)
		one.Failures = append(one.Failures, sighting{place{id, c.Workload, c.Recipe}, c.Property, message, times, file})
		return err
	}
	for i, k := range r.Again {
		c := r.Plan.Known[i].Counterexample
		switch {
		case k.Breaks:
			if err := add(k.ID, k.Message, 0, c); err != nil {
				return nil, err
			}
		case k.Problem == "":
			one.Fixed = append(one.Fixed, place{k.ID, c.Workload, c.Recipe})
		}
	}
	for _, j := range r.Jobs {
		for _, f := range j.broken() {
			if err := add(f.ID, f.Message, f.Times, f.Counterexample); err != nil {
				return nil, err
			}
		}
	}
	text, err := json.MarshalIndent(one, "", " ")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("night-%s-%.12s.json", one.Began.Format("20060102T150405Z"), r.Digest)
	if err := n.write(name, append(text, '\n')); err != nil {
		return nil, err
	}
	all, err := n.read()
	return failures(all), err
}

// keep writes a counterexample's file, which torture replay reads, and returns its name.
func (n nights) keep(c *sim.Counterexample) (string, error) {
	var text bytes.Buffer
	if err := c.Write(&text); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%x.json", sha256.Sum256(text.Bytes()))
	return name, n.write(name, text.Bytes())
}

// write writes a file that is not there. One that is there has the same content, as its name says.
func (n nights) write(name string, text []byte) error {
	path := filepath.Join(string(n), name)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return wholefile.Write(path, text)
}

// printNights says what became of failures.
func printNights(w io.Writer, list []NightFailure) {
	for _, f := range list {
		fmt.Fprintf(w, "%-5s  %s  %s (%s), since %s, last seen %s: %s\n", f.State, f.ID, f.Kind, f.Recipe, f.First.Format(time.DateOnly),
			f.Last.Format(time.DateOnly), strings.SplitN(f.Message, "\n", 2)[0])
	}
}
