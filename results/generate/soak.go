package main

import (
	"context"
	"errors"
)

// soakKinds are tortured one after the other, each for soakDuration.
var soakKinds = []string{"lock", "queue", "election", "counter"}

const soakDuration = "10m"

func measureSoak(ctx context.Context) (any, error) {
	var runs []*runResult
	var problems []error
	for _, kind := range soakKinds {
		r, err := onServers(ctx, kind, "--duration", soakDuration, "--seed", "1")
		if err != nil {
			return nil, err
		}
		runs, problems = append(runs, r), append(problems, r.expect("ok"))
	}
	return facts{"Duration": soakDuration, "Runs": runs}, errors.Join(problems...)
}
