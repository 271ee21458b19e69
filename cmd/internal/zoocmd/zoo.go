package zoocmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

type ZooCmd struct {
	IDs            []string      `arg:"" optional:"" name:"id" help:"The known bugs to look for, by their ids. Default: all."`
	Seed           uint64        `help:"The same seed gives the same run." default:"1"`
	Episodes       int           `help:"Maximum episodes for each known bug and for each fixed version, which takes 5000 at most." default:"20000" range:"1.."`
	FixedSeed      *uint64       `name:"fixed-seed" help:"The seed of the fixed versions' episodes, half of which begin like the counterexamples. Default: a new one, which is printed."`
	Live           bool          `help:"Look on three real servers, started on this machine, for each known bug for --duration."`
	Duration       time.Duration `help:"With --live: the longest time for each known bug." default:"20s" range:">0"`
	Confirm        bool          `help:"Also ask three real servers, started on this machine, what was asked in each counterexample: all answers have to be the same. Fixed versions are left out."`
	JSON           bool          `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
	Exact          bool          `help:"Search in exact mode (see torture run --exact), also for known bugs that need it."`
	Out            string        `placeholder:"DIR" help:"Write the counterexample of each known bug that is found to DIR/ID.json, for torture explain and torture replay."`
	output.CIFlags `embed:""`
}

// Rules implements ruled.
func (z *ZooCmd) Rules() []console.Rule {
	return []console.Rule{
		console.When(z.Live, "duration", "needs --live"),
		console.When(!z.Live, "episodes", "cannot be used with --live, because each known bug is looked for during --duration there"),
		console.When(!z.Live, "fixed-seed confirm exact out", "cannot be used with --live, which does not simulate"),
		console.When(!z.Confirm, "fixed-seed", "cannot be used with --confirm, which leaves fixed versions out"),
	}
}

// Run executes the command. Its status is 0 only if every animal was found and every twin is clean.
func (z *ZooCmd) Run(c *console.Context) error {
	for _, id := range z.IDs {
		if err := known(c, id); err != nil {
			return err
		}
	}
	animals, err := zoo.Find(z.IDs)
	if err != nil {
		return err
	}
	if z.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	if z.FixedSeed == nil && !z.Live && !z.Confirm {
		seed := rand.Uint64() >> 32
		z.FixedSeed = &seed
	}
	animals, skipped := z.huntable(animals)
	if err := z.Probe(); err != nil {
		return err
	}
	if !z.JSON {
		printAnimalHeads(c.Stdout)
	}
	results, end, err := z.huntAll(c, animals)
	if err != nil {
		return err
	}
	defer end()
	var catches []zoo.Catch
	for _, result := range results {
		got := <-result
		if got.err != nil {
			return got.err
		}
		catches = append(catches, got.catch)
		if !z.JSON {
			printCatch(c.Stdout, got.catch)
		}
	}
	return z.report(c, catches, skipped)
}

func (z *ZooCmd) report(c *console.Context, catches []zoo.Catch, skipped []zoo.Animal) error {
	trouble := z.save(catches)
	if z.JSON {
		z.write(c.Stdout, catches, skipped)
	} else {
		z.printScore(c.Stdout, catches, skipped, c.Self)
	}
	if z.Wanted() {
		trouble = errors.Join(trouble, z.Write(z.ciOf(catches)))
	}
	exit := console.ExitOK
	if score(catches).missed() {
		exit = console.ExitViolation
	}
	return c.End(exit, trouble)
}

type hunted struct {
	catch zoo.Catch
	err   error
}

// huntFunc hunts one animal.
type huntFunc = func(context.Context, zoo.Animal) (zoo.Catch, error)

// huntAll hunts on all cores, one animal on each, or one after the other on one ensemble. The results are in the
// order of the animals.
func (z *ZooCmd) huntAll(c *console.Context, animals []zoo.Animal) (results []chan hunted, end func(), err error) {
	cfg := zoo.HuntConfig{Seed: z.Seed, Episodes: z.Episodes, Workers: 1}
	if z.FixedSeed != nil {
		cfg.TwinSeed = *z.FixedSeed
	}
	hunt := zoo.NewHunter(cfg).Hunt
	workers, end := runtime.GOMAXPROCS(0), func() {}
	if z.Live || z.Confirm {
		hunter := z.liveHunter
		if z.Confirm {
			hunter = z.confirmer
		}
		workers = 1
		if hunt, end, err = hunter(c); err != nil {
			return nil, nil, err
		}
	}
	cores := make(chan struct{}, workers)
	results = make([]chan hunted, len(animals))
	for i := range animals {
		results[i] = make(chan hunted, 1)
	}
	go func() {
		for i, a := range animals {
			cores <- struct{}{}
			go func() {
				defer func() { <-cores }()
				catch, err := hunt(c, a)
				results[i] <- hunted{catch, err}
			}()
		}
	}()
	return results, end, nil
}

// zooScore counts the animals that were found, and lists those that were not and those whose twin was accused.
type zooScore struct {
	found, total       int
	survivors, accused []string
	dubious            []string // canaries that fail too often or too rarely
}

func score(catches []zoo.Catch) (s zooScore) {
	s.total = len(catches)
	for _, c := range catches {
		if c.Found == nil {
			s.survivors = append(s.survivors, c.Animal.ID)
		} else {
			s.found++
		}
		if !c.TwinClean {
			s.accused = append(s.accused, c.Animal.ID)
		}
		if c.Found != nil && c.TwinClean && !c.OK() {
			s.dubious = append(s.dubious, c.Animal.ID)
		}
	}
	return s
}

func (s zooScore) missed() bool { return len(s.survivors)+len(s.accused)+len(s.dubious) > 0 }

const zooRow = " %9s %7s  %-26s %s\n"

func printAnimalHeads(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-6s"+zooRow, "bug", "found", "episodes", "time", "smallest story", "property")
}

func printCatch(w io.Writer, c zoo.Catch) {
	found, story := "no", "-"
	if c.Found != nil {
		found = "yes"
	}
	if c.Found != nil && c.Found.Steps > 0 { // real servers have none
		m := minimalOf(c.Found)
		story = fmt.Sprintf("%s, %s, %s", console.Count(m.Clients, "client"), console.Count(m.Operations, "op"),
			console.Count(m.Faults, "fault"))
	}
	fmt.Fprintf(w, "%-8s ", c.Animal.ID)
	console.Paint(w, console.VerdictStyles[found], fmt.Sprintf("%-6s", found))
	fmt.Fprintf(w, zooRow, fmt.Sprint(c.Episodes), c.Elapsed.Round(10*time.Millisecond).String(),
		story, c.Animal.Property)
	if c.Problem != "" {
		fmt.Fprint(w, console.Wrap("         "+c.Problem, console.Columns), "\n")
	}
	if c.Confirmed != nil {
		fmt.Fprint(w, console.Wrap("         "+confirmation(c.Animal, c.Confirmed), console.Columns), "\n")
	}
	if c.Rate > 0 {
		fmt.Fprintf(w, "         in %.2f %% of the episodes, about %.2f %% are expected\n", 100*c.Rate, 100*c.Animal.Rate)
	}
}

func (z *ZooCmd) printScore(w io.Writer, catches []zoo.Catch, skipped []zoo.Animal, self string) {
	s := score(catches)
	fmt.Fprintf(w, "\n%d of %d found", s.found, s.total)
	for _, list := range []struct {
		what string
		ids  []string
	}{{"survivors", s.survivors}, {"accused fixed versions", s.accused}, {"found at the wrong rate", s.dubious}} {
		if len(list.ids) > 0 {
			fmt.Fprintf(w, "; %s: %s", list.what, strings.Join(list.ids, " "))
		}
	}
	if len(s.accused) == 0 {
		fmt.Fprint(w, "; every fixed version is clean")
	}
	alone := ""
	if z.FixedSeed != nil {
		alone = fmt.Sprintf(" --fixed-seed %d", *z.FixedSeed)
		fmt.Fprintf(w, " (%s)", alone[1:])
	}
	fmt.Fprintln(w)
	if s.missed() {
		fmt.Fprintf(w, "one alone: %s zoo ID%s\n", self, alone)
	}
	printSkipped(w, skipped)
	if s.total == len(zoo.Animals()) {
		printAbsentees(w)
	}
}

// huntable leaves out the animals that this program cannot hunt: they are skipped, and not missed.
func (z *ZooCmd) huntable(animals []zoo.Animal) (can, skipped []zoo.Animal) {
	if len(z.IDs) == 0 {
		return animals, zoo.Skipped()
	}
	for _, a := range animals {
		if a.Exact && !sim.Exact() {
			skipped = append(skipped, a)
		} else {
			can = append(can, a)
		}
	}
	return can, skipped
}

func printSkipped(w io.Writer, skipped []zoo.Animal) {
	if len(skipped) == 0 {
		return
	}
	var ids []string
	for _, a := range skipped {
		ids = append(ids, a.ID)
	}
	fmt.Fprint(w, console.Wrap(fmt.Sprintf("skipped, because they need --exact: %s",
		strings.Join(ids, " ")), console.Columns), "\n")
}

// printAbsentees lists what the zoo does not have.
func printAbsentees(w io.Writer) {
	for _, a := range zoo.Absentees() {
		fmt.Fprint(w, console.Wrap(fmt.Sprintf("%s is no known bug: %s", a.ID, a.Reason), console.Columns), "\n")
	}
}

// zooSummary is the object that --json prints.
type zooSummary struct {
	Animals []animalSummary `json:"animals"`
	Found   int             `json:"found"`
	Total   int             `json:"total"`
	Skipped []string        `json:"skipped,omitempty"`   // that need --exact
	Seed    *uint64         `json:"twin_seed,omitempty"` // of the fixed versions' episodes in simulation
}

type animalSummary struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Source   string   `json:"source"`
	Property string   `json:"property"`
	Needs    string   `json:"needs"`
	Found    bool     `json:"found"`
	Episodes int      `json:"episodes"`
	Elapsed  float64  `json:"elapsed_s"`
	Minimal  *minimal `json:"minimal"` // null if it was not found
	Clean    bool     `json:"twin_clean"`
	Twin     int      `json:"twin_episodes"`
	Rate     float64  `json:"rate,omitempty"`
	Problem  string   `json:"problem,omitempty"`
	// Confirmed, of --confirm: confirmed, or the difference on real servers, in words; and as facts.
	Confirmed    string               `json:"confirmed,omitempty"`
	Confirmation *confirmationSummary `json:"confirmation,omitempty"`
}

// confirmationSummary is a [confirm.Confirmation].
type confirmationSummary struct {
	Violation  bool   `json:"violation"`            // seen on real servers
	Step       int    `json:"step,omitempty"`       // the first that differed
	Difference string `json:"difference,omitempty"` // the difference
	Untried    string `json:"untried,omitempty"`    // why it was not tried
	Tries      int    `json:"tries"`
}

// minimal is the size of a smallest story.
type minimal struct {
	Clients    int `json:"clients"`
	Operations int `json:"operations"`
	Faults     int `json:"faults"`
	Steps      int `json:"steps"`
}

func minimalOf(f *sim.Found) minimal {
	return minimal{Clients: f.Clients, Operations: zoo.Operations(*f), Faults: f.Faults, Steps: f.Steps}
}

func (z *ZooCmd) write(w io.Writer, catches []zoo.Catch, skipped []zoo.Animal) error {
	summary := zooSummary{Animals: []animalSummary{}, Found: score(catches).found, Total: len(catches), Seed: z.FixedSeed}
	for _, c := range catches {
		a := animalSummary{
			ID: c.Animal.ID, Title: c.Animal.Title, Source: c.Animal.Source, Property: c.Animal.Property,
			Needs: c.Animal.Needs,
			Found: c.Found != nil, Episodes: c.Episodes, Elapsed: c.Elapsed.Seconds(),
			Clean: c.TwinClean, Twin: c.TwinEpisodes, Rate: c.Rate, Problem: c.Problem,
		}
		if c.Found != nil {
			m := minimalOf(c.Found)
			a.Minimal = &m
		}
		if c.Confirmed != nil {
			f := c.Confirmed
			a.Confirmed = confirmation(c.Animal, f)
			a.Confirmation = &confirmationSummary{f.Violation != nil, f.Step, f.Difference, f.Untried, f.Tries}
		}
		summary.Animals = append(summary.Animals, a)
	}
	for _, a := range skipped {
		summary.Skipped = append(summary.Skipped, a.ID)
	}
	return console.WriteJSON(w, summary)
}
