package failures

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim/tally"
)

// Meta is what a report does not say of its campaign.
type Meta struct {
	// Began is when the campaign began, of which seconds count. With the plan's digest it is the night's identity.
	Began   time.Time
	Commit  string // of the code that was tortured
	Go      string // the version with which it was built
	Program string // how the command torture is called; default "torture"
}

// Record adds what a campaign has seen to the store, and says what became of all failures that the store knows. To
// record the same campaign again is to record it once; the error is for one that was recorded otherwise, and for a
// store that cannot be read or written.
func (s *Store) Record(report *campaign.Report, meta Meta) (*Night, error) {
	n, examples, err := newNight(report, meta)
	if err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	base, content, err := n.encode()
	if err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	name := path.Join(nightsDir, base)
	before, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, other := range before.nights {
		if other.Began.Equal(n.Began) && other.Digest == n.Digest && other.name != name {
			return nil, fmt.Errorf("failures: %s is the same campaign, and says otherwise: "+
				"move it away, if this is the one to keep", other.name)
		}
	}
	for sum, example := range examples { // before the night that refers to them
		if err := s.add(counterexampleFile(sum), example); err != nil {
			return nil, fmt.Errorf("failures: %w", err)
		}
	}
	if err := s.add(name, content); err != nil {
		return nil, fmt.Errorf("failures: %w", err)
	}
	return s.night(name)
}

// newNight is the file of a campaign, with the contents of counterexamples, by SHA-256.
func newNight(report *campaign.Report, meta Meta) (*nightFile, map[string][]byte, error) {
	switch {
	case meta.Began.IsZero():
		return nil, nil, errors.New("a night needs the time at which its campaign began")
	case report.Plan == nil || report.Digest == "":
		return nil, nil, errors.New("a night needs the plan of its campaign, and the digest")
	case len(report.Again) != len(report.Plan.Known):
		return nil, nil, fmt.Errorf("the report is of %d known failures, and its plan has %d", len(report.Again),
			len(report.Plan.Known))
	}
	n := &nightFile{
		Format: nightFormat, Name: report.Plan.Name, Began: meta.Began.UTC().Truncate(time.Second), Digest: report.Digest,
		Commit: meta.Commit, Go: meta.Go, Program: cmp.Or(meta.Program, "torture"), Units: report.Units,
		Unknown: len(report.Unknown), Jobs: []jobFile{},
	}
	examples := map[string][]byte{}
	for _, j := range report.Jobs {
		job, err := newJob(j, examples)
		if err != nil {
			return nil, nil, err
		}
		n.Jobs = append(n.Jobs, job)
	}
	for i, known := range report.Plan.Known { // each has its report in the same place
		c := known.Counterexample
		sum, _, err := encodeCounterexample(c)
		if err != nil {
			return nil, nil, err
		}
		n.Again = append(n.Again, againFile{known.ID, c.Property, c.Workload, c.Recipe, sum, report.Again[i].Again})
	}
	return n, examples, nil
}

func newJob(j campaign.JobReport, examples map[string][]byte) (jobFile, error) {
	job := jobFile{
		Job: j.Job, Verdict: j.Verdict, Episodes: j.Episodes, Complete: j.Extent.Word == tally.Complete,
		NotJudged: slices.Concat(j.NotJudged, j.Waived),
	}
	for _, f := range j.Failures {
		sum, content, err := encodeCounterexample(f.Counterexample)
		if err != nil {
			return job, err
		}
		examples[sum] = content
		job.Failures = append(job.Failures, failureFile{
			ID: f.ID, Shape: f.Shape, Property: f.Property, Message: f.Message, First: f.First, Times: f.Times,
			Clients: f.Clients, Faults: f.Faults, Steps: f.Steps, Counterexample: sum,
		})
	}
	return job, nil
}
