package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/live"
)

// For how long each foreign recipe is tortured, and is run with one kind of faults or none.
const (
	foreignTorture = "1m"
	foreignHunt    = "1m"
)

// foreignRecipe is a recipe of an example worker, and what is known to be wrong with it.
type foreignRecipe struct {
	name    string
	kind    string
	library string // a name in foreignLibraries
	causes  []foreignCause
}

// foreignCause is something wrong in a library's source. Its text is in the folder foreign.
type foreignCause struct {
	text       string
	properties []string // by which it shows
	faults     string   // that bring it about: a loss, or none, or what --faults takes
}

// lossAfter is the fault that is planned for one request: it is carried out and the reply is lost.
const lossAfter = "loss after"

var foreignRecipes = []foreignRecipe{
	{"kazoo's Lock", "lock", "kazoo", nil},
	{"kazoo's Queue", "queue", "kazoo", []foreignCause{
		{"kazoo-queue-get", []string{"lost", "false-empty", "order"}, lossAfter},
	}},
	{"kazoo's Counter", "counter", "kazoo", []foreignCause{
		{"kazoo-counter-add", []string{"counted-twice", "sum", "stale-get"}, lossAfter},
	}},
	{"Curator's InterProcessMutex", "lock", "Curator", nil},
	{"Curator's SimpleDistributedQueue", "queue", "Curator", []foreignCause{
		{"curator-queue-poll", []string{"lost", "false-empty", "lost-wakeup", "order"}, lossAfter},
		{"curator-queue-offer", []string{"duplicate"}, lossAfter},
		{"curator-queue-empty", []string{"false-empty"}, "none"},
	}},
}

//go:embed foreign/*.md
var foreignTexts embed.FS

// explanation is the text of a cause.
func (c foreignCause) explanation() (string, error) {
	text, err := foreignTexts.ReadFile("foreign/" + c.text + ".md")
	return strings.TrimSpace(string(text)), err
}

func measureForeign(ctx context.Context, p *page) error {
	dir, err := os.MkdirTemp("", "foreign")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	libraries, err := findLibraries(ctx, dir)
	if err != nil {
		return err
	}
	server, err := serverVersion(ctx)
	if err != nil {
		return err
	}
	foreignHead(p, libraries, server)
	var sections page
	var problems []error
	for _, recipe := range foreignRecipes {
		t := &torturer{ctx: ctx, recipe: recipe, library: libraries[recipe.library], dir: dir, torture: torture}
		err := t.measure(p, &sections)
		if err != nil && !errors.Is(err, errUnexpected) {
			return err
		}
		problems = append(problems, err)
	}
	p.text.Write(sections.bytes())
	return errors.Join(problems...)
}

// serverVersion is the version of the servers that are started.
func serverVersion(ctx context.Context) (string, error) {
	java, err := ensemble.FindJava(ctx)
	if err != nil {
		return "", err
	}
	server, err := ensemble.Fetch(ctx)
	if err != nil {
		return "", err
	}
	return server.Version(java)
}

func foreignHead(p *page, libraries map[string]foreignLibrary, server string) {
	p.line("# Foreign recipes: kazoo and Curator on three real servers")
	p.line("")
	p.line("The recipes of two libraries in other languages, behind the protocol of [workers](../docs/workers.md), are tortured by")
	p.line("`torture run KIND --backend ensemble --nodes 3 --recipe 'exec:…' --duration %s --seed 1`, with all faults that can strike on", foreignTorture)
	p.line("real servers, those of servers too. The servers are ZooKeeper %s. What follows `exec:` is", server)
	p.line("")
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		p.line("- for %s (%s): `%s`", name, libraries[name].version, libraries[name].shown)
	}
	p.line("")
	p.line("A fault counts as struck if an operation of its client was under way. What is said to be broken is explained below, with")
	p.line("the smallest case in which it shows and how often it does.")
	p.line("")
	p.table("recipe", "verdict", "broken, in so many rounds", "rounds", "operations", "faults struck", "minutes")
}

// measure tortures a recipe and shows each of its causes.
func (t *torturer) measure(table, sections *page) error {
	r, err := t.run("--backend", "ensemble", "--nodes", "3", "--seed", "1", "--duration", foreignTorture)
	if err != nil {
		return err
	}
	t.row(table, r)
	problems := []error{t.unexplained(r)}
	if len(t.recipe.causes) > 0 {
		sections.line("")
		sections.line("## %s", t.recipe.name)
		problems = append(problems, t.accusations(sections, r))
	}
	for _, cause := range t.recipe.causes {
		err := t.explain(sections, cause)
		if err != nil && !errors.Is(err, errUnexpected) {
			return err
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (t *torturer) row(table *page, r *foreignResult) {
	var broken, struck []string
	for _, v := range r.Violations {
		broken = append(broken, fmt.Sprintf("%s %s", v.Property, number(v.Times)))
	}
	for _, fault := range slices.Sorted(maps.Keys(r.Faults)) {
		struck = append(struck, fmt.Sprintf("%s %s", fault, number(r.Faults[fault])))
	}
	table.row(t.recipe.name, r.Verdict, strings.Join(broken, ", "), number(r.Episodes), number(r.Operations), strings.Join(struck, ", "), fmt.Sprintf("%.1f", r.Elapsed/60))
}

// unexplained is an error for what is broken without a cause that is known, and for a run that is undecided.
func (t *torturer) unexplained(r *foreignResult) error {
	var problems []error
	for _, v := range r.Violations {
		if !slices.ContainsFunc(t.recipe.causes, func(c foreignCause) bool { return slices.Contains(c.properties, v.Property) }) {
			problems = append(problems, fmt.Errorf("%w: %s: nobody has explained %s: %s", errUnexpected, t.recipe.name, v.Property, v.Message))
		}
	}
	if r.Verdict == "unknown" {
		problems = append(problems, fmt.Errorf("%w: %s: %s", errUnexpected, t.recipe.name, r.Reason))
	}
	return errors.Join(problems...)
}

// accusations lists what was seen in the long run, with what had struck in its round.
func (t *torturer) accusations(p *page, r *foreignResult) error {
	if len(r.Violations) == 0 {
		return nil
	}
	p.line("")
	p.line("What was seen first of each property in the %s of torture, and what had struck in its round or lasted then:", foreignTorture)
	p.line("")
	for _, v := range r.Violations {
		struck, err := r.struck(v)
		if err != nil {
			return err
		}
		p.line("- *%s*, round %d (%s): %s.", v.Property, v.Episode, struck, v.Message)
	}
	return nil
}

// explain says what a cause is, and shows it at work.
func (t *torturer) explain(p *page, cause foreignCause) error {
	text, err := cause.explanation()
	if err != nil {
		return err
	}
	p.line("")
	p.line("%s", text)
	p.line("")
	if cause.faults != lossAfter {
		return t.hunt(p, cause)
	}
	found, err := t.smallest(cause)
	if err != nil {
		return err
	}
	if found == nil {
		p.line("It was not seen in %s small rounds.", number(foreignSeeds*foreignRounds*len(foreignSizes)))
		return fmt.Errorf("%w: %s: %s did not show in small rounds", errUnexpected, t.recipe.name, cause.text)
	}
	return t.show(p, found)
}

// hunt shows a cause that needs luck, and no fault or one that lasts.
func (t *torturer) hunt(p *page, cause foreignCause) error {
	r, err := t.run("--backend", "ensemble", "--nodes", "3", "--seed", "1", "--faults", cause.faults, "--duration", foreignHunt)
	if err != nil {
		return err
	}
	p.line("With `--faults %s --duration %s` instead of all, there were %s rounds.", cause.faults, foreignHunt, number(r.Episodes))
	found, err := cause.of(r)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		p.line("It was not seen in them: it needs luck.")
		return nil
	}
	v := shortest(found)
	p.line("*%s* was broken in %s of them. What the clients saw in round %d:", v.Property, number(v.Times), v.Episode)
	v.paste(p)
	return nil
}

// show shows a case, and how often it can be seen again, with its fault and without.
func (t *torturer) show(p *page, c *foreignCase) error {
	with, err := t.again(c, c.plan)
	if err != nil {
		return err
	}
	without, err := t.again(c, nil)
	if err != nil {
		return err
	}
	p.line("Smallest case found: `torture run %s --backend ensemble --nodes 1 --recipe 'exec:…' --seed %d --clients %d --ops %d --episodes %d --plan FILE`,", t.recipe.kind, c.seed, c.clients, c.ops, c.rounds)
	p.line("where the FILE is")
	p.line("")
	p.line("```json")
	if err := writePlan(&p.text, c.plan); err != nil {
		return err
	}
	p.line("```")
	p.line("")
	p.line("It was seen again in %d of %d runs; with an empty FILE, in %d of %d. What the clients saw in round %d:", with, foreignAgain, without, foreignAgain, c.violation.Episode)
	c.violation.paste(p)
	if with == 0 || without > 0 {
		return fmt.Errorf("%w: %s: %s was seen again in %d runs with its fault and in %d without", errUnexpected, t.recipe.name, c.cause.text, with, without)
	}
	return nil
}

// writePlan writes a plan as --plan reads it.
func writePlan(w io.Writer, plan []live.Fault) error {
	lines := json.NewEncoder(w)
	for _, f := range plan {
		if err := lines.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
