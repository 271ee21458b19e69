package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/results/internal/measure"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

const (
	millionEpisodes = 1_000_000
	millionSeed     = 1
	millionRecord   = "results/million.jsonl"
	memoryMax       = 200 // MB of a campaign, however long it is
)

// spared are the faults that have nothing to strike, by workload or by workload and recipe, with the reason. A listed
// fault that strikes is a problem, and so is an unlisted one that does not.
var spared = func() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, kind := range workload.Kinds() {
		if kind.Spared != nil {
			all[kind.Name] = kind.Spared
		}
	}
	return all
}()

// campaign is the result of a million episodes of one recipe: a line of the record. Campaigns take minutes each, so
// each is recorded when it ends, and the page is made from the record.
type campaign struct {
	Date       string         `json:"date"`
	Go         string         `json:"go"`
	Kind       string         `json:"workload"`
	Recipe     string         `json:"recipe"`
	Verdict    sim.Verdict    `json:"verdict"`
	Reason     string         `json:"reason,omitempty"`
	Violations int            `json:"violations"`
	Undecided  int            `json:"unknown"`
	Episodes   int            `json:"episodes"`
	Operations int64          `json:"operations"`
	Steps      int64          `json:"steps"`
	Struck     map[string]int `json:"faults"`
	Hash       string         `json:"hash"`
	MB         int            `json:"peak_mb"`
}

// measureMillions runs a million episodes of each recipe of this project given as KIND or KIND:RECIPE, of all if none
// is.
func measureMillions(ctx context.Context, asked []string) error {
	entries, err := millionEntries(asked)
	if err != nil {
		return err
	}
	record, err := measure.ReadLines[campaign](millionRecord)
	if err != nil {
		return err
	}
	var problem error
	for _, e := range entries {
		c, err := million(ctx, e)
		if err != nil {
			return err
		}
		record = slices.DeleteFunc(record,
			func(old campaign) bool { return old.Kind == c.Kind && old.Recipe == c.Recipe })
		record = append(record, c)
		if err := writeRecord(record); err != nil {
			return err
		}
		problem = write(ctx, "million", func(context.Context) (any, error) { return millionPage(record) })
	}
	return problem
}

func millionEntries(asked []string) (found []workload.Entry, err error) {
	for _, e := range workload.Entries() {
		if !strings.HasPrefix(e.Recipe, workload.Ours) {
			continue
		}
		if len(asked) == 0 || slices.Contains(asked, e.Kind) || slices.Contains(asked, e.Kind+":"+e.Recipe) {
			found = append(found, e)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no recipe of this project is called %s: say KIND or KIND:RECIPE, see torture list",
			strings.Join(asked, " "))
	}
	return found, nil
}

func million(ctx context.Context, e workload.Entry) (campaign, error) {
	last := time.Now()
	r, err := sim.Run(ctx, e.New(), sim.Config{Episodes: millionEpisodes, Seed: millionSeed, Faults: world.AllFaults,
		Progress: func(p sim.Progress) {
			if time.Since(last) > 10*time.Second {
				last = time.Now()
				fmt.Fprintf(os.Stderr, "%s (%s): %d of %d episodes\n", e.Kind, e.Recipe, p.Episodes, p.Of)
			}
		}})
	if err == nil && r.Interrupted {
		err = errors.New("interrupted; what was finished before is recorded")
	}
	return campaign{
		Date: time.Now().UTC().Format(time.DateOnly), Go: runtime.Version(), Kind: r.Workload, Recipe: r.Recipe,
		Verdict: r.Verdict, Reason: r.Reason, Violations: violated(r), Undecided: r.Undecided,
		Episodes: r.Episodes, Operations: r.Operations, Steps: r.Steps, Struck: r.Struck,
		Hash: digest.Hex(r.Hash), MB: peakMemory(),
	}, err
}

// violated counts the episodes with a violation, by property.
func violated(r sim.Result) (n int) {
	for _, v := range r.Violations {
		n += v.Times
	}
	return n
}

// problem returns an error for unexpected results, or nil.
func (c campaign) problem() error {
	var found []error
	bad := func(format string, args ...any) {
		found = append(found, fmt.Errorf("%w: %s (%s): %s", errUnexpected, c.Kind, c.Recipe,
			fmt.Sprintf(format, args...)))
	}
	if c.Verdict != sim.VerdictOK {
		bad("%s %s", c.Verdict, c.Reason)
	}
	for f := range world.AllFaults.Each() {
		fault := f.String()
		why, isSpared := c.spared()[fault]
		switch {
		case c.Struck[fault] == 0 && !isSpared:
			bad("%s has not struck", fault)
		case c.Struck[fault] != 0 && isSpared:
			bad("%s has struck, which should find nothing to strike: %s", fault, why)
		}
	}
	if c.MB > memoryMax {
		bad("%d MB of memory, at most %d are promised", c.MB, memoryMax)
	}
	return errors.Join(found...)
}

func (c campaign) spared() map[string]string {
	if ofKind := spared[c.Kind]; ofKind != nil {
		return ofKind
	}
	return spared[fmt.Sprintf("%s (%s)", c.Kind, c.Recipe)]
}

// writeRecord writes the campaigns in the order of the recipes.
func writeRecord(record []campaign) error {
	slices.SortStableFunc(record, func(a, b campaign) int { return cmp.Compare(a.place(), b.place()) })
	return measure.WriteLines(millionRecord, record)
}

func (c campaign) place() int {
	return slices.IndexFunc(workload.Entries(),
		func(e workload.Entry) bool { return e.Kind == c.Kind && e.Recipe == c.Recipe })
}

func millionPage(record []campaign) (any, error) {
	var problems []error
	for _, c := range record {
		problems = append(problems, c.problem())
	}
	return facts{
		"Episodes": millionEpisodes, "Seed": millionSeed, "Record": record,
		"Faults": slices.Collect(world.AllFaults.Each()), "Spared": spared,
	}, errors.Join(problems...)
}
