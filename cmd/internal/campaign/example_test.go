package campaign_test

import (
	"context"
	"fmt"
	"log"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
)

// Units may be run by any process on any machine; here one process runs them all, the last one first.
func Example() {
	plan, err := campaign.ParsePlan([]byte(`{
		"format": "zktorture plan 1", "name": "nightly", "canary": "none", "episodes": 100, "unit": 40,
		"jobs": [{"kinds": ["counter", "barrier"], "recipes": ["ours"]}]
	}`))
	if err != nil {
		log.Fatal(err)
	}
	sum, err := campaign.NewSum(plan)
	if err != nil {
		log.Fatal(err)
	}
	for n := plan.Units() - 1; n >= 0; n-- {
		result, err := plan.Run(context.Background(), n)
		if err == nil {
			err = sum.Add(result)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	for job := range 2 {
		report, err := sum.Conclude(context.Background(), job)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Job, report.Episodes, report.Verdict)
	}
	// Output:
	// counter (ours), strategy mix, seed 1, faults all 100 ok
	// barrier (ours), strategy mix, seed 1, faults all 100 ok
}
