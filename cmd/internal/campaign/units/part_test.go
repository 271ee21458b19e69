package units_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/command"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

var update = flag.Bool("update", false, "paste what came out into the scripts")

// TestMain lets this program be torture-campaign, with a recipe that prints.
func TestMain(m *testing.M) {
	main := func() { command.Main(chattyKind()) }
	if len(os.Args) > 1 && (os.Args[1] == "part" || os.Args[1] == "merge") {
		main()
	}
	testscript.Main(m, map[string]func(){"torture-campaign": main})
}

// TestScripts runs testdata/script. Beside testscript's commands there is "status N command…", which runs a command that
// must end with exit status N.
func TestScripts(t *testing.T) {
	status := func(ts *testscript.TestScript, _ bool, args []string) {
		got, exit := 0, new(exec.ExitError)
		if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
			got = exit.ExitCode()
		}
		if args[0] != fmt.Sprint(got) {
			ts.Fatalf("exit status %d, want %s", got, args[0])
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

// chattyKind is a recipe that prints to standard output, by what was there when the program began and by what is there
// now.
func chattyKind() *workload.Kind {
	before := os.Stdout
	return &workload.Kind{Name: "lock", Recipes: []workload.Entry{{Recipe: "chatty", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			fmt.Fprintln(before, "a new lock")
			fmt.Println(`{"a": "new lock"}`)
			return recipes.NewLock(c, path)
		}, workload.Named("chatty"))
	}}}}
}

// planFile writes a plan into a file of a fresh folder, without a canary.
func planFile(t *testing.T, fields string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.json")
	text := fmt.Sprintf(`{"format": %q, "name": "test", "canary": "none", %s}`, campaign.PlanFormat, fields)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// partProcessOf is torture-campaign part as a process of its own.
func partProcessOf(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), self, append([]string{"part"}, args...)...)
}

// askedPart is torture-campaign part --serve in a process of its own.
type askedPart struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err bytes.Buffer
}

func startServing(t *testing.T, plan string) *askedPart {
	t.Helper()
	s := &askedPart{t: t, cmd: partProcessOf(t, "--plan", plan, "--serve")}
	var out io.Reader
	var err error
	if s.in, err = s.cmd.StdinPipe(); err == nil {
		out, err = s.cmd.StdoutPipe()
	}
	if s.cmd.Stderr = &s.err; err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewScanner(out)
	s.out.Buffer(nil, 1<<24)
	return s
}

// next returns the next line that it prints.
func (s *askedPart) next() (object map[string]any) {
	s.t.Helper()
	if !s.out.Scan() {
		s.t.Fatalf("it ended: %v, %s", s.out.Err(), s.err.String())
	}
	if err := json.Unmarshal(s.out.Bytes(), &object); err != nil {
		s.t.Fatalf("%v: %s", err, s.out.Text())
	}
	return object
}

func (s *askedPart) ask(question string) map[string]any {
	s.t.Helper()
	if _, err := io.WriteString(s.in, question+"\n"); err != nil {
		s.t.Fatal(err)
	}
	return s.next()
}

// end closes its standard input; it must end with this status.
func (s *askedPart) end(want int) {
	s.t.Helper()
	s.in.Close()
	for s.out.Scan() {
		s.t.Errorf("it prints more: %s", s.out.Text())
	}
	s.cmd.Wait()
	if status := s.cmd.ProcessState.ExitCode(); status != want {
		s.t.Errorf("exit status %d, not %d: %s", status, want, s.err.String())
	}
}

// A worker answers one question after the other, whatever recipes print and whoever presses Ctrl-C.
func TestServeUnits(t *testing.T) {
	s := startServing(t, planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["chatty"]}], "episodes": 6, "unit": 3`))
	if r := s.next(); r["ready"] != true || r["exact"] != false || r["system"] == "" || r["build"] == "" {
		t.Errorf("%v", r)
	}
	part := s.ask(`{"unit": 1}`)["part"].(map[string]any)
	if part["episodes"] != 3.0 {
		t.Errorf("%v", part)
	}
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	report := s.ask(`{"conclude": 0, "part": ` + string(text) + `}`)
	if report["episodes"] != 3.0 || report["verdict"] != "ok" {
		t.Errorf("%v", report)
	}
	for question, want := range map[string]string{
		`{"unit": 2}`:     "the plan has no unit 2: there are 2, from 0",
		`{"conclude": 0}`: `neither {"unit": N} nor`,
		`{"conclude": 9, "part": {"episodes": 0, "steps": 0, "operations": 0}}`: "the plan has no job 9",
	} {
		if answer := s.ask(question); !strings.Contains(fmt.Sprint(answer["error"]), want) {
			t.Errorf("%s: %v", question, answer)
		}
	}
	s.end(console.ExitOK)
	if n := strings.Count(s.err.String(), "a new lock"); n < 3 || n != strings.Count(s.err.String(), `{"a": "new lock"}`) {
		t.Errorf("the recipe printed %d times", n)
	}
}

// A worker that nobody asks any more ends, in the middle of a unit too.
func TestServeEndsWithItsParent(t *testing.T) {
	s := startServing(t, planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["chatty"]}],
		"duration": "1h", "unit": 1000000`))
	s.next()
	if _, err := io.WriteString(s.in, `{"unit": 0}`+"\n"); err != nil {
		t.Fatal(err)
	}
	s.end(console.ExitOK)
	s = startServing(t, planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["chatty"]}]`))
	s.next()
	if _, err := io.WriteString(s.in, "unit 0\n"); err != nil {
		t.Fatal(err)
	}
	s.end(console.ExitUnknown)
	if !strings.Contains(s.err.String(), "not a request as a line of JSON") {
		t.Error(s.err.String())
	}
}

// A unit's result is all that is on standard output, and goes to a file whole.
func TestPartPrintsItsResultAlone(t *testing.T) {
	plan := planFile(t, `"jobs": [{"kinds": ["lock"], "recipes": ["chatty"]}], "episodes": 2`)
	out, err := partProcessOf(t, "--plan", plan, "--unit", "0").Output()
	var r campaign.UnitResult
	if err != nil || json.Unmarshal(out, &r) != nil || r.Part.Episodes != 2 || r.Program == "" || r.Took <= 0 {
		t.Fatalf("%v: %s", err, out)
	}
	dir := t.TempDir()
	for _, name := range []string{dir, filepath.Join(dir, "one.json")} {
		if out, err := partProcessOf(t, "--plan", plan, "--unit", "0", "--out", name).Output(); err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
	}
	files, err := os.ReadDir(dir)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if err != nil || !slices.Equal(names, []string{"one.json", "unit-000000.json"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// A unit of an exact job is run by a build in exact mode, and merged by a command that is not.
func TestExactUnits(t *testing.T) {
	testkit.NeedExact(t)
	bin, dir := t.TempDir(), t.TempDir()
	const module = "github.com/zktorture/zktorture/"
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, module+"cmd/torture", module+"cmd/internal/campaign/torture-campaign")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(env, program string, args ...string) []byte {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), args...)
		cmd.Env, cmd.Stderr = append(os.Environ(), env), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return out
	}
	plan := planFile(t, `"jobs": [{"kinds": ["counter"], "exact": true, "faults": "cancel"}], "episodes": 60, "unit": 40`)
	for _, index := range []string{"0", "1"} {
		if out := run("JOB_COMPLETION_INDEX="+index, "torture-campaign", "part", "--plan", plan, "--out", dir); len(out) > 0 {
			t.Errorf("it prints %s", out)
		}
	}
	alone := strings.Fields("run counter --exact --json --episodes 60 --seed 1 --faults cancel")
	var s output.Summary
	if err := json.Unmarshal(run("GOMAXPROCS=2", "torture", alone...), &s); err != nil {
		t.Fatal(err)
	}
	var r campaign.Report
	if err := json.Unmarshal(run("GOMAXPROCS=2", "torture-campaign", "merge", "--plan", plan, "--json", dir), &r); err != nil {
		t.Fatal(err)
	}
	if j := r.Jobs[0]; j.Hash != s.Hash || j.Rerun.Episodes != 60 || j.Steps != s.Steps {
		t.Errorf("%+v\nalone: %+v", j, s)
	}
}
