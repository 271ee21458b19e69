package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// soakKinds are tortured one after the other, each for soakDuration.
var soakKinds = []string{"lock", "queue", "election", "counter"}

const soakDuration = "10m"

// soaked is what is used of the object that torture run --json prints.
type soaked struct {
	Episodes   int            `json:"episodes"`
	Operations int64          `json:"operations"`
	Faults     map[string]int `json:"faults"`
	Verdict    string         `json:"verdict"`
	Reason     string         `json:"reason"`
	Recovery   float64        `json:"recovery_s"`
	Elapsed    float64        `json:"elapsed_s"`
	Violations []struct {
		Property string `json:"property"`
		Message  string `json:"message"`
		Times    int    `json:"times"`
	} `json:"violations"`
}

func measureSoak(ctx context.Context, p *page) error {
	p.line("# Soaked on three real servers")
	p.line("")
	p.line("`torture run KIND --backend ensemble --nodes 3 --duration %s --seed 1`: our recipes, all faults that can strike on", soakDuration)
	p.line("real servers, of clients, of their processes and of the servers. A fault counts as struck if an operation was under")
	p.line("way: of its client, or, if it struck a server, of any. *leader* counts those that were aimed at the leader. *Recovery* is")
	p.line("the longest that the clients of a round needed to reach their servers again when all faults had ended.")
	p.line("")
	p.table("workload", "verdict", "rounds", "operations", "faults struck", "worst recovery", "minutes")
	var problems []error
	for _, kind := range soakKinds {
		s, err := soak(ctx, kind)
		if err != nil {
			return err
		}
		var struck []string
		for _, fault := range slices.Sorted(maps.Keys(s.Faults)) {
			struck = append(struck, fmt.Sprintf("%s %s", fault, number(s.Faults[fault])))
		}
		p.row(kind, s.Verdict, number(s.Episodes), number(s.Operations), strings.Join(struck, ", "), fmt.Sprintf("%.2f s", s.Recovery), fmt.Sprintf("%.1f", s.Elapsed/60))
		if s.Verdict != "ok" {
			problems = append(problems, fmt.Errorf("%w: %s: %s %s %v", errUnexpected, kind, s.Verdict, s.Reason, s.Violations))
		}
	}
	return errors.Join(problems...)
}

func soak(ctx context.Context, kind string) (*soaked, error) {
	var s soaked
	return &s, torture(ctx, &s, "run", kind, "--backend", "ensemble", "--nodes", "3", "--duration", soakDuration, "--seed", "1")
}
