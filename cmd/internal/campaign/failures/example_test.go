package failures_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
)

// A campaign begins with what is known, and ends with what is new. Here it is the same one in two nights.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "failures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := failures.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, began := range []time.Time{first, first.AddDate(0, 0, 1)} {
		suite, err := store.Known(100)
		if err != nil {
			log.Fatal(err)
		}
		report, err := campaignWith(suite.Known)
		if err != nil {
			log.Fatal(err)
		}
		night, err := store.Record(report, failures.Meta{Began: began, Commit: "1f3c9ab", Go: "go1.26.8"})
		if err != nil {
			log.Fatal(err)
		}
		for _, f := range night.Failures { // or all that [failures.Night.Text] says of them
			fmt.Printf("%d known, %s: %s in %s\n", len(suite.Known), f.State, f.Property, f.Recipes[0].Recipe)
		}
	}
	// Output:
	// 0 known, new: unexpected-error in published/DistributedQueue
	// 1 known, ongoing: unexpected-error in published/DistributedQueue
}

// campaignWith runs a campaign in this process, known failures first.
func campaignWith(known []campaign.Known) (*campaign.Report, error) {
	written, err := campaign.ParsePlan([]byte(`{
		"format": "zktorture plan 1", "name": "nightly", "canary": "none", "episodes": 60,
		"jobs": [{"kinds": ["queue"], "recipes": ["published/DistributedQueue"], "faults": "none"}]
	}`))
	if err != nil {
		return nil, err
	}
	plan, err := written.Record(nil, known)
	if err != nil {
		return nil, err
	}
	sum, err := campaign.NewSum(plan)
	if err != nil {
		return nil, err
	}
	for n := range plan.Units() {
		result, err := plan.Run(context.Background(), n)
		if err == nil {
			err = sum.Add(result)
		}
		if err != nil {
			return nil, err
		}
	}
	job, err := sum.Conclude(context.Background(), 0)
	if err != nil {
		return nil, err
	}
	return sum.Report([]campaign.JobReport{job}), nil
}
