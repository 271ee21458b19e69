package torturecli

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
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr,omitempty"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes a report as JUnit XML. Unknown is an error: it must not pass.
func (r ciReport) junit(w io.Writer) error {
	suite := junitSuite{Name: r.title, Tests: len(r.cases), Time: junitSeconds(r.seconds)}
	for _, c := range r.cases {
		j := junitCase{Name: c.name, Class: r.title}
		if c.seconds > 0 {
			j.Time = junitSeconds(c.seconds)
		}
		switch c.verdict {
		case sim.VerdictViolation:
			suite.Failures++
			j.Failure = &junitProblem{
				Message: c.joined("; ", func(p ciProblem) string { return p.message }),
				Type:    c.joined(", ", func(p ciProblem) string { return p.property }),
				Text:    c.joined("\n", func(p ciProblem) string { return p.story }),
			}
		case sim.VerdictUnknown:
			suite.Errors++
			j.Error = &junitProblem{Message: c.reason, Type: string(sim.VerdictUnknown)}
		}
		suite.Cases = append(suite.Cases, j)
	}
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", " ")
	if err != nil {
		return err
	}
	// Line ends may stay unescaped, which keeps the stories readable.
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, strings.ReplaceAll(string(text), "&#xA;", "\n"))
	return err
}

func junitSeconds(s float64) string { return fmt.Sprintf("%.3f", s) }
