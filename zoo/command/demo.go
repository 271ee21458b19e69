package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/internal/escape"
)

// demo shows a bug.
type demo struct {
	out     string // a folder for the counterexamples; "": a temporary one
	noPause bool
}

// page is a step of the demo: what it is about, and a command with the exit status that it has to have.
type page struct {
	title, text string
	command     []string
	status      int
}

// demoRecipe and demoTwin are the animal W1 of the zoo, and the same code with the bug fixed.
const (
	demoRecipe = "published/WriteLock, bugs: W1"
	demoTwin   = "published/WriteLock, bugs: none"
)

// demoRun runs a recipe through the episodes of the demo.
func demoRun(recipe string, flags ...string) []string {
	return append([]string{"run", "lock", "--recipe", recipe, "--faults", "none", "--seed", "1", "--episodes", "300"}, flags...)
}

// pages are the demo. dir is a folder for results, and counterexample the name of the one that the first page finds
// there, once it has.
func pages(dir string, counterexample func() (string, error)) []func() (page, error) {
	fixed := func(p page) func() (page, error) { return func() (page, error) { return p, nil } }
	onFile := func(p page) func() (page, error) {
		return func() (page, error) {
			file, err := counterexample()
			p.command = append(p.command, file)
			return p, err
		}
	}
	return []func() (page, error){
		fixed(page{"A lock that was published", "ZooKeeper 3.4.6 came with a lock as a recipe. Here up to three clients use it, in 300 " +
			"episodes, each with another order of their requests. No server fails and no connection breaks. " +
			"What the failure does not need is taken away, as long as the same property breaks.",
			demoRun(demoRecipe, "--out", filepath.Join(dir, "found")), console.ExitViolation}),
		onFile(page{"What happened", "The failure is in a file. This tells the whole story: a column for each client, who waits for " +
			"whom, and the step after which it was hardest to avoid (the pivot).", []string{"explain"}, console.ExitOK}),
		onFile(page{"Again, step for step", "The file runs again: the same steps on any machine, as long as the recipe is the same.",
			[]string{"replay"}, console.ExitViolation}),
		fixed(page{"The fix", "A watch that is set by exists on a missing znode waits for its creation. " +
			"A get fails if the znode is missing, and then the list is read again. " +
			"The lock with this one line changed runs through the same 300 episodes: the same seed, clients and strategy. " +
			"Below the verdict is what it is worth.", demoRun(demoTwin), console.ExitOK}),
	}
}

// run shows all pages. The error is nil if all came as it is told.
func (d *demo) run(c *console.Context) error {
	if err := d.makeFolder(); err != nil {
		return err
	}
	all := pages(d.out, d.counterexample)
	in := bufio.NewReader(os.Stdin)
	for i, next := range all {
		p, err := next()
		if err != nil {
			return err
		}
		if err := p.show(c, fmt.Sprintf("%d/%d", i+1, len(all))); err != nil {
			return err
		}
		if i+1 == len(all) || d.noPause || !c.Interactive {
			continue
		}
		if on, err := pause(c, in); err != nil || !on {
			return err
		}
	}
	d.end(c)
	return nil
}

func (d *demo) makeFolder() (err error) {
	if d.out == "" {
		d.out, err = os.MkdirTemp("", "torture-demo-")
		return err
	}
	out, err := output.NewFolder(d.out)
	if err == nil {
		d.out = out.Dir
	}
	return err
}

// counterexample is the smallest story of the bug.
func (d *demo) counterexample() (string, error) {
	files, err := filepath.Glob(filepath.Join(d.out, "found", "lock-*-lost-wakeup-*.json"))
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("there are %d counterexamples in %s, and the demo needs one: please report this", len(files), d.out)
	}
	if err != nil {
		return "", err
	}
	return files[0], nil
}

// show runs the command of a page.
func (p page) show(c *console.Context, number string) error {
	console.Paint(c.Stdout, console.Bold, fmt.Sprintf("%s  %s\n", number, p.title))
	fmt.Fprintf(c.Stdout, "\n%s\n\n", console.Wrap(p.text, console.Columns))
	console.Paint(c.Stdout, console.Faint, "$ ")
	console.Paint(c.Stdout, console.Bold, p.line(c)+"\n")
	if status := cli.Run(c, p.command, c.Streams); status != p.status {
		if c.Err() != nil {
			return console.ErrInterrupted
		}
		return fmt.Errorf("the demo failed: exit status %d, and %d was expected; please report this",
			status, p.status)
	}
	fmt.Fprintln(c.Stdout)
	return nil
}

// line is the command as a user types it.
func (p page) line(c *console.Context) string {
	words := []string{c.Self}
	for _, arg := range p.command {
		words = append(words, escape.Shell(arg))
	}
	return strings.Join(words, " ")
}

// pause waits for Enter. The demo ends at q, and when the input does.
func pause(c *console.Context, in *bufio.Reader) (on bool, err error) {
	console.Paint(c.Stdout, console.Faint, "Enter for the next page, q to end ")
	line, err := console.Interruptible(c, func() (string, error) { return in.ReadString('\n') })
	fmt.Fprintln(c.Stdout)
	if errors.Is(err, console.ErrInterrupted) {
		return false, err
	}
	return err == nil && !strings.HasPrefix(line, "q"), nil
}

func (d *demo) end(c *console.Context) {
	fmt.Fprintf(c.Stdout, "The files are in %s.\n\nGo on with\n", d.out)
	for _, next := range []struct{ args, does string }{
		{"zoo W1 DQ6 E7", "more published bugs: each is found, and its fixed version is clean"},
		{"run lock", "this project's own lock, with all faults"},
		{"list", "what else there is"},
	} {
		fmt.Fprintf(c.Stdout, "  %-28s %s\n", c.Self+" "+next.args, next.does)
	}
}
