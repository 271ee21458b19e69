package main

import (
	"context"
	"fmt"
)

// zooLiveDuration is how long each animal has on real servers, and zooLiveMin how many have to be seen.
const (
	zooLiveDuration = "6s"
	zooLiveMin      = 10
)

// zooLive is what is used of the object that torture zoo --json prints.
type zooLive struct {
	Animals []struct {
		ID       string  `json:"id"`
		Title    string  `json:"title"`
		Property string  `json:"property"`
		Needs    string  `json:"needs"`
		Found    bool    `json:"found"`
		Episodes int     `json:"episodes"`
		Elapsed  float64 `json:"elapsed_s"`
		Clean    bool    `json:"twin_clean"`
		Twin     int     `json:"twin_episodes"`
		Problem  string  `json:"problem"`
	} `json:"animals"`
	Found int `json:"found"`
	Total int `json:"total"`
}

func measureZooLive(ctx context.Context, p *page) error {
	var zoo zooLive
	if err := torture(ctx, &zoo, "zoo", "--backend", "ensemble", "--duration", zooLiveDuration, "--seed", "1"); err != nil {
		return err
	}
	p.line("# The zoo on three real servers")
	p.line("")
	p.line("`torture zoo --backend ensemble --duration %s --seed 1`: no schedule is known; clients are tortured by what the", zooLiveDuration)
	p.line("seed draws until the animal's property is seen to be broken, or the time is over. Then its twin has as many rounds.")
	p.line("Servers are left alone, and clients are no processes: `lag`, `pause` and `crash` are missing, as are `wrap`, `time` and the habits of other client libraries, which only the simulator has.")
	p.line("")
	p.table("id", "what is wrong", "property", "needs", "seen", "rounds", "seconds", "twin")
	accused := 0
	for _, a := range zoo.Animals {
		seen, twin := "no", ""
		if a.Found {
			seen, twin = "yes", fmt.Sprintf("clean in %s", number(a.Twin))
		}
		if !a.Clean {
			twin, accused = a.Problem, accused+1
		}
		p.row(a.ID, a.Title, a.Property, a.Needs, seen, number(a.Episodes), fmt.Sprintf("%.1f", a.Elapsed), twin)
	}
	p.line("")
	p.line("%d of %d were seen (at least %d have to be); %d twins were accused.", zoo.Found, zoo.Total, zooLiveMin, accused)
	if zoo.Found < zooLiveMin || accused > 0 {
		return fmt.Errorf("%w: %d animals were seen, %d twins were accused", errUnexpected, zoo.Found, accused)
	}
	return nil
}
