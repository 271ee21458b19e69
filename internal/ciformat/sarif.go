package ciformat

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/checkout"
	"github.com/zktorture/zktorture/internal/plaintext"
	"github.com/zktorture/zktorture/internal/version"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// The objects of SARIF 2.1.0 (Static Analysis Results Interchange Format, an OASIS standard) that are written.
type (
	// Log is the root.
	Log struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []Run  `json:"runs"`
	}
	// Run is a report.
	Run struct {
		Tool        Tool         `json:"tool"`
		Automation  Automation   `json:"automationDetails"`
		Invocations []Invocation `json:"invocations"`
		Results     []Result     `json:"results"`
	}
	// Tool is what made the report.
	Tool struct {
		Driver Driver `json:"driver"`
	}
	// Driver is this project.
	Driver struct {
		Name           string `json:"name"`
		Version        string `json:"version"`
		InformationURI string `json:"informationUri"`
		Rules          []Rule `json:"rules"`
	}
	// Rule is a property.
	Rule struct {
		ID      string  `json:"id"`
		Short   Message `json:"shortDescription"`
		Full    Message `json:"fullDescription"`
		Help    Message `json:"help"`
		HelpURI string  `json:"helpUri"`
	}
	// Automation tells reports of one commit apart.
	Automation struct {
		ID string `json:"id"`
	}
	// Invocation says whether all could be judged.
	Invocation struct {
		Successful bool `json:"executionSuccessful"`
	}
	// Result is a violation, or what could not be judged.
	Result struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      Message           `json:"message"`
		Locations    []Location        `json:"locations,omitempty"`
		Flows        []CodeFlow        `json:"codeFlows,omitempty"`
		Related      []Location        `json:"relatedLocations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	}
	// Message is a text; in Markdown, too, if that is not empty.
	Message struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	// Location is a line, or a whole file. Texts refer to it by its ID.
	Location struct {
		ID       int      `json:"id,omitempty"`
		Physical Physical `json:"physicalLocation"`
		Message  *Message `json:"message,omitempty"`
	}
	// Physical is a place in a file.
	Physical struct {
		Artifact Artifact `json:"artifactLocation"`
		Region   Region   `json:"region"`
	}
	// Artifact is a file.
	Artifact struct {
		URI    string `json:"uri"`
		BaseID string `json:"uriBaseId"`
	}
	// Region is a line.
	Region struct {
		StartLine int `json:"startLine"`
	}
	// CodeFlow is a story.
	CodeFlow struct {
		Flows []ThreadFlow `json:"threadFlows"`
	}
	// ThreadFlow is the steps of all clients, in their order, which is what a story is about.
	ThreadFlow struct {
		Locations []FlowLocation `json:"locations"`
	}
	// FlowLocation is a step.
	FlowLocation struct {
		Location   Location `json:"location"`
		Order      int      `json:"executionOrder"`
		Importance string   `json:"importance"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	repository  = "https://github.com/zktorture/zktorture"
	site        = "https://zktorture.github.io/zktorture/"

	// ruleUndecided is the rule of what could not be judged.
	ruleUndecided = "undecided"
)

// SARIF writes the failures of a report as SARIF 2.1.0, for code hosts. Violations are errors, and what could not be
// judged is a warning. Lines of code and files are those of the repository that the working directory is in.
func (r Report) SARIF(w io.Writer) error {
	made := sarif{tree: tree{checkout.Here()}, rules: rules()}
	for _, p := range r.problems() {
		made.add(p.Property, made.violation(p))
	}
	for _, text := range r.undecided() {
		made.add(ruleUndecided, made.unknown(text, r.File))
	}
	run := Run{
		Tool: Tool{Driver{"zktorture", made.version(), repository, made.rules}}, Results: append([]Result{}, made.results...),
		Automation:  Automation{"zktorture/" + plaintext.String(r.Title) + "/"},
		Invocations: []Invocation{{r.Verdict != sim.VerdictUnknown && len(r.undecided()) == 0}},
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(Log{sarifSchema, "2.1.0", []Run{run}})
}

// undecided are the reasons of unknown verdicts, each once, with the cases that have it.
func (r Report) undecided() (texts []string) {
	cases := map[string][]string{}
	var reasons []string
	for _, c := range r.Cases {
		if c.Verdict != sim.VerdictUnknown {
			continue
		}
		if cases[c.Reason] == nil {
			reasons = append(reasons, c.Reason)
		}
		cases[c.Reason] = append(cases[c.Reason], c.Name)
	}
	for _, reason := range reasons {
		texts = append(texts, fmt.Sprintf("%s: unknown, which is no pass: %s (%s)", r.Title, reason,
			strings.Join(cases[reason], "; ")))
	}
	return texts
}

// sarif is a log in the making.
type sarif struct {
	tree    tree
	rules   []Rule
	results []Result
}

func (s *sarif) version() string {
	text, _ := version.Short()
	return text
}

// add adds a result of a rule, and the rule if it is of no kind of recipes that is known.
func (s *sarif) add(rule string, result Result) {
	rule = plaintext.String(rule)
	at := slices.IndexFunc(s.rules, func(r Rule) bool { return r.ID == rule })
	if at < 0 {
		at = len(s.rules)
		s.rules = append(s.rules, ruleOf(rule, "the property "+rule+" holds"))
	}
	result.RuleID, result.RuleIndex = rule, at
	s.results = append(s.results, result)
}

// violation is the result of a problem. It is where the pivotal step is in the recipe, or else in its file.
func (s *sarif) violation(p Problem) Result {
	r := Result{Level: "error", Locations: s.at(s.tree.line(p.Code)), Flows: s.flows(p.Steps)}
	text := literal(p.sentence())
	if p.Steps != nil && p.Steps.Pivot != nil {
		text += "\nPivotal step: " + literal(p.Steps.Pivot.Text)
	}
	if p.Again != "" {
		text += "\n" + literal(p.Again)
	}
	if file := s.at(s.tree.file(p.File), 1); file != nil {
		if r.Locations == nil {
			r.Locations = s.at(s.tree.file(p.File), 1)
		}
		file[0].ID, r.Related = 1, file
		text += "\nAll of it is in [" + literal(file[0].Physical.Artifact.URI) + "](1)."
	}
	if r.Message.Text = text; p.ID != "" {
		r.Fingerprints = map[string]string{"zktortureFailure/v1": plaintext.String(p.Of + ": " + p.ID)}
	}
	return r
}

// sentence says what broke what.
func (p Problem) sentence() string {
	what := p.Property + ": " + p.Message
	if p.Of != "" {
		return p.Of + " breaks " + what
	}
	return p.in + ": " + what
}

func (s *sarif) unknown(text, file string) Result {
	return Result{Level: "warning", Message: Message{Text: literal(text)}, Locations: s.at(s.tree.file(file), 1)}
}

// at is a line of a file; nil if there is no file.
func (s *sarif) at(uri string, line int) []Location {
	if uri == "" {
		return nil
	}
	return []Location{{Physical: Physical{Artifact{uri, "%SRCROOT%"}, Region{line}}}}
}

// flows are the steps of a story. Code hosts refuse steps that have no place, so that there are none if the recipe is
// not in the tree.
func (s *sarif) flows(of *story.Story) []CodeFlow {
	if of == nil {
		return nil
	}
	of = of.Folded()
	places := of.Places()
	var steps []FlowLocation
	for _, entry := range of.Outline() {
		e := of.Events[entry.Event]
		location := s.at(s.tree.line(places[entry.Event]))
		if location == nil {
			continue
		}
		location[0].Message = &Message{Text: literal(stepText(of, e, entry.Text))}
		importance := "important"
		if of.Pivot != nil && of.Pivot.Step > 0 && e.Step == of.Pivot.Step {
			importance = "essential"
		}
		steps = append(steps, FlowLocation{location[0], len(steps) + 1, importance})
	}
	if len(steps) == 0 {
		return nil
	}
	return []CodeFlow{{[]ThreadFlow{{steps}}}}
}

func stepText(s *story.Story, e story.Event, text string) string {
	if e.Client < 0 {
		return fmt.Sprintf("step %d: %s", e.Step, text)
	}
	return fmt.Sprintf("step %d, %s: %s", e.Step, s.Clients[e.Client].Name, text)
}

// linkLike matches what a reader of SARIF takes for a link.
var linkLike = regexp.MustCompile(`\[([^\[\]]*)\]\(`)

// literal is a text without links, and without what steers a terminal.
func literal(text string) string { return linkLike.ReplaceAllString(plaintext.String(text), `\[$1\](`) }

// rules are the properties of all kinds, by name.
func rules() (all []Rule) {
	for _, p := range workload.Properties() {
		text := fmt.Sprintf("%s (%s)", p.Text, strings.Join(p.Kinds, ", "))
		if n := len(all); n > 0 && all[n-1].ID == p.Name {
			all[n-1] = ruleOf(p.Name, all[n-1].Full.Text+"; "+text)
		} else {
			all = append(all, ruleOf(p.Name, text))
		}
	}
	return append(all, ruleOf(ruleUndecided, "it can be judged whether the properties hold"))
}

// ruleOf is the rule of a property, with the page that helps.
func ruleOf(name, text string) Rule {
	page := "reference/properties.html"
	switch found := cookbook[name]; {
	case name == ruleUndecided:
		page = "ci.html"
	case found != "":
		page = "cookbook/" + found + ".html"
	}
	return Rule{
		ID: name, Short: Message{Text: name + ": " + text}, Full: Message{Text: text}, HelpURI: site + page,
		Help: Message{Text: fmt.Sprintf("What is promised: %s. See %s", text, site+page),
			Markdown: fmt.Sprintf("What is promised: %s.\n\nSee [%s](%s).\n", Inline(text), page, site+page)},
	}
}

// cookbook names the page of docs/cookbook that is the first to say how a property comes to be broken.
var cookbook = map[string]string{
	"belief":               "zombie",
	"counted-twice":        "done-twice",
	"duplicate":            "done-twice",
	"early-enter":          "done-twice",
	"early-leave":          "mixed-rounds",
	"exclusion":            "swallowed-error",
	"exclusion-in-session": "one-process",
	"false-empty":          "swallowed-error",
	"false-lost":           "expiry-and-loss",
	"fencing":              "zombie",
	"goroutine-leak":       "leftovers",
	"herd":                 "herd",
	"leak":                 "leftovers",
	"lost":                 "unknown-outcome",
	"lost-update":          "check-then-act",
	"lost-wakeup":          "lost-wake-up",
	"order":                "wrap",
	"orphan":               "orphan",
	"progress":             "lost-wake-up",
	"self-block":           "orphan",
	"stale-get":            "stale-read",
	"stale-peek":           "stale-read",
	"undeclared":           "unknown-outcome",
	"unexpected-error":     "name-used-again",
	"watch-leak":           "leftovers",
	"zombie-write":         "zombie",
}
