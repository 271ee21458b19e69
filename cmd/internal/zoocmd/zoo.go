package zoocmd

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// ZooCmd looks for known bugs.
type ZooCmd struct {
	IDs      []string `arg:"" optional:"" name:"id" help:"The known bugs to look for, by their ids. Default: all."`
	Seed     uint64   `help:"The same seed gives the same run." default:"1"`
	Episodes int      `help:"Maximum episodes for each known bug and for each fixed version, which takes 5000 at most." default:"20000" range:"1.."`
	JSON     bool     `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
	Exact    bool     `help:"Search in exact mode (see torture run --exact), also for known bugs that need it."`
	Out      string   `placeholder:"DIR" help:"Write the counterexample of each known bug that is found to DIR/ID.json, for torture explain and torture replay."`
}

// Run executes the command. Its status is 0 only if every known bug was found and every fixed version is clean.
func (z *ZooCmd) Run(c *console.Context) error {
	for _, id := range z.IDs {
		if err := known(c, id); err != nil {
			return err
		}
	}
	bugs, err := zoo.Find(z.IDs)
	if err != nil {
		return err
	}
	if z.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	bugs, skipped := z.huntable(bugs)
	if !z.JSON {
		fmt.Fprintf(c.Stdout, "%-8s %-6s"+row, "bug", "found", "episodes", "time", "smallest story", "property")
	}
	var catches []zoo.Catch
	for _, result := range z.hunt(c, bugs) {
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

// huntable leaves out what this program cannot hunt: that is skipped, and not missed.
func (z *ZooCmd) huntable(bugs []zoo.KnownBug) (can []zoo.KnownBug, skipped []string) {
	if len(z.IDs) == 0 {
		bugs = append(bugs, zoo.Skipped()...)
	}
	for _, b := range bugs {
		if b.Exact && !sim.Exact() {
			skipped = append(skipped, b.ID)
		} else {
			can = append(can, b)
		}
	}
	return can, skipped
}

func (z *ZooCmd) report(c *console.Context, catches []zoo.Catch, skipped []string) error {
	trouble := z.save(catches)
	if z.JSON {
		z.write(c.Stdout, catches, skipped)
	} else {
		printScore(c.Stdout, catches, skipped)
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

// hunt hunts on all cores, one bug on each. The results are in the order of the bugs.
func (z *ZooCmd) hunt(c *console.Context, bugs []zoo.KnownBug) []chan hunted {
	hunter := zoo.NewHunter(zoo.HuntConfig{Seed: z.Seed, Episodes: z.Episodes, Workers: 1})
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	results := make([]chan hunted, len(bugs))
	for i := range bugs {
		results[i] = make(chan hunted, 1)
	}
	go func() {
		for i, b := range bugs {
			cores <- struct{}{}
			go func() {
				defer func() { <-cores }()
				catch, err := hunter.Hunt(c, b)
				results[i] <- hunted{catch, err}
			}()
		}
	}()
	return results
}

// zooScore counts the bugs that were found, and lists those that were not and those whose fixed version was accused.
type zooScore struct {
	found, total     int
	missing, accused []string
	dubious          []string // canaries that fail too often or too rarely
}

func score(catches []zoo.Catch) (s zooScore) {
	s.total = len(catches)
	for _, c := range catches {
		if c.Found == nil {
			s.missing = append(s.missing, c.Bug.ID)
		} else {
			s.found++
		}
		if !c.FixedClean {
			s.accused = append(s.accused, c.Bug.ID)
		}
		if c.Found != nil && c.FixedClean && !c.OK() {
			s.dubious = append(s.dubious, c.Bug.ID)
		}
	}
	return s
}

func (s zooScore) missed() bool { return len(s.missing)+len(s.accused)+len(s.dubious) > 0 }

const row = " %9s %7s  %-26s %s\n"

func printCatch(w io.Writer, c zoo.Catch) {
	found, story := "no", "-"
	if c.Found != nil {
		m := minimalOf(c.Found)
		found = "yes"
		story = fmt.Sprintf("%s, %s, %s", console.Count(m.Clients, "client"), console.Count(m.Operations, "op"),
			console.Count(m.Faults, "fault"))
	}
	fmt.Fprintf(w, "%-8s ", c.Bug.ID)
	console.Paint(w, console.VerdictStyles[found], fmt.Sprintf("%-6s", found))
	fmt.Fprintf(w, row, fmt.Sprint(c.Episodes), c.Elapsed.Round(10*time.Millisecond).String(), story, c.Bug.Property)
	if c.Problem != "" {
		fmt.Fprint(w, console.Wrap("         "+c.Problem, console.Columns), "\n")
	}
	if c.Rate > 0 {
		fmt.Fprintf(w, "         in %.2f %% of the episodes, about %.2f %% are expected\n", 100*c.Rate, 100*c.Bug.Rate)
	}
}

func printScore(w io.Writer, catches []zoo.Catch, skipped []string) {
	s := score(catches)
	fmt.Fprintf(w, "\n%d of %d found", s.found, s.total)
	for _, list := range []struct {
		what string
		ids  []string
	}{{"not found", s.missing}, {"accused fixed versions", s.accused}, {"found at the wrong rate", s.dubious}} {
		if len(list.ids) > 0 {
			fmt.Fprintf(w, "; %s: %s", list.what, strings.Join(list.ids, " "))
		}
	}
	if len(s.accused) == 0 {
		fmt.Fprint(w, "; every fixed version is clean")
	}
	fmt.Fprintln(w)
	if len(skipped) > 0 {
		fmt.Fprint(w, console.Wrap("skipped, because they need --exact: "+strings.Join(skipped, " "), console.Columns), "\n")
	}
}

// summary is the object that --json prints.
type summary struct {
	Bugs    []bugSummary `json:"bugs"`
	Found   int          `json:"found"`
	Total   int          `json:"total"`
	Skipped []string     `json:"skipped,omitempty"` // that need --exact
}

type bugSummary struct {
	ID            string   `json:"id"`
	Title         string   `json:"title"`
	Source        string   `json:"source"`
	Property      string   `json:"property"`
	Needs         string   `json:"needs"`
	Found         bool     `json:"found"`
	Episodes      int      `json:"episodes"`
	Elapsed       float64  `json:"elapsed_s"`
	Minimal       *minimal `json:"minimal"` // null if it was not found
	FixedClean    bool     `json:"fixed_clean"`
	FixedEpisodes int      `json:"fixed_episodes"`
	Rate          float64  `json:"rate,omitempty"`
	Problem       string   `json:"problem,omitempty"`
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

func (z *ZooCmd) write(w io.Writer, catches []zoo.Catch, skipped []string) error {
	all := summary{Bugs: []bugSummary{}, Found: score(catches).found, Total: len(catches), Skipped: skipped}
	for _, c := range catches {
		b := bugSummary{
			ID: c.Bug.ID, Title: c.Bug.Title, Source: c.Bug.Source, Property: c.Bug.Property, Needs: c.Bug.Needs,
			Found: c.Found != nil, Episodes: c.Episodes, Elapsed: c.Elapsed.Seconds(),
			FixedClean: c.FixedClean, FixedEpisodes: c.FixedEpisodes, Rate: c.Rate, Problem: c.Problem,
		}
		if c.Found != nil {
			m := minimalOf(c.Found)
			b.Minimal = &m
		}
		all.Bugs = append(all.Bugs, b)
	}
	return console.WriteJSON(w, all)
}
