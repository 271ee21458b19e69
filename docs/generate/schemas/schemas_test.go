package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/zktorture/zktorture"
	"github.com/zktorture/zktorture/campaign"
	"github.com/zktorture/zktorture/campaign/command"
	"github.com/zktorture/zktorture/campaign/failures"
	"github.com/zktorture/zktorture/campaign/torture-campaign/status"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	_ "github.com/zktorture/zktorture/sim/prove/command" // torture prove
)

var update = flag.Bool("update", false, "write docs/reference/formats.md and the schemas")

// TestMain lets this binary be the commands torture and torture-campaign, too.
func TestMain(m *testing.M) {
	if os.Getenv(asTorture) != "" {
		if slices.Contains([]string{"part", "merge"}, os.Args[1]) {
			command.Main()
		}
		zktorture.Main()
	}
	os.Exit(m.Run())
}

const asTorture = "ZKTORTURE_SCHEMAS_AS_TORTURE"

// TestReference keeps docs/reference/formats.md and the schemas what the code says. With -update they are written anew.
func TestReference(t *testing.T) {
	files, page, err := generate("../../..")
	if err != nil {
		t.Fatal(err)
	}
	reference := filepath.Join("..", "..", "reference")
	testkit.Generated(t, reference, map[string]string{"formats.md": page}, *update)
	testkit.Generated(t, filepath.Join(reference, "schemas"), files, *update, "*.schema.json")
}

// Every file and output that the commands write is as its schema says, field by field.
func TestRealFiles(t *testing.T) {
	s, err := readSource("../../..", packages...)
	if err != nil {
		t.Fatal(err)
	}
	samples := samples(t)
	for _, f := range fileFormats {
		t.Run(f.Name, func(t *testing.T) {
			if len(samples[f.Name]) == 0 {
				t.Fatal("there is no such file")
			}
			strict, published := compile(t, f, s, true), compile(t, f, s, false)
			for _, text := range samples[f.Name] {
				check(t, strict, text)
				check(t, published, text)
			}
			text := samples[f.Name][0]
			refuses(t, strict, text, func(o map[string]any) { o["no such field"] = 1 })
			refuses(t, published, text, func(o map[string]any) { clear(o) })
		})
	}
}

// Every field of every object is described, and nothing is described that is not there.
func TestEveryFieldIsDescribed(t *testing.T) {
	s, err := readSource("../../..", packages...)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, f := range fileFormats {
		for object, definition := range f.schema(s, false).Definitions {
			if definition.Properties == nil {
				continue
			}
			for field := definition.Properties.Oldest(); field != nil; field = field.Next() {
				used[field.Key], used[object+"."+field.Key] = true, true
				if text := field.Value.Description; text == "" || strings.Contains(text, "…") {
					t.Errorf("%s: %s.%s needs a description: %q", f.Name, object, field.Key, text)
				}
			}
		}
	}
	for name := range meanings {
		if !used[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

func compile(t *testing.T, f fileFormat, s *source, strict bool) *jsonschema.Schema {
	t.Helper()
	text, err := encode(f.schema(s, strict))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return compiled(t, home+f.File(), document)
}

func compiled(t *testing.T, name string, document any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func check(t *testing.T, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	object, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = schema.Validate(object)
	}
	if err != nil {
		t.Errorf("%v\n%.300s", err, text)
	}
}

// refuses fails the test if a document is valid after a change.
func refuses(t *testing.T, schema *jsonschema.Schema, text []byte, change func(map[string]any)) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	change(object)
	if schema.Validate(object) == nil {
		t.Errorf("this is valid, and should not be: %.300v", object)
	}
}

// samples are files and outputs, by formats, as the commands write them.
func samples(t *testing.T) map[string][][]byte {
	t.Helper()
	d := &folder{t: t, dir: t.TempDir()}
	d.write("plan.json", `{"format": "zktorture plan 1", "name": "sample", "jobs": [
		{"kinds": ["lock"], "recipes": ["ours"]}, {"kinds": ["queue"], "recipes": ["published/DistributedQueue"]},
		{"animals": ["W1"]}, {"kinds": ["counter"], "strategies": ["exhaustive"], "clients": 1, "faults": "none", "shares": 2}],
		"episodes": 200, "unit": 200, "unit_limit": "5m", "canary": "none"}`)
	served := d.torture(0, "live", "lock", "--serve", "3", "--seed", "1", "--episodes", "6", "--out", "served", "--json")
	d.write("planned.jsonl", string(d.torture(0, "live", "lock", "--start", "3", "--print-faults", "--seed", "3", "--duration", "1m")))
	found := map[string][][]byte{
		"run-result": {served, d.torture(0, "run", "lock", "--seed", "1", "--episodes", "200", "--coverage", "--json"),
			d.torture(1, "run", "queue", "--recipe", "published/DistributedQueue", "--seed", "1", "--episodes", "200", "--json")},
		"zoo-result":  {d.torture(0, "zoo", "W1", "--episodes", "300", "--json")},
		"plan":        {d.read("plan.json"), repositoryFile(t, "results/campaign/plan.json"), d.torture(0, "part", "--plan", "plan.json", "--resolve")},
		"history":     d.lines("served/history.jsonl"),
		"faults":      append(d.lines("served/faults.jsonl"), d.lines("planned.jsonl")...),
		"run-begin":   {d.read("served/run.json")},
		"strike":      {documented(t, "proxy.md")},
		"serve-ready": {documented(t, "serve.md")},
	}
	d.torture(0, "prove", "counter", "--clients", "1", "--ops", "1", "--faults", "none", "--certificate", "certificate.json")
	found["certificate"] = [][]byte{d.read("certificate.json")}
	for _, name := range d.glob("counterexamples/*.json") {
		found["counterexample"] = append(found["counterexample"], d.read(name))
	}
	found["list"] = [][]byte{d.torture(0, "list", "--json"), d.torture(0, "list", "zoo", "--json")}
	found["doctor"] = [][]byte{d.torture(0, "doctor", "--json")}
	found["campaign-status"] = [][]byte{statusSample(t, recordedStatus(t)), statusSample(t, runningStatus)}
	transcript(t, found)
	found["story"] = [][]byte{d.torture(0, "explain", "--json", d.glob("counterexamples/*.json")[0])}
	d.campaign(found)
	return found
}

// runningStatus is of a campaign that is under way, with all that a status can have.
var runningStatus = status.Status{
	Plan:  &campaign.Plan{Format: campaign.PlanFormat, Name: "sample", Jobs: []campaign.Group{{Kinds: []string{"lock"}}}},
	State: status.Running, Began: time.Unix(0, 0), Now: time.Unix(9, 0), Ends: time.Unix(99, 0), Last: time.Unix(8, 0), Units: 9,
	Done: 1, Unequal: []int{0}, Unknown: map[int]string{1: "it froze"}, Problems: []string{"the disk is full"},
	Workers: []status.Worker{{Name: "one", Build: "a build", System: "linux/amd64", Refused: "another build", Unit: -1}},
	Jobs: []status.Job{{Job: campaign.Job{Kind: "lock", Recipe: "ours", Strategy: sim.Exhaustive}, Took: time.Second,
		Struck: map[string]int{"loss": 1}, Found: []status.Found{{Property: "order", ID: "order-1", Story: "s"}}}},
}

// recordedStatus is what torture-campaign status --json has printed of a campaign that had ended.
func recordedStatus(t *testing.T) (s status.Status) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(repositoryFile(t, "docs/generate/schemas/testdata/status.json")))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// statusSample is a status as torture-campaign status --json prints it.
func statusSample(t *testing.T, s status.Status) []byte {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// transcript adds the lines of the worker protocol that docs/workers.md shows. A test of package worker replays them.
func transcript(t *testing.T, found map[string][][]byte) {
	t.Helper()
	text := repositoryFile(t, "docs/workers.md")
	block := regexp.MustCompile("(?s)```transcript\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("docs/workers.md has no transcript")
	}
	for line := range bytes.Lines(block[1]) {
		name, line := "worker-command", bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("<")):
			name = "worker-reply"
		case found["worker-assignment"] == nil:
			name = "worker-assignment"
		}
		found[name] = append(found[name], line[2:])
	}
}

// campaign adds the files of a small campaign.
func (d *folder) campaign(found map[string][][]byte) {
	d.t.Helper()
	for unit := range 5 {
		found["unit"] = append(found["unit"], d.torture(0, "part", "--plan", "plan.json", "--unit", fmt.Sprint(unit)))
		d.write(fmt.Sprintf("unit-%d.json", unit), string(found["unit"][unit]))
	}
	d.torture(0, "merge", "--plan", "plan.json", "--partial", "sum.json", "unit-0.json", "unit-1.json")
	report := d.torture(1, "merge", "--plan", "plan.json", "--json", "sum.json", "unit-2.json", "unit-3.json", "unit-4.json")
	found["sum"], found["report"] = [][]byte{d.read("sum.json")}, [][]byte{report}
	var r campaign.Report
	store, err := failures.Open(filepath.Join(d.dir, "failures"))
	if err == nil {
		err = json.Unmarshal(report, &r)
	}
	if err == nil {
		_, err = store.Record(&r, failures.Meta{Began: time.Unix(0, 0)})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	found["night"] = [][]byte{d.read(d.glob("failures/nights/*.json")[0])}
}

func repositoryFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// documented is the line of JSON that a page of docs shows.
func documented(t *testing.T, page string) []byte {
	t.Helper()
	text := repositoryFile(t, "docs/"+page)
	line := regexp.MustCompile("```json\n(.*)\n```").FindSubmatch(text)
	if line == nil {
		t.Fatalf("%s shows no line of JSON", page)
	}
	return line[1]
}

// folder is where the commands run.
type folder struct {
	t   *testing.T
	dir string
}

func (d *folder) torture(status int, args ...string) []byte {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), asTorture+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != status {
		d.t.Fatalf("torture %v: %v, want status %d\n%s", args, err, status, &errs)
	}
	return out.Bytes()
}

func (d *folder) read(name string) []byte {
	d.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(d.dir, name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return text
}

func (d *folder) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

func (d *folder) lines(name string) (lines [][]byte) {
	d.t.Helper()
	for line := range bytes.Lines(d.read(name)) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func (d *folder) glob(pattern string) []string {
	d.t.Helper()
	found, err := filepath.Glob(filepath.Join(d.dir, pattern))
	if err != nil || len(found) == 0 {
		d.t.Fatalf("no %s: %v", pattern, err)
	}
	return found
}
