package torturecli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/internal/ciformat"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// accusation is an accused twin of the zoo, with the files of its violations.
type accusation struct {
	evidence
	twin   *workload.Workload
	result sim.Result
}

// errNoAccusation is for an accused twin that a second hunt with the same seed finds clean.
var errNoAccusation = errors.New("a second hunt with the same seed did not accuse the twin: " +
	"equal seeds must give equal hunts, so please report this")

// accuse repeats the hunt of an accused twin and writes counterexamples. A twin with an unknown verdict has none.
func (z *zooCmd) accuse(c *commandContext, a zoo.Animal) (*accusation, error) {
	twin := a.Twin()
	cfg := sim.Config{Episodes: z.Episodes, Seed: z.Seed, Clients: max(a.Clients, clientsOf(twin))}
	result, err := sim.Run(c, twin, cfg)
	if err != nil {
		return nil, err
	}
	if result.Verdict == sim.VerdictOK {
		return nil, fmt.Errorf("%s: %w", a.ID, errNoAccusation)
	}
	saved := (&output{dir: counterexamplesDir}).counterexamples(cfg, result)
	return &accusation{saved, twin, result}, nil
}

// clientsOf is the largest number of clients of a twin: that of any animal that shares it.
func clientsOf(twin *workload.Workload) (clients int) {
	for _, a := range zoo.Animals() {
		if a.Twin().Recipe() == twin.Recipe() {
			clients = max(clients, a.Clients)
		}
	}
	return clients
}

// accusations are the accusations of the catches, by animal. A run on real servers cannot be repeated, so there the
// catch is all there is.
func (z *zooCmd) accusations(c *commandContext, catches []zoo.Catch) (found map[string]*accusation, trouble error) {
	found = map[string]*accusation{}
	if z.Backend == "ensemble" {
		return found, nil
	}
	for _, catch := range catches {
		if catch.TwinClean {
			continue
		}
		a, err := z.accuse(c, catch.Animal)
		if err != nil {
			trouble = errors.Join(trouble, err)
			continue
		}
		found[catch.Animal.ID], trouble = a, errors.Join(trouble, a.err)
	}
	return found, trouble
}

// print shows what broke in a twin, with the follow-up commands.
func (a *accusation) print(c *commandContext, id string) {
	fmt.Fprintf(c.out, "\nthe fixed twin of %s:\n", id)
	printStories(c.out, a.result, a.result.Violations, "sim", c.streams, a.files)
}

// problem is the likely root of a twin's violations, with the stories of all.
func (a *accusation) problem(c *commandContext) (root ciformat.Problem) {
	var stories []string
	for i := range a.examples {
		p := problemOf(c, a.twin, a.result, a.evidence, i, "sim")
		if i == 0 {
			root = p
		}
		stories = append(stories, p.Story)
	}
	root.Story = strings.Join(stories, "\n")
	return root
}

// ciOf reports a hunt: a case for each animal.
func (z *zooCmd) ciOf(c *commandContext, catches []zoo.Catch, accused map[string]*accusation) ciformat.Report {
	s := score(catches)
	report := ciformat.Report{
		Title: "the zoo", Verdict: sim.VerdictOK,
		Facts: [][2]string{{"found", fmt.Sprintf("%d of %d", s.found, s.total)}, {"seed", fmt.Sprint(z.Seed)},
			{"accused twins", strings.Join(s.accused, " ")}},
	}
	if s.missed() {
		report.Verdict = sim.VerdictViolation
	}
	for _, catch := range catches {
		report.Cases = append(report.Cases, ciOfCatch(c, catch, accused[catch.Animal.ID]))
		report.Seconds += catch.Elapsed.Seconds()
	}
	return report
}

func ciOfCatch(c *commandContext, catch zoo.Catch, accused *accusation) ciformat.Case {
	a := catch.Animal
	report := ciformat.Case{
		Name: a.ID, Help: fmt.Sprintf("%s; %s, found in %d episodes", a.Title, a.Property, catch.Episodes),
		Verdict: sim.VerdictOK, Seconds: catch.Elapsed.Seconds(),
	}
	if catch.OK() && catch.TwinClean {
		return report
	}
	problem := ciformat.Problem{}
	if accused != nil {
		problem = accused.problem(c)
	}
	problem.Property, problem.Message = a.Property, catch.Problem
	if !catch.TwinClean {
		problem.Property = "accused twin"
	}
	report.Verdict, report.Problems = sim.VerdictViolation, []ciformat.Problem{problem}
	return report
}
