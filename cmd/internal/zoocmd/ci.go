package zoocmd

import (
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/ciformat"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// ciOf reports a hunt: a case for each animal.
func (z *ZooCmd) ciOf(catches []zoo.Catch) ciformat.Report {
	s := score(catches)
	report := ciformat.Report{
		Title: "the zoo", Verdict: sim.VerdictOK,
		Facts: [][2]string{{"found", fmt.Sprintf("%d of %d", s.found, s.total)}, {"seed", fmt.Sprint(z.Seed)},
			{"accused fixed versions", strings.Join(s.accused, " ")}},
	}
	if z.FixedSeed != nil {
		report.Facts = append(report.Facts, [2]string{"seed of fixed versions", fmt.Sprint(*z.FixedSeed)})
	}
	if s.missed() {
		report.Verdict = sim.VerdictViolation
	}
	for _, catch := range catches {
		report.Cases = append(report.Cases, ciOfCatch(catch))
		report.Seconds += catch.Elapsed.Seconds()
	}
	return report
}

func ciOfCatch(catch zoo.Catch) ciformat.Case {
	a := catch.Animal
	report := ciformat.Case{
		Name: a.ID, Help: fmt.Sprintf("%s; %s, found in %d episodes", a.Title, a.Property, catch.Episodes),
		Verdict: sim.VerdictOK, Seconds: catch.Elapsed.Seconds(),
	}
	if catch.OK() && catch.TwinClean {
		return report
	}
	problem := ciformat.Problem{Property: a.Property, Message: catch.Problem}
	if !catch.TwinClean {
		problem.Property = "accused fixed version"
	}
	report.Verdict, report.Problems = sim.VerdictViolation, []ciformat.Problem{problem}
	return report
}
