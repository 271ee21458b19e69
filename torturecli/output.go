package torturecli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/storyindex"
	"github.com/zktorture/zktorture/storyindex/progresslog"
)

// output is the folder of a run.
type output struct {
	dir         string
	named       bool                  // by the user
	progressLog *progresslog.Recorder // nil if it is not named
}

// discard removes the folder of a run that failed to start, if it is the user's and empty, so that the command can be
// repeated.
func (o *output) discard() {
	if !o.named {
		return
	}
	for _, name := range []string{storyindex.HistoryName, strikesName} {
		file := filepath.Join(o.dir, name)
		if info, err := os.Stat(file); err == nil && info.Size() == 0 {
			os.Remove(file)
		}
	}
	if left, err := os.ReadDir(o.dir); err == nil && len(left) == 1 {
		os.Remove(filepath.Join(o.dir, storyindex.BeginName))
	}
	os.Remove(o.dir) // fails unless it is empty
}

// below is a folder for the run's temporary files; "" is the system's.
func (o *output) below() string {
	if !o.named {
		return ""
	}
	return o.dir
}

// counterexamplesDir is the default folder of counterexamples.
const counterexamplesDir = "counterexamples"

// newOutput makes the folder of a run. It refuses one that exists, so that nothing is overwritten.
func newOutput(dir string) (*output, error) {
	if dir == "" {
		return &output{dir: counterexamplesDir}, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if os.IsExist(err) {
			return nil, fmt.Errorf("--out %s exists already: choose another folder, or remove it", dir)
		}
		return nil, fmt.Errorf("--out: %w", err)
	}
	return &output{dir, true, progresslog.NewRecorder(filepath.Join(dir, progresslog.Name))}, nil
}

// begin writes the description of the run into the user's folder.
func (o *output) begin(b storyindex.Begin) error {
	if !o.named {
		return nil
	}
	return storyindex.WriteBegin(o.dir, b)
}

// progress returns the progress callback of a run. It feeds the bar, and the progress log in the user's folder.
func (o *output) progress(bar *bar) func(sim.Progress) {
	return func(p sim.Progress) {
		bar.show(p)
		if o.progressLog != nil {
			o.progressLog.Add(pointOf(p))
		}
	}
}

func pointOf(p sim.Progress) progresslog.Point {
	point := progresslog.Point{
		Time: p.Elapsed.Seconds(), Episodes: int64(p.Episodes), Operations: p.Operations,
		Faults: map[string]int64{}, Violations: int64(p.Violations),
	}
	for kind, n := range p.Struck {
		point.Faults[kind] = int64(n)
	}
	return point
}

// endProgressLog completes the progress log. A log that cannot be written does not change what the run found.
func (o *output) endProgressLog(c *commandContext) {
	if o.progressLog == nil {
		return
	}
	if err := o.progressLog.Close(); err != nil {
		fmt.Fprintf(c.err, "torture: %v; its verdict does not depend on that\n", err)
	}
}

// evidence is what was written about the violations of a run.
type evidence struct {
	files    []string              // one for each violation; "" if it could not be written
	examples []*sim.Counterexample // of simulated runs, one for each
	err      error                 // of writing the files
}

// save writes a file of the violation, named by its content. The same steps found with another --faults make another
// file.
func (e *evidence) save(o *output, result sim.Result, found sim.Found, extension string, write func(io.Writer) error) {
	var data bytes.Buffer
	err := write(&data)
	digest := sha256.Sum256(data.Bytes())
	name := filepath.Join(o.dir, fmt.Sprintf("%s-%s-%s-%x.%s", result.Workload, flat(result.Recipe), found.Property,
		digest[:4], extension))
	if err == nil {
		err = writeNew(name, data.Bytes())
	}
	if err != nil {
		name, e.err = "", errors.Join(e.err, fmt.Errorf("the files of the violation of %s could not be written: %w",
			found.Property, err))
	}
	e.files = append(e.files, name)
}

// counterexamples writes a file for each violation.
func (o *output) counterexamples(cfg sim.Config, result sim.Result) (saved evidence) {
	for _, found := range result.Violations {
		c, err := cfg.Counterexample(result, found)
		saved.save(o, result, found, "json", func(w io.Writer) error {
			if err != nil {
				return err
			}
			return c.Write(w)
		})
		saved.examples = append(saved.examples, c)
	}
	return saved
}

// histories writes, for each violation on real servers, the history of the round that showed it first.
func (o *output) histories(result sim.Result) (saved evidence) {
	for _, found := range result.Violations {
		history, _ := found.History.(linearizability.History)
		saved.save(o, result, found, "jsonl", func(w io.Writer) error { return linearizability.Write(w, history) })
	}
	return saved
}

// flat turns a recipe's name into a part of a file name. A recipe may be a command of any length, and a file's name is
// bounded. The digest of the content keeps names apart.
func flat(s string) string {
	s = strings.NewReplacer("/", "-", " ", "-", ",", "", ":", "").Replace(s)
	return strings.ToValidUTF8(s[:min(len(s), flatMax)], "")
}

// flatMax bounds a recipe's part of a file name, in bytes.
const flatMax = 60

// writeNew writes a file unless it exists with the same content, and refuses to overwrite.
func writeNew(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if old, err := os.ReadFile(name); err == nil {
		if bytes.Equal(old, data) {
			return nil
		}
		return fmt.Errorf("%s exists already with other content and is not overwritten: move it away", name)
	}
	return wholefile.Write(name, data)
}

// strikesName is the file of the faults of a run on real servers, with their effects.
const strikesName = "faults.jsonl"

// create makes a file in the user's folder, if there is one.
func (o *output) create(name string) (io.WriteCloser, error) {
	if !o.named {
		return nopCloser{io.Discard}, nil
	}
	return os.OpenFile(filepath.Join(o.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// summary writes the result of a run, as --json prints it, into the user's folder.
func (o *output) summary(s summary) error {
	if !o.named {
		return nil
	}
	var data bytes.Buffer
	if err := writeJSON(&data, s); err != nil {
		return err
	}
	return writeNew(filepath.Join(o.dir, resultName), data.Bytes())
}

// resultName is the file of the result of a run that was not killed.
const resultName = "result.json"

// summary is the object that --json prints.
type summary struct {
	Workload    string             `json:"workload"`
	Recipe      string             `json:"recipe"`
	Backend     string             `json:"backend"`
	Exact       bool               `json:"exact,omitempty"`
	Strategy    string             `json:"strategy"`
	Seed        uint64             `json:"seed"`
	Episodes    int                `json:"episodes"`
	Asked       int                `json:"asked,omitempty"`
	Short       string             `json:"short,omitempty"`
	Steps       int64              `json:"steps"`
	Operations  int64              `json:"operations"`
	Faults      map[string]int     `json:"faults"`
	Verdict     sim.Verdict        `json:"verdict"`
	Reason      string             `json:"reason,omitempty"`
	Stopped     bool               `json:"interrupted,omitempty"`
	Violations  []violationSummary `json:"violations"`
	Sensitivity *sim.Sensitivity   `json:"strength,omitempty"`
	Coverage    *sim.Coverage      `json:"coverage,omitempty"`
	Rerun       *sim.Rerun         `json:"rerun,omitempty"`
	NotJudged   []string           `json:"not_judged,omitempty"`
	Waived      []string           `json:"waived,omitempty"`
	Refused     int64              `json:"refused,omitempty"`
	Grants      int64              `json:"grants,omitempty"`
	Judged      int64              `json:"grants_judged,omitempty"`
	Recovery    float64            `json:"recovery_s,omitempty"`
	Hash        string             `json:"hash"`
	Elapsed     float64            `json:"elapsed_s"`
	Rate        float64            `json:"episodes_per_s"`
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

	Divergence *sim.Divergence `json:"divergence,omitempty"`
}

func summarize(r sim.Result, backend string, files []string) summary {
	s := summary{
		Workload: r.Workload, Recipe: r.Recipe, Backend: backend, Exact: sim.Exact(), Strategy: r.Strategy, Seed: r.Seed,
		Episodes: r.Episodes, Asked: r.Asked, Short: r.Short, Steps: r.Steps, Operations: r.Operations, Faults: r.Struck,
		Verdict: r.Verdict, Reason: r.Reason, Stopped: r.Interrupted, Violations: []violationSummary{},
		NotJudged: r.NotJudged, Waived: r.Waived, Refused: r.Refused, Recovery: r.Recovery.Seconds(),
		Grants: r.Grants, Judged: r.GrantsJudged, Hash: sim.FormatHash(r.Hash), Coverage: r.Coverage,
		Elapsed: r.Elapsed.Seconds(), Rate: float64(r.Episodes) / max(r.Elapsed.Seconds(), 1e-9),
	}
	if r.Verdict == sim.VerdictOK && r.Sensitivity.Episodes > 0 {
		s.Sensitivity = &r.Sensitivity
	}
	if r.Rerun.Episodes > 0 {
		s.Rerun = &r.Rerun
	}
	for i, f := range r.Violations {
		v := violationSummary{Property: f.Property, Message: f.Message, Episode: f.Episode, Times: f.Times,
			Steps: f.Steps, Clients: f.Clients, Faults: f.Faults, Unfinished: f.Unfinished, Divergence: f.Divergence}
		if i < len(files) {
			v.File = files[i]
		}
		s.Violations = append(s.Violations, v)
	}
	return s
}

func writeJSON(w io.Writer, object any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(object)
}

// printResult prints a result for people: the stories of the first told violations, and one line for each of the
// others.
func printResult(w io.Writer, r sim.Result, told int, backend string, s streams, files []string) {
	told = min(told, len(r.Violations))
	printStories(w, r, r.Violations[:told], backend, s, files)
	printLines(w, r.Violations[told:], s, files[told:])
	if r.Reason != "" {
		paintVerdict(w, string(r.Verdict))
		fmt.Fprintf(w, ": %s\n\n", r.Reason)
	}
	paintVerdict(w, string(r.Verdict))
	fmt.Fprintf(w, " %s (%s) on %s: %s\n", r.Workload, r.Recipe, backend, countLine(r))
	fmt.Fprintln(w, originLine(r))
	say := func(about, what string) {
		if what != "" {
			fmt.Fprintln(w, wrap(about+what, columns))
		}
	}
	if r.Short != r.Reason && r.Short != "interrupted" {
		say("why not all episodes were run: ", r.Short)
	}
	say("faults struck: ", faultLine(r.Struck))
	say("not judged, because these servers do not show enough: ", strings.Join(r.NotJudged, ", "))
	say("not judged, because this recipe does not promise it: ", strings.Join(r.Waived, ", "))
	if r.Grants > 0 {
		say("grants judged: ", fmt.Sprintf("%d of %d, by what is known of their sessions", r.GrantsJudged, r.Grants))
	}
	if r.Refused > 0 {
		say("stale writes that the resource refused because of their tokens: ", fmt.Sprint(r.Refused))
	}
	say("", sensitivityLine(r))
	say("", coverageLine(r))
	say("", rerunLine(r.Rerun))
	say("", wireLine(r))
	if r.Strategy == sim.Exhaustive {
		say("", r.Extent.String())
	}
	if r.Interrupted && r.Verdict == sim.VerdictViolation {
		say("interrupted: ", "these are the results up to then")
	}
	printNever(w, r.Coverage)
}

// rerunLine says whether the recipe behaved the same again, or is empty: that a few of many did is nothing to rely on.
func rerunLine(r sim.Rerun) string {
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
	add(r.Wire && !sim.Exact(), "%s", sim.WireNote)
	add(r.Partly > 0, "%d episodes could be judged in part only, as two users of one *zk.Conn had sent requests that "+
		"could be either's", r.Partly)
	add(r.Left > 0, "%d episodes left goroutines behind, which is not judged, at %s", r.Left, r.LeftAt)
	return strings.Join(parts, "; ")
}

// countLine says how much was run. Real servers count no steps.
func countLine(r sim.Result) string {
	steps := ""
	if r.Steps > 0 {
		steps = fmt.Sprintf("%d steps ", r.Steps)
	}
	return fmt.Sprintf("%s, %d operations, %sin %v, %.0f episodes/s", episodesOf(r), r.Operations, steps,
		r.Elapsed.Round(10*time.Millisecond), float64(r.Episodes)/max(r.Elapsed.Seconds(), 1e-9))
}

// episodesOf says how many episodes were run, and of how many if these are fewer than were asked for.
func episodesOf(r sim.Result) string {
	if r.Episodes < r.Asked {
		return fmt.Sprintf("%d of %d episodes", r.Episodes, r.Asked)
	}
	return fmt.Sprintf("%d episodes", r.Episodes)
}

// originLine says how to repeat the run. Real servers have no hash.
func originLine(r sim.Result) string {
	line := fmt.Sprintf("strategy %s, seed %d", r.Strategy, r.Seed)
	if r.Steps > 0 {
		line += ", hash " + sim.FormatHash(r.Hash)
	}
	return line
}

// faultNames are the names of client and server faults.
func faultNames() (names []string) {
	for f := range sim.EveryFault.Each() {
		names = append(names, f.String())
	}
	for f := range live.AllServerFaults.Each() {
		if !slices.Contains(names, f.String()) { // a lag is both
			names = append(names, f.String())
		}
	}
	return names
}

func faultLine(struck map[string]int) string {
	var parts []string
	for _, name := range faultNames() {
		if n, ok := struck[name]; ok {
			parts = append(parts, fmt.Sprintf("%s %d", name, n))
		}
	}
	return strings.Join(parts, ", ")
}

// followUps are the commands to run next on the file of a violation. A run on real servers cannot be replayed; its
// history can be judged again if its kind has a model.
func followUps(backend string, r sim.Result, s streams, file string) []string {
	if file == "" {
		return nil
	}
	file = s.file(file)
	if simulates(backend) {
		return []string{"replay: " + s.self + " replay " + file, "explain: " + s.self + " explain " + file}
	}
	m, err := modelOf(r.Workload, r.Recipe)
	if err != nil {
		return []string{"history: " + file}
	}
	flags := file + " " + m.Flags
	return []string{"judge: " + s.self + " check " + flags, "explain: " + s.self + " explain " + flags}
}

// printStories prints violations with their stories, and the follow-up commands.
func printStories(w io.Writer, r sim.Result, found []sim.Found, backend string, s streams, files []string) {
	for i, f := range found {
		printViolation(w, f, !r.Unshrunk, followUps(backend, r, s, files[i]))
	}
}

// printLines prints violations, one a line.
func printLines(w io.Writer, found []sim.Found, s streams, files []string) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintln(w, "also broken, perhaps for the same reason (--all prints these stories, too):")
	for i, f := range found {
		file := "but in no file"
		if files[i] != "" {
			file = s.file(files[i])
		}
		if f.Unfinished != "" {
			file += ", perhaps not minimal"
		}
		fmt.Fprintf(w, "  %s: found in %d of the episodes, %s\n", f.Property, f.Times, file)
	}
	fmt.Fprintln(w)
}

// printBroken prints the sentence of a violation, which may begin with something else.
func printBroken(w io.Writer, begin string, v sim.Violation) {
	const word = "VIOLATION"
	text := wrap(fmt.Sprintf("%s%s of %s: %s", begin, word, v.Property, v.Message), columns)
	before, after, _ := strings.Cut(text, word)
	fmt.Fprint(w, before)
	paintVerdict(w, word)
	fmt.Fprintln(w, after)
}

func printViolation(w io.Writer, f sim.Found, minimised bool, commands []string) {
	printBroken(w, "", f.Violation)
	fmt.Fprintln(w)
	for _, line := range sim.Folded(sim.Lines(f.Trace)) {
		fmt.Fprintln(w, line)
	}
	if len(f.Trace) > 0 {
		fmt.Fprintln(w)
	}
	printFound(w, f, minimised && len(f.Trace) > 0, commands)
}

// printFound says how often a violation was found, and what to do next.
func printFound(w io.Writer, f sim.Found, minimised bool, commands []string) {
	if f.Episode < 0 {
		fmt.Fprintf(w, "found in %d of the executions", f.Times)
	} else {
		fmt.Fprintf(w, "found in %d of the episodes, first in number %d", f.Times, f.Episode)
	}
	switch {
	case f.Unfinished != "":
		fmt.Fprintf(w, "; made smaller, to %d clients, %d faults, %d steps", f.Clients, f.Faults, f.Steps)
		fmt.Fprint(w, "\n", wrap("it may not be minimal: "+f.Unfinished+" (--shrink-time)", columns))
	case minimised:
		fmt.Fprintf(w, "; minimised to %d clients, %d faults, %d steps", f.Clients, f.Faults, f.Steps)
	}
	if f.Divergence != nil {
		fmt.Fprint(w, "\n", wrap("not repeatable: "+f.Divergence.String(), columns))
	}
	for _, command := range commands {
		fmt.Fprint(w, "\n", command)
	}
	fmt.Fprint(w, "\n\n")
}

// columns is the width of sentences.
const columns = 100

// wrap breaks lines between words to at most width columns. It keeps indented lines, as of stacks.
func wrap(text string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		length := 0
		for i, word := range strings.Split(line, " ") {
			switch n := utf8.RuneCountInString(strings.TrimSuffix(word, "\n")); {
			case i == 0:
				length = n
			case length+1+n > width && !strings.HasPrefix(line, "\t"):
				out.WriteByte('\n')
				length = n
			default:
				out.WriteByte(' ')
				length += 1 + n
			}
			out.WriteString(word)
		}
	}
	return out.String()
}

// bar is the progress line, on a terminal only. It shows the run's time, or its episodes if their number is given.
type bar struct {
	line  line
	of    int64 // milliseconds, if it is timed
	timed bool
	quiet bool
	err   io.Writer

	found atomic.Bool // a property broke
}

func newBar(c *commandContext, quiet bool, episodes int, duration time.Duration) *bar {
	b := &bar{timed: episodes == 0 && duration > 0, of: max(duration.Milliseconds(), 1), quiet: quiet, err: c.err}
	b.line = newLine(c, quiet, `{{string . "text"}} {{bar . "[" "=" ">" " " "]"}} {{percent . "%.0f%%"}}`)
	return b
}

// tell prints the beginning of a violation when it is found.
func (b *bar) tell(episode int, v sim.Violation) {
	b.found.Store(true)
	if b.quiet {
		return
	}
	where := "an execution"
	if episode >= 0 {
		where = fmt.Sprintf("episode %d", episode)
	}
	line := []rune(strings.ReplaceAll(fmt.Sprintf("found: %s in %s: %s", v.Property, where, v.Message), "\n", " "))
	if len(line) > columns {
		line = append(line[:columns-1], '…')
	}
	b.line.above(func() { fmt.Fprintln(b.err, string(line)) })
}

// minimisingMax is how many runs one property takes at most, as a rule.
const minimisingMax = 10000

// status is the exit status as far as it is known.
func (b *bar) status() int {
	if b.found.Load() {
		return exitViolation
	}
	return exitUnknown
}

func (b *bar) show(p sim.Progress) {
	text, n, of := b.text(p)
	b.line.show(text, n, of)
}

// text is what there is to say, and how much is done.
func (b *bar) text(p sim.Progress) (text string, n, of int64) {
	if m := p.Minimising; m != nil {
		return fmt.Sprintf("minimising %s: %d runs, %d clients, %d faults, %d steps", m.Property, m.Runs, m.Clients,
			m.Faults, m.Steps), int64(min(m.Runs, minimisingMax-1)), minimisingMax
	}
	text = fmt.Sprintf("%v %d episodes, %d with violations, %.0f/s", p.Elapsed.Round(time.Second), p.Episodes, p.Violations,
		float64(p.Episodes)/max(p.Elapsed.Seconds(), 1e-9))
	if b.timed {
		return text, p.Elapsed.Milliseconds(), b.of
	}
	return text, int64(p.Episodes), int64(p.Of)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
