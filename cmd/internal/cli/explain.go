package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/stamps"
	"github.com/zktorture/zktorture/workload"
)

type ExplainCmd struct {
	File  string `arg:"" name:"what" help:"A counterexample that torture run or a test has written; a story that --json has written; with --model, a history as for torture check; a folder of results, of torture run --out, which gets an index.html and a page for each story; or a property (see torture list properties)."`
	Model string `help:"The model to judge a history against, such as lock or queue: see torture list." default:"" placeholder:"MODEL" enum:",${models}"`
	JSON  bool   `name:"json" help:"Print the story as one JSON object instead."`
	HTML  string `name:"html" placeholder:"OUT.html" help:"Write the story as a page to this file instead; - is standard output."`
}

func (e *ExplainCmd) Rules() []console.Rule {
	return []console.Rule{console.When(!e.JSON, "html", "cannot be used with --json")}
}

// Run executes the command. Its status is 0 if a story was told.
func (e *ExplainCmd) Run(c *console.Context) error {
	info, err := os.Stat(e.File)
	switch {
	case err == nil && info.IsDir():
		return console.OfFile(e.File, explainFolder(c, e.File))
	case err != nil:
		i := slices.IndexFunc(story.AllAdvice(), func(a story.Advice) bool { return slices.Contains(a.Properties, e.File) })
		switch {
		case i >= 0 && (e.JSON || e.HTML != ""):
			return fmt.Errorf("%s is a property, and has no story: leave out --json and --html", e.File)
		case i >= 0:
			printAdvice(c.Stdout, e.File, story.AllAdvice()[i])
			return nil
		case errors.Is(err, fs.ErrNotExist) && e.File != "-":
			return fmt.Errorf("%s is neither a file nor a property of %s list properties", e.File, c.Self)
		}
	}
	defer c.EndSoon(func() int { return console.ExitUnknown })()
	s, err := console.Interruptible(c, func() (*story.Story, error) { return e.story(c) })
	if err != nil {
		return console.OfFile(e.File, err)
	}
	if e.JSON {
		return json.NewEncoder(c.Stdout).Encode(s)
	}
	if e.HTML == "-" {
		return s.HTML(c.Stdout)
	}
	if e.HTML != "" {
		if err := wholefile.WriteBy(e.HTML, s.HTML); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
		_, err := fmt.Fprintf(c.Stdout, "%s: %s\n", e.HTML, s.Title)
		return err
	}
	options, to := textOptions(c.Streams), c.Stdout
	if options.Color {
		to = c.Bare.Stdout
	}
	_, err = fmt.Fprint(to, s.Text(options))
	return err
}

// printAdvice says what it means that a property breaks, and what helps.
func printAdvice(w io.Writer, property string, a story.Advice) {
	fmt.Fprintf(w, "%s\n\n", console.Wrap(property+" breaks: "+a.Meaning+".", console.Columns))
	for _, r := range a.Helps {
		fmt.Fprint(w, console.Hanging(string(r.Mechanism)+": ", r.Text+".", "  "))
		fmt.Fprintf(w, "  %s\n\n", r.Link())
	}
}

// story tells the story of the file.
func (e *ExplainCmd) story(c *console.Context) (*story.Story, error) {
	format := formatOf(e.File)
	switch {
	case format == story.Format:
		return readFile(e.File, story.Read)
	case e.Model != "" && format == "":
		return e.ofHistory(c)
	}
	if test, ok := failedTest(e.File); ok {
		return test.story(c)
	}
	example, w, err := loadExample(c, e.File)
	if err != nil && strings.HasSuffix(e.File, ".jsonl") {
		err = fmt.Errorf("%w; if it is a history, say what it is judged against by --model", err)
	}
	if err != nil {
		return nil, err
	}
	s, err := tell(c, w, example, e.File)
	if err == nil && e.HTML != "" {
		knownBug(c, s)
	}
	return s, err
}

// knownBug adds the command that hunts the bug that the recipe of a story is known for, if it is for one.
func knownBug(c *console.Context, s *story.Story) {
	for _, bug := range about.Zoo() {
		if bug.Kind == s.Workload && bug.Recipe == s.Recipe {
			s.Commands = append(s.Commands, story.Command{Name: "known bug " + bug.ID, Line: c.Self + " zoo " + bug.ID})
			return
		}
	}
}

// formatOf returns the format that a file names at its begin, "" if it is neither of a story nor of a counterexample.
func formatOf(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 200)
	n, _ := io.ReadFull(file, head)
	for _, format := range []string{story.Format, sim.CounterexampleFormat} {
		if bytes.Contains(head[:n], []byte(`"`+format+`"`)) {
			return format
		}
	}
	return ""
}

// readFile reads what a file has.
func readFile[T any](name string, read func(io.Reader) (T, error)) (what T, err error) {
	file, err := os.Open(name)
	if err != nil {
		return what, err
	}
	defer file.Close()
	return read(file)
}

// ofHistory tells of the first object whose operations are not in order.
func (e *ExplainCmd) ofHistory(c *console.Context) (*story.Story, error) {
	model, err := modelNamed(e.Model, linearizability.Parameters{Parties: 2, Permits: 1})
	if err != nil {
		return nil, err
	}
	history, err := readHistory(e.File)
	if err != nil {
		return nil, err
	}
	verdicts := judgeHistory(model, history, time.Minute)
	worst := linearizability.Worst(verdicts)
	if worst == linearizability.Ok {
		return nil, fmt.Errorf("there is no story: judged as %s, its %d operations are in order", e.Model, len(history))
	}
	i := slices.IndexFunc(verdicts, func(v linearizability.Verdict) bool { return v.Outcome == worst })
	if worst == linearizability.Undetermined {
		return nil, fmt.Errorf("there is no story: unknown: %s", verdicts[i].Reason)
	}
	of := slices.DeleteFunc(history, func(o linearizability.Operation) bool { return o.Object != verdicts[i].Object })
	s := stamps.Verdict(e.Model, of, verdicts[i], 3)
	s.Commands = []story.Command{{Name: "judge", Line: fmt.Sprintf("%s check %s --model %s", c.Self, c.File(e.File), e.Model)}}
	return s, nil
}

// loadExample reads a counterexample and finds its workload.
func loadExample(c *console.Context, name string) (*sim.Counterexample, *workload.Workload, error) {
	example, err := console.Interruptible(c, func() (*sim.Counterexample, error) { return readFile(name, sim.ReadCounterexample) })
	if err != nil {
		return nil, nil, err
	}
	if example.Exact {
		if err := c.Exactly(); err != nil {
			return nil, nil, err
		}
	}
	w, err := worker.Find(example.Workload, example.Recipe)
	if err == nil && example.Wire {
		w = w.OverWire()
	}
	return example, w, err
}

// tell tells the story of a counterexample, with follow-up commands if it is in a file.
func tell(c *console.Context, w *workload.Workload, example *sim.Counterexample, file string) (*story.Story, error) {
	s, err := story.Tell(c, w, example)
	if err != nil {
		return nil, err
	}
	if file == "" {
		return s, nil
	}
	s.Commands = []story.Command{{Name: "replay", Line: c.Self + " replay " + c.File(file)},
		{Name: "explain", Line: c.Self + " explain " + c.File(file)},
		{Name: "look for a smaller one", Line: searchLine(c.Self, s, example)}}
	return s, nil
}

// searchLine is a command that searches within the bounds of a story.
func searchLine(self string, s *story.Story, example *sim.Counterexample) string {
	wire := ""
	if example.Wire {
		wire = " --wire"
	}
	return fmt.Sprintf("%s run %s --recipe %s --faults %s --clients %d --ops %d --strategy patterns%s", self, s.Workload,
		escape.Shell(s.Recipe), s.Struck, len(s.Clients), example.Ops, wire)
}

// storyOf is the story of a violation as text, or the reason why there is none, which is no failure.
func storyOf(c *console.Context, w *workload.Workload, example *sim.Counterexample, file string) string {
	if example == nil {
		return ""
	}
	s, err := tell(c, w, example, file)
	if err != nil {
		return fmt.Sprintf("%s\n\nThere is no story: %v\n", example.Message, err)
	}
	return s.Text(story.TextOptions{})
}

// textOptions are those for standard output: its colours, and the terminal's width.
func textOptions(s console.Streams) story.TextOptions {
	o := story.TextOptions{Color: s.Color}
	file, ok := s.Bare.Stdout.(*os.File)
	if !ok || !console.IsTerminal(file) {
		return o
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil {
		o.Width = min(width, story.WidthDefault)
	}
	return o
}
