package ciformat

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/zktorture/zktorture/sim"
)

// The elements of JUnit's XML as CI services read them (the schema of Apache Ant's JUnit task; there is no
// other standard).
type (
	// Suites is the root.
	Suites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []Suite  `xml:"testsuite"`
	}
	// Suite is a report.
	Suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []TestCase `xml:"testcase"`
	}
	// TestCase is a case.
	TestCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Failure *TestProblem `xml:"failure"`
		Error   *TestProblem `xml:"error"`
	}
	// TestProblem is why a case does not pass.
	TestProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report as JUnit XML. Unknown is an error: it must not pass.
func (r Report) JUnit(w io.Writer) error {
	suite := Suite{Name: r.Title, Tests: len(r.Cases), Time: fmt.Sprintf("%.3f", r.Seconds)}
	for _, c := range r.Cases {
		j := TestCase{Name: c.Name, Class: r.Title}
		switch c.Verdict {
		case sim.VerdictViolation:
			suite.Failures++
			j.Failure = &TestProblem{
				Message: c.joined("; ", func(p Problem) string { return p.Message }),
				Type:    c.joined(", ", func(p Problem) string { return p.Property }),
				Text:    c.joined("\n", func(p Problem) string { return p.Story }),
			}
		case sim.VerdictUnknown:
			suite.Errors++
			j.Error = &TestProblem{Message: c.Reason, Type: string(sim.VerdictUnknown)}
		}
		suite.Cases = append(suite.Cases, j)
	}
	text, err := xml.MarshalIndent(Suites{Suites: []Suite{suite}}, "", " ")
	if err != nil {
		return err
	}
	// Line ends may stay unescaped, which keeps the stories readable.
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, strings.ReplaceAll(string(text), "&#xA;", "\n"))
	return err
}
