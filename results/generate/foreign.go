package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble"
)

// How long each foreign recipe is tortured, and runs with one kind of faults or none.
const (
	foreignTorture = "1m"
	foreignHunt    = "1m"
)

// foreignRecipe is a recipe of an example worker with its known defects.
type foreignRecipe struct {
	name    string
	kind    string
	library string // a name in foreignLibraries
	causes  []foreignCause
}

// foreignCause is a defect in a library's source. Its text is in the folder foreign.
type foreignCause struct {
	text       string
	properties []string // that it breaks
	faults     string   // that it needs: a loss, or none, or in the format of --faults
}

// The planned faults of one request, as the kind and its variant: the connection is lost with the reply, or instead of
// the request.
const (
	lossAfter  = "loss after"
	lossBefore = "loss before"
)

// variant is the variant of the planned loss that the cause needs, if it needs one.
func (c foreignCause) variant() (variant string, planned bool) {
	return strings.CutPrefix(c.faults, "loss ")
}

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

// explanation is the text of a cause.
func (c foreignCause) explanation() (string, error) {
	text, err := texts.ReadFile("foreign/" + c.text + ".md")
	return strings.TrimSpace(string(text)), err
}

// tortured is the result of torturing a recipe, with the causes of its violations.
type tortured struct {
	*runResult
	Name  string
	Shown []shown
}

// shown is a demonstration of a cause: in a hunt, or in a small case unless all its rounds missed it.
type shown struct {
	Text   string
	Hunt   *luckyHunt
	Case   *foreignCase
	Unseen int
}

// luckyHunt is a run in which a cause may show.
type luckyHunt struct {
	Faults, Duration string
	Rounds           int
	Seen             *violation // nil if it was not seen
}

func measureForeign(ctx context.Context) (any, error) {
	return tortureForeign(ctx, func(t *torturer) (tortured, error) {
		t.servers = "--start"
		return t.measure()
	})
}

// tortureForeign measures the recipes of other projects, with the libraries and the real servers that are here.
func tortureForeign[Result any](ctx context.Context, measure func(*torturer) (Result, error)) (facts, error) {
	dir, err := os.MkdirTemp("", "foreign")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	libraries, err := findLibraries(ctx, dir)
	if err != nil {
		return nil, err
	}
	server, err := serverVersion(ctx)
	if err != nil {
		return nil, err
	}
	var all []Result
	var problems []error
	for _, recipe := range foreignRecipes {
		one, problem := measure(&torturer{
			ctx: ctx, recipe: recipe, library: libraries[recipe.library], dir: dir, torture: torture,
		})
		if err := fatal(problem, nil); err != nil {
			return nil, err
		}
		all, problems = append(all, one), append(problems, problem)
	}
	return facts{"Duration": foreignTorture, "Server": server, "Libraries": libraries, "Recipes": all},
		errors.Join(problems...)
}

// serverVersion is the version of the real servers.
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

// measure tortures a recipe and shows each of its causes.
func (t *torturer) measure() (tortured, error) {
	r, err := t.run("--start", "3", "--seed", "1", "--duration", foreignTorture)
	if err != nil {
		return tortured{}, err
	}
	one := tortured{r, t.recipe.name, nil}
	problems := []error{t.unexplained(r)}
	for i := range r.Violations {
		if err := r.struck(&r.Violations[i]); err != nil {
			return one, err
		}
	}
	for _, cause := range t.recipe.causes {
		s, problem := t.explain(cause)
		if err := fatal(problem, nil); err != nil {
			return one, err
		}
		one.Shown, problems = append(one.Shown, s), append(problems, problem)
	}
	return one, errors.Join(problems...)
}

// unexplained is an error for a violation without a known cause, and for an undecided run.
func (t *torturer) unexplained(r *runResult) error {
	var problems []error
	for _, v := range r.Violations {
		if !slices.ContainsFunc(t.recipe.causes,
			func(c foreignCause) bool { return slices.Contains(c.properties, v.Property) }) {
			problems = append(problems, fmt.Errorf("%w: %s: nobody has explained %s: %s", errUnexpected, t.recipe.name,
				v.Property, v.Message))
		}
	}
	if r.Verdict == "unknown" {
		problems = append(problems, fmt.Errorf("%w: %s: %s", errUnexpected, t.recipe.name, r.Reason))
	}
	return errors.Join(problems...)
}

// explain describes a cause, and demonstrates it.
func (t *torturer) explain(cause foreignCause) (s shown, err error) {
	if s.Text, err = cause.explanation(); err != nil {
		return s, err
	}
	if _, planned := cause.variant(); !planned {
		s.Hunt, err = t.hunt(cause)
		return s, err
	}
	if s.Case, err = t.smallest(cause); err != nil {
		return s, err
	}
	if s.Case == nil {
		s.Unseen = foreignSeeds * foreignRounds * len(foreignSizes)
		return s, fmt.Errorf("%w: %s: %s did not show in small rounds", errUnexpected, t.recipe.name, cause.text)
	}
	return s, t.repeat(s.Case)
}

// hunt seeks a cause that needs luck, and no fault or a lasting one.
func (t *torturer) hunt(cause foreignCause) (*luckyHunt, error) {
	r, err := t.run("--start", "3", "--seed", "1", "--faults", cause.faults,
		"--duration", foreignHunt)
	if err != nil {
		return nil, err
	}
	h := &luckyHunt{Faults: cause.faults, Duration: foreignHunt, Rounds: r.Episodes}
	found, err := cause.of(r)
	if len(found) > 0 {
		v := shortest(found)
		h.Seen = &v
	}
	return h, err
}

// repeat counts how often a case shows again, with its fault and without.
func (t *torturer) repeat(c *foreignCase) (err error) {
	if c.With, err = t.again(c, c.plan); err != nil {
		return err
	}
	if c.Without, err = t.again(c, nil); err != nil {
		return err
	}
	if c.With == 0 || c.Without > 0 {
		return fmt.Errorf("%w: %s: %s was seen again in %d runs with its fault and in %d without",
			errUnexpected, t.recipe.name, c.cause.text, c.With, c.Without)
	}
	return nil
}

// planText is a plan in the format of --faults-from.
func planText(plan []live.Fault) (string, error) {
	var text strings.Builder
	lines := json.NewEncoder(&text)
	for _, f := range plan {
		if err := lines.Encode(f); err != nil {
			return "", err
		}
	}
	return text.String(), nil
}
