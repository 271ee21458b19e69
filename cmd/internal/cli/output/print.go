// Package output prints what a run has found, and writes it into the folder of the run.
package output

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// Summary is the object that --json prints.
type Summary struct {
	sim.Result
	Backend    string             `json:"backend"`
	Exact      bool               `json:"exact,omitempty"`
	Violations []violationSummary `json:"violations"`
	Hash       string             `json:"hash"`
	Recovery   float64            `json:"recovery_s,omitempty"`
	Away       float64            `json:"away_s,omitempty"` // the longest time
	Elapsed    float64            `json:"elapsed_s"`
	Rate       float64            `json:"episodes_per_s"`
}

type violationSummary struct {
	Property string `json:"property"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Episode  int    `json:"episode"`
	Times    int    `json:"times"`
	Steps    int    `json:"steps"`
	Clients  int    `json:"clients"`
	Faults   int    `json:"faults"`

	Unfinished string `json:"unfinished,omitempty"`
	Rare       string `json:"rare,omitempty"`

	Divergence *replay.Divergence `json:"divergence,omitempty"`
}

func Summarize(r sim.Result, backend string, files []string) Summary {
	s := Summary{Result: r, Backend: backend, Exact: sim.Exact(), Violations: []violationSummary{},
		Hash: digest.Hex(r.Hash), Recovery: r.Recovery.Seconds(), Away: r.AwayLongest.Seconds(), Elapsed: r.Elapsed.Seconds(),
		Rate: rate(r)}
	for i, f := range r.Violations {
		v := violationSummary{Property: f.Property, Message: f.Message, Episode: f.Episode, Times: f.Times,
			Steps: f.Steps, Clients: f.Clients, Faults: f.Faults, Unfinished: f.Unfinished, Divergence: f.Divergence}
		if f.Rare != world.NoFaults {
			v.Rare = f.Rare.String()
		}
		if i < len(files) {
			v.File = files[i]
		}
		s.Violations = append(s.Violations, v)
	}
	return s
}

// PrintResult prints a result for people: the first violations with their stories, "" for none, and one line for each of
// the others.
func PrintResult(w io.Writer, r sim.Result, stories []string, backend string, s console.Streams, files []string) {
	told := min(len(stories), len(r.Violations))
	for i, f := range r.Violations[:told] {
		printViolation(w, f, stories[i], r.Episodes, !r.Unshrunk, FollowUps(backend, r, s, files[i]))
	}
	PrintLines(w, r.Episodes, r.Violations[told:], s, files[told:])
	if r.Reason != "" {
		console.PaintVerdict(w, string(r.Verdict))
		fmt.Fprintf(w, ": %s\n\n", r.Reason)
	}
	console.PaintVerdict(w, string(r.Verdict))
	fmt.Fprintf(w, " %s (%s) on %s: %s\n", r.Workload, r.Recipe, cmp.Or(serversOf[backend], backend), CountLine(r))
	say := func(about, what string) {
		if what != "" {
			fmt.Fprintln(w, console.Wrap(about+what, console.Columns))
		}
	}
	say("", OriginLine(r))
	if r.Short != r.Reason && r.Short != "interrupted" {
		say("why not all episodes were run: ", r.Short)
	}
	say("faults injected: ", FaultLine(r.Struck))
	if r.Away > 0 {
		say("", fmt.Sprintf("by themselves all servers were away %s, for %v at most", console.Count(r.Away, "time"),
			r.AwayLongest.Round(100*time.Millisecond)))
	}
	if r.Lost > 0 {
		say("", LostLine(r.Lost))
	}
	say("", r.NotTried())
	say("not checked on real servers: ", strings.Join(r.NotJudged, ", "))
	say("not checked, as this recipe does not promise it: ", strings.Join(r.Waived, ", "))
	if r.Grants > 0 {
		say("grants judged: ", fmt.Sprintf("%d of %d, by what is known of their sessions", r.GrantsJudged, r.Grants))
	}
	if r.Refused > 0 {
		say("", fmt.Sprintf("fencing refused %s", console.Count(r.Refused, "stale write")))
	}
	if r.Coverage != nil && r.Verdict != sim.VerdictViolation {
		say("", r.Coverage.String())
	}
	say("", rerunLine(r.Rerun))
	say("", wireLine(r))
	say("barred, as the simulated world has no other network: ", strings.Join(r.Barred, "; "))
	if r.Interrupted && r.Verdict == sim.VerdictViolation {
		say("interrupted: ", "these are the results up to then")
	}
}

// serversOf are the servers of backends for people.
var serversOf = map[string]string{"ensemble": "real servers", "live": "your servers", "serve": "servers in memory"}

// LostLine says in how many episodes clients lost connections by themselves.
func LostLine(episodes int) string {
	return "clients lost a connection without a fault in " + console.Count(episodes, "episode")
}

// rerunLine says whether the recipe behaved the same again, or is empty: that a few of many did is nothing to rely on.
func rerunLine(r tally.Rerun) string {
	switch {
	case r.Differed == 0 && sim.Exact():
		return fmt.Sprintf("exact: %d passing episodes were run again, and all were equal", r.Episodes)
	case r.Differed == 0:
		return ""
	}
	line := fmt.Sprintf("not repeatable: %d of %d passing episodes differed when they were run again",
		r.Differed, r.Episodes)
	if r.First != nil {
		line += fmt.Sprintf(": %v", r.First)
	}
	return line
}

// wireLine says what is different about a run over the wire; it is empty of others.
func wireLine(r sim.Result) string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(r.Wire && !sim.Exact(), "%s", world.WireNote)
	add(r.Partly > 0, "%d episodes could be judged in part only, as two users of one *zk.Conn had sent requests that "+
		"could be either's", r.Partly)
	add(r.Left > 0, "%d episodes left goroutines behind, which is not judged, at %s", r.Left, r.LeftAt)
	return strings.Join(parts, "; ")
}

// CountLine says how much was run. Real servers count no steps.
func CountLine(r sim.Result) string {
	steps := ""
	if r.Steps > 0 {
		steps = fmt.Sprintf("%d steps ", r.Steps)
	}
	return fmt.Sprintf("%s, %d operations, %sin %v, %.0f episodes/s", episodesOf(r), r.Operations, steps,
		r.Elapsed.Round(10*time.Millisecond), rate(r))
}

// rate is how many episodes were run a second, while none was minimised.
func rate(r sim.Result) float64 {
	return float64(r.Episodes) / max(cmp.Or(r.Running, r.Elapsed).Seconds(), 1e-9)
}

// episodesOf says how many episodes were run, and of how many if these are fewer than were asked for.
func episodesOf(r sim.Result) string {
	if r.Episodes < r.Asked {
		return fmt.Sprintf("%d of %d episodes", r.Episodes, r.Asked)
	}
	return console.Count(r.Episodes, "episode")
}

// OriginLine says how to repeat the run. Real servers have no hash.
func OriginLine(r sim.Result) string {
	if r.Explored != nil {
		return r.Explored.String()
	}
	line := fmt.Sprintf("strategy %s, seed %d", r.Strategy, r.Seed)
	if r.Steps > 0 {
		line += ", hash " + digest.Hex(r.Hash)
	}
	return line
}

// FaultNames are the names of client and server faults.
func FaultNames() (names []string) {
	for f := range world.EveryFault.Each() {
		names = append(names, f.String())
	}
	for f := range live.ServerFaults.Each() {
		if !slices.Contains(names, f.String()) { // a lag is both
			names = append(names, f.String())
		}
	}
	return names
}

// FaultLine says how often each fault struck, the most frequent first, and which did not.
func FaultLine(struck map[string]int) string {
	names := slices.SortedStableFunc(maps.Keys(struck), func(a, b string) int {
		return cmp.Or(cmp.Compare(struck[b], struck[a]), cmp.Compare(a, b))
	})
	var parts, none []string
	for _, name := range names {
		if struck[name] == 0 {
			none = append(none, name)
		} else {
			parts = append(parts, fmt.Sprintf("%s %d", name, struck[name]))
		}
	}
	line := strings.Join(parts, ", ")
	if len(none) > 0 {
		line = cmp.Or(line, "none") + "; not struck: " + strings.Join(none, ", ")
	}
	return line
}

// FollowUps are the commands to run next on the file of a violation. A run on real servers cannot be replayed; its
// history can be judged again if its kind has a model.
func FollowUps(backend string, r sim.Result, s console.Streams, file string) []string {
	if file == "" {
		return nil
	}
	file = s.File(file)
	if Simulates(backend) {
		return []string{"replay: " + s.Self + " replay " + file, "explain: " + s.Self + " explain " + file}
	}
	m, err := ModelOf(r.Workload, r.Recipe)
	if err != nil {
		return []string{"history: " + file}
	}
	flags := file + " " + m.Flags
	return []string{"judge: " + s.Self + " check " + flags, "explain: " + s.Self + " explain " + flags}
}

// PrintLines prints violations, one a line.
func PrintLines(w io.Writer, episodes int, found []sim.Found, s console.Streams, files []string) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintln(w, "also broken, perhaps for the same reason (explain FILE tells the story of each):")
	for i, f := range found {
		file := "but in no file"
		if files[i] != "" {
			file = s.File(files[i])
		}
		if f.Unfinished != "" {
			file += ", perhaps not minimal"
		}
		if f.Rare != world.NoFaults {
			file += fmt.Sprintf(", rare: with %v", f.Rare)
		}
		fmt.Fprintf(w, "  %s: found in %d of %s, %s\n", f.Property, f.Times, console.Count(episodes, "episode"), file)
	}
	fmt.Fprintln(w)
}

// word is what the sentence of a violation begins with.
const word = "VIOLATION"

// PrintBroken prints the sentence of a violation, which may begin with something else.
func PrintBroken(w io.Writer, begin string, v sim.Violation) {
	text := console.Wrap(fmt.Sprintf("%s%s of %s: %s", begin, word, v.Property, v.Message), console.Columns)
	before, after, _ := strings.Cut(text, word)
	fmt.Fprint(w, before)
	console.PaintVerdict(w, word)
	fmt.Fprintln(w, after)
}

func printViolation(w io.Writer, f sim.Found, story string, episodes int, minimised bool, commands []string) {
	if story == "" {
		PrintBroken(w, "", f.Violation)
	} else {
		before, after, _ := strings.Cut(story, word)
		console.PaintVerdict(w, word)
		console.PrintPainted(w, before+after)
	}
	fmt.Fprintln(w)
	PrintFound(w, f, episodes, minimised && len(f.Trace) > 0, commands)
}

// PrintFound says how often a violation was found, and what to do next.
func PrintFound(w io.Writer, f sim.Found, episodes int, minimised bool, commands []string) {
	if f.Episode < 0 {
		fmt.Fprintf(w, "found in %s", console.Count(f.Times, "execution"))
	} else {
		fmt.Fprintf(w, "found in %d of %s, first in no. %d", f.Times, console.Count(episodes, "episode"), f.Episode)
	}
	switch {
	case f.Unfinished != "":
		fmt.Fprintf(w, "; made smaller, to %s", size(f))
		fmt.Fprint(w, "\n", console.Wrap("it may not be minimal: "+f.Unfinished+" (--shrink-time)", console.Columns))
	case minimised:
		fmt.Fprintf(w, "; minimised to %s", size(f))
	}
	if f.Rare != world.NoFaults {
		fmt.Fprintf(w, "\nrare: it was not found without %v, which hardly ever happens", f.Rare)
	}
	if f.Divergence != nil {
		fmt.Fprint(w, "\n", console.Wrap("not repeatable: "+f.Divergence.String(), console.Columns))
	}
	for _, command := range commands {
		fmt.Fprint(w, "\n", command)
	}
	fmt.Fprint(w, "\n\n")
}

// size says how large the story of a violation is.
func size(f sim.Found) string {
	return fmt.Sprintf("%s, %s, %s", console.Count(f.Clients, "client"), console.Count(f.Faults, "fault"),
		console.Count(f.Steps, "step"))
}

// Simulates reports whether a backend is a simulated world.
func Simulates(backend string) bool { return backend == "sim" || backend == "wire" }
