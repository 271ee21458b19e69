package main

import (
	"context"
	"fmt"
)

// confirmedMin is the least share of counterexamples confirmed with each step the same, in percent.
const confirmedMin = 80

// zooResult is the part in use of the object that torture zoo --json prints.
type zooResult struct {
	Animals      []zooAnimal
	Found, Total int
}

// zooAnimal is the result of one animal.
type zooAnimal struct {
	ID, Title, Property, Needs string

	Found        bool
	Episodes     int
	Elapsed      float64 `json:"elapsed_s"`
	Clean        bool    `json:"twin_clean"`
	Twin         int     `json:"twin_episodes"`
	Problem      string
	Confirmed    string // in words
	Confirmation struct {
		Violation bool // seen on real servers
		Step      int  // the first that differed; 0: none
	}
}

// tally counts the animals that were found, that were confirmed, and that were confirmed with each step the same.
func (z zooResult) tally() (found, confirmed, same int) {
	for _, a := range z.Animals {
		if !a.Found {
			continue
		}
		found++
		if a.Confirmation.Violation {
			confirmed++
			if a.Confirmation.Step == 0 {
				same++
			}
		}
	}
	return found, confirmed, same
}

func measureConfirmed(ctx context.Context) (data any, problem error) {
	var zoo zooResult
	if err := torture(ctx, &zoo, "zoo", "--confirm", "--seed", "1"); err != nil {
		return nil, err
	}
	found, confirmed, same := zoo.tally()
	if 100*same < confirmedMin*found {
		problem = fmt.Errorf("%w: %d of %d counterexamples are confirmed step by step, less than %d %%", errUnexpected,
			same, found, confirmedMin)
	}
	percent := 100 * float64(confirmed) / float64(max(1, found))
	return facts{"Animals": zoo.Animals, "Confirmed": confirmed, "Found": found, "Percent": percent,
		"Same": same}, problem
}
