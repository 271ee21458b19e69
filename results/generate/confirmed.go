package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/results/internal/measure"
	"github.com/zktorture/zktorture/zoo"
)

const (
	confirmedRecord = "results/confirmed.jsonl"
	confirmedTimes  = 5 // that each counterexample is made to happen on real servers
)

// replays are what came of an animal's counterexample on real servers, time after time: a line of the record. They take
// minutes, so the page is made from the record.
type replays struct {
	Animal   string   `json:"animal"`
	Date     string   `json:"date"`
	Outcomes []string `json:"outcomes"` // in the words of torture zoo --confirm
}

// measureConfirmed makes the counterexamples of the animals asked for happen on real servers, and writes the page of all
// that were.
func measureConfirmed(ctx context.Context, asked []string) error {
	record, err := measure.ReadLines[replays](confirmedRecord)
	if err != nil {
		return err
	}
	if len(asked) > 0 {
		again, err := replayAll(ctx, asked)
		if err != nil {
			return err
		}
		record = append(slices.DeleteFunc(record, func(r replays) bool { return slices.Contains(asked, r.Animal) }), again...)
		slices.SortFunc(record, func(a, b replays) int { return cmp.Compare(a.place(), b.place()) })
		if err := measure.WriteLines(confirmedRecord, record); err != nil {
			return err
		}
	}
	return write(ctx, "confirmed", func(context.Context) (any, error) { return confirmedPage(record), nil })
}

func (r replays) place() int {
	return slices.IndexFunc(zoo.Animals(), func(a zoo.Animal) bool { return a.ID == r.Animal })
}

// replayAll has real servers of its own each time.
func replayAll(ctx context.Context, ids []string) ([]replays, error) {
	all := make([]replays, len(ids))
	for range confirmedTimes {
		var run struct {
			Animals []struct{ ID, Confirmed string }
		}
		if err := torture(ctx, &run, append([]string{"zoo", "--confirm", "--seed", "1"}, ids...)...); err != nil {
			return nil, err
		}
		if len(run.Animals) != len(ids) {
			return nil, fmt.Errorf("torture zoo --confirm told of %d animals, asked for %d", len(run.Animals), len(ids))
		}
		for i, a := range run.Animals {
			all[i].Animal, all[i].Date = a.ID, time.Now().UTC().Format(time.DateOnly)
			all[i].Outcomes = append(all[i].Outcomes, cmp.Or(a.Confirmed, "not found in simulation"))
		}
	}
	return all, ctx.Err()
}

// replayedAnimal is a row of the page.
type replayedAnimal struct {
	zoo.Animal
	replays
}

func confirmedPage(record []replays) facts {
	var rows []replayedAnimal
	var missing []string
	always, sometimes := 0, 0
	for _, a := range zoo.Animals() {
		i := slices.IndexFunc(record, func(r replays) bool { return r.Animal == a.ID })
		if i < 0 {
			missing = append(missing, a.ID)
			continue
		}
		r := record[i]
		rows = append(rows, replayedAnimal{a, r})
		always += count(r.confirmed() == len(r.Outcomes))
		sometimes += count(r.confirmed() > 0 && r.confirmed() < len(r.Outcomes))
	}
	return facts{"Times": confirmedTimes, "Rows": rows, "Always": always, "Sometimes": sometimes, "Missing": missing}
}

// confirmed counts the replays that broke the property.
func (r replays) confirmed() (n int) {
	for _, o := range r.Outcomes {
		n += count(strings.HasPrefix(o, "confirmed"))
	}
	return n
}

// drawnName is the part of a name that is another in each replay.
var drawnName = regexp.MustCompile(`[0-9a-f]{32}`)

// Outcome says in how many of its replays an animal was confirmed, and how others or special ones ended.
func (r replays) Outcome() string {
	var special []string
	times := map[string]int{}
	for _, o := range r.Outcomes {
		o = drawnName.ReplaceAllString(o, "…")
		if times[o]++; times[o] == 1 && o != "confirmed" {
			special = append(special, o)
		}
	}
	if len(times) == 1 && r.confirmed() == 0 {
		return special[0]
	}
	text := fmt.Sprintf("confirmed %d of %d", r.confirmed(), len(r.Outcomes))
	for _, o := range special {
		text += fmt.Sprintf("; %d: %s", times[o], o)
	}
	return text
}
