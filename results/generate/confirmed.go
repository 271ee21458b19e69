package main

import (
	"context"
	"fmt"
	"strings"
)

// confirmedMin is the share of the counterexamples that have to be confirmed, each step the same, in percent.
const confirmedMin = 80

// confirmedZoo is what is used of the object that torture zoo --json prints.
type confirmedZoo struct {
	Animals []struct {
		ID           string `json:"id"`
		Title        string `json:"title"`
		Property     string `json:"property"`
		Found        bool   `json:"found"`
		Confirmed    string `json:"confirmed"` // in words
		Confirmation struct {
			Violation bool `json:"violation"` // it was seen on real servers
			Step      int  `json:"step"`      // the first at which they did otherwise; 0: none
		} `json:"confirmation"`
	} `json:"animals"`
}

// tally counts the animals that were found, those of them that were confirmed, and those of which each step was the same.
func (z confirmedZoo) tally() (found, confirmed, same int) {
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

func measureConfirmed(ctx context.Context, p *page) error {
	var zoo confirmedZoo
	if err := torture(ctx, &zoo, "zoo", "--confirm", "--seed", "1"); err != nil {
		return err
	}
	p.line("# Counterexamples of the simulator on three real servers")
	p.line("")
	p.line("`torture zoo --confirm --seed 1`: each animal is hunted in simulation; then the minimised counterexample is made to happen")
	p.line("on real servers, step by step: every client is behind a stepper, and requests, replies and events of watches pass in the")
	p.line("order of the trace; connections break, sessions expire, processes die and servers lag as they did. *Confirmed* is what breaks the")
	p.line("same property there. Why some cannot be tried, and why the same steps may have another end where threads of one process race, is in")
	p.line("[docs/FIDELITY.md](../docs/FIDELITY.md), under *Real servers*.")
	p.line("")
	p.table("id", "what is wrong", "property", "on real servers")
	for _, a := range zoo.Animals {
		if a.Found {
			p.row(a.ID, a.Title, a.Property, strings.ReplaceAll(a.Confirmed, "|", "\\|"))
		}
	}
	found, confirmed, same := zoo.tally()
	p.line("")
	p.line("%d of %d are confirmed (%.0f %%), %d with each step the same.", confirmed, found, 100*float64(confirmed)/float64(max(1, found)), same)
	if 100*same < confirmedMin*found {
		return fmt.Errorf("%w: %d of %d counterexamples are confirmed step by step, less than %d %%", errUnexpected, same, found, confirmedMin)
	}
	return nil
}
