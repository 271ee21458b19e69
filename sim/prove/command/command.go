// Package command makes the command torture prove. A main function imports it for that alone.
package command

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/resource/memory"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/prove/certify"
	"github.com/zktorture/zktorture/sim/prove/internal/steps"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story/index"
)

func init() { cli.Extend(func() any { return new(commands) }, said) }

type commands struct {
	Prove proveCmd `cmd:"" group:"more" help:"Search all executions within a bound, and certify that."`
}

var said = manual.Manual{
	"prove": {
		Statuses: []manual.Status{
			{Code: console.ExitOK, Meaning: "Nothing broke, or the certificate holds. Whether the search is complete is printed."},
			{Code: console.ExitViolation, Meaning: "A violation, or the certificate is refuted."},
			{Code: console.ExitUnknown, Meaning: "There was an error, or the file is not a certificate of this build."},
		},
		Examples: []manual.Example{
			{Meaning: "Search all executions of a small counter in which no fault strikes, and certify that.",
				Line: "torture prove counter --clients 1 --ops 1 --faults none --certificate counter.json"},
			{Meaning: "Repeat the search of a certificate, and compare.", Line: "torture prove --check counter.json"},
			{Meaning: "Write all steps, too, of which a check runs a sample.",
				Line: "torture prove counter --clients 1 --ops 1 --faults none --certificate counter.json --steps counter.steps"},
			{Meaning: "Check the certificate by its steps.", Line: "torture prove --check counter.json --steps counter.steps"},
		}},
}

// proveCmd searches all executions within a bound.
type proveCmd struct {
	Kind        string        `arg:"" optional:"" default:"" help:"The kind of recipe to search: see torture list." enum:",${kinds}"`
	Check       string        `placeholder:"FILE" help:"Instead of a kind: check a certificate. Its search is repeated in another order, and compared."`
	Faults      cli.SimFaults `default:"all" placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out. Default: all."`
	AtMost      int           `help:"Maximum faults in an execution, 0 to 6." default:"1" range:"0..6"`
	Users       int           `help:"Maximum users of a client, 1 or 2." default:"1" range:"1..2"`
	Plain       bool          `help:"Search only the simplest plan, in which each user plays one part."`
	Episodes    int           `help:"Maximum executions. Default: no limit." range:"1.."`
	Duration    time.Duration `help:"The longest time for the search. Default: no limit." range:">0"`
	Checkpoint  string        `help:"Save the search to this file every ten seconds, and continue from the file if it exists." placeholder:"FILE"`
	Certificate string        `help:"If the search is complete and nothing broke, write a certificate, which --check checks." placeholder:"FILE"`
	Steps       string        `placeholder:"FILE" help:"With --certificate: write all states and steps of the search to this file. With --check: run a sample of its steps, in place of the whole search."`
	cli.Trial   `embed:""`
}

// Rules implements ruled.
func (p *proveCmd) Rules() []console.Rule {
	return []console.Rule{console.When(p.Check == "", "recipe clients ops faults at-most users plain episodes checkpoint "+
		"certificate out json junit", "cannot be used with --check, because the certificate says what was searched"),
		console.When(p.Checkpoint == "", "steps", "cannot be used with --checkpoint: a search that may be continued runs each step again"),
		console.When(p.Certificate != "" || p.Check != "", "steps", "is for --certificate and --check")}
}

// heapMax is from where on the collector works more often: a search makes much garbage, and keeps little of it.
const heapMax = 900 << 20

// Run executes the command.
func (p *proveCmd) Run(c *console.Context) error {
	switch {
	case p.Check != "" && p.Kind != "":
		return fmt.Errorf("--check takes what is searched from the certificate: leave %s out", p.Kind)
	case p.Check != "" && p.Seed != nil && p.Steps == "":
		return errors.New("--seed says with --check which of the --steps are run: name their file, or leave it out")
	case p.Check != "" && p.Steps != "":
		return p.checkSteps(c)
	}
	memory.LimitHeap(heapMax)
	switch {
	case p.Check != "":
		return console.OfFile(p.Check, p.check(c))
	case p.Kind == "":
		return fmt.Errorf("say what to search: %s prove KIND, or %[1]s prove --check FILE", c.Self)
	}
	for _, file := range [...][2]string{{"--certificate ", p.Certificate}, {"--checkpoint ", p.Checkpoint}} {
		if file[1] == "" {
			continue
		}
		if err := wholefile.Try(file[1]); err != nil { // at its end a search would be lost
			return console.OfFile(file[0]+file[1], err)
		}
	}
	p.Search()
	w, err := p.Find(c, p.Kind)
	if err != nil {
		return err
	}
	cfg := sim.Config{Strategy: sim.Exhaustive, Episodes: p.Episodes, Duration: p.Duration, Seed: *p.Seed,
		Faults: p.Faults.Set, NoFaultsAtAll: true, Clients: p.Clients, Ops: p.Ops, ShrinkTime: shrinkTime,
		AtMost: p.AtMost, Users: p.Users, Plain: p.Plain, Checkpoint: p.Checkpoint}
	end := func(bool) error { return nil }
	if p.Steps != "" {
		if end, err = p.writeSteps(&cfg); err != nil {
			return err
		}
	}
	begin := index.Begin{Workload: p.Kind, Faults: p.Faults.Text, Episodes: p.Episodes, Duration: p.Duration.Seconds()}
	return p.Within(c, begin, func(out *output.Folder) error {
		return p.Simulate(c, w, out, cfg, func(result *sim.Result) error {
			err := p.certify(cfg, *result)
			return errors.Join(err, end(err == nil && result.Verdict == sim.VerdictOK))
		})
	})
}

// writeSteps has a search write its steps. They end with it, and are removed unless they are certified.
func (p *proveCmd) writeSteps(cfg *sim.Config) (end func(certified bool) error, err error) {
	file, err := os.Create(p.Steps)
	if err != nil {
		return nil, fmt.Errorf("--steps: %w", err)
	}
	out := bufio.NewWriter(file)
	writer := steps.NewWriter(out)
	cfg.Steps = writer.Step
	return func(certified bool) error {
		err := errors.Join(writer.Close(), out.Flush(), file.Close())
		if err != nil || !certified {
			os.Remove(p.Steps)
		}
		return console.OfFile("--steps "+p.Steps, err)
	}, nil
}

// shrinkTime is how much time may be spent on minimising what a search finds.
const shrinkTime = 20 * time.Second

// certify writes the certificate that is wanted, if the search is ground for one.
func (p *proveCmd) certify(cfg sim.Config, result sim.Result) error {
	if p.Certificate == "" || result.Verdict != sim.VerdictOK {
		return nil
	}
	certificate, err := prove.Certify(cfg, result)
	if err != nil {
		return err
	}
	return console.OfFile("--certificate "+p.Certificate, wholefile.WriteBy(p.Certificate, certificate.Write))
}

// check repeats the search of a certificate. The status is 1 if it is refuted, and 2 if it is none, of another program,
// or could not be checked.
func (p *proveCmd) check(c *console.Context) error {
	certificate, w, err := p.read()
	if err != nil {
		return err
	}
	bar := output.NewBar(c, false, 0, p.Duration)
	r, err := certificate.Check(c, w, p.Duration, bar.Show)
	bar.Line.End()
	switch {
	case errors.Is(err, prove.ErrRefuted):
		return refuted(c, p.Check, err)
	case err != nil:
		return err
	}
	fmt.Fprintf(c.Stdout, "%s holds: %s (%s), %s\n", p.Check, r.Workload, r.Recipe, certificate.Bound())
	fmt.Fprintln(c.Stdout, console.Wrap(r.Extent.String(), console.Columns))
	return nil
}

func refuted(c *console.Context, file string, err error) error {
	fmt.Fprintln(c.Stdout, console.Wrap(fmt.Sprintf("%s: %v", file, err), console.Columns))
	return console.VerdictError(console.ExitViolation)
}

// checkSteps checks a certificate by its steps.
func (p *proveCmd) checkSteps(c *console.Context) error {
	certificate, w, err := p.read()
	if err != nil {
		return console.OfFile(p.Check, err)
	}
	claim, err := certificate.Claim()
	if err != nil {
		return console.OfFile(p.Check, err)
	}
	file, err := os.Open(p.Steps)
	if err != nil {
		return console.OfFile(p.Steps, err)
	}
	defer file.Close()
	set, err := steps.Read(file, claim.States)
	if err != nil {
		return console.OfFile(p.Steps, err)
	}
	seed := cmp.Or(p.Seed, new(rand.Uint64()>>32))
	r, err := certify.Check(c, w, claim, set, claim.Executions(), *seed)
	switch {
	case errors.Is(err, certify.ErrRefuted):
		return refuted(c, p.Steps, err)
	case err != nil:
		return console.OfFile(p.Check, err)
	}
	fmt.Fprintf(c.Stdout, "%s holds by its steps: %s (%s), %s\n", p.Check, w.Name(), w.Recipe(), certificate.Bound())
	fmt.Fprintln(c.Stdout, console.Wrap(fmt.Sprintf("%v (seed %d)", r, *seed), console.Columns))
	return nil
}

// read is the certificate to be checked, and what was searched.
func (p *proveCmd) read() (*prove.Certificate, world.Workload, error) {
	file, err := os.Open(p.Check)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	certificate, err := prove.ReadCertificate(file)
	if err != nil {
		return nil, nil, err
	}
	w, err := worker.Find(certificate.Workload, certificate.Recipe)
	return certificate, w, err
}
