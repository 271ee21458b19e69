package failures_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/failures"
	"github.com/zktorture/zktorture/sim"
)

var update = flag.Bool("update", false, "rewrite testdata")

// A week of a store: what each night says, and which files there are at the end. Texts are of 100 columns.
func TestWeek(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	lock, queue := counterexample("ours", waits, 1), counterexample("it's theirs", waits, 2)
	left := counterexample("ours", "orphan", 4)
	animal := job("published/WriteLock, bugs: W1")
	animal.Job.Animal = "W1"
	animal = finds(animal, "lost-wakeup-0a1b2c3d", 40, counterexample(animal.Job.Recipe, waits, 3))
	missing := animal
	missing.Verdict, missing.Failures = sim.VerdictOK, nil
	search := job("ours")
	search.Job.Strategy, search.Job.AtMost = sim.Exhaustive, 1
	last := report(finds(job("ours"), "lost-wakeup-0a1b2c3d", 1, lock), animal)
	last.Unknown = map[int]string{1: "the process was out of memory, three times"}
	var out strings.Builder
	for i, r := range []*campaign.Report{
		report(job("ours"), animal),
		report(finds(job("ours"), "lost-wakeup-0a1b2c3d", 12, lock), animal),
		again(report(finds(job("ours"), "lost-wakeup-0a1b2c3d", 9, lock),
			finds(job("it's theirs"), "lost-wakeup-0a1b2c3d", 3, queue), finds(search, "orphan-11111111", 1, left), animal),
			"lost-wakeup-0a1b2c3d", lock, breaks),
		again(report(job("ours"), job("it's theirs"), missing), "lost-wakeup-0a1b2c3d", lock, stops),
		again(again(report(job("ours"), job("it's theirs"), animal), "lost-wakeup-0a1b2c3d", lock, stops),
			"lost-wakeup-0a1b2c3d", queue, stops),
		report(animal),
		last,
	} {
		fmt.Fprintln(&out, record(t, s, i, r).Text(100))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, filepath.ToSlash(rel))
	}
	content, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "\n%s", content)
	compareFile(t, "testdata/week.txt", out.String())
}

func compareFile(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs (go test ./campaign/failures -update rewrites it):\n%s", name, diff)
	}
}

// only is the one file that matches a pattern.
func only(t *testing.T, pattern ...string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v matches %v, error %v", pattern, files, err)
	}
	return files[0]
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What cannot count is named with a cure, and left alone; the rest counts.
func TestFilesThatDoNotCount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	c := counterexample("ours", waits, 1)
	found := report(finds(job("ours"), "w-1", 10, c))
	record(t, s, 0, found)
	night, example := only(t, dir, "nights", "*.json"), only(t, dir, "counterexamples", "*.json")
	whole, err := os.ReadFile(night)
	if err != nil {
		t.Fatal(err)
	}
	record(t, s, 1, found)
	older := strings.Replace(string(whole), "zktorture night 1", "zktorture night 0", 1)
	wholeExample, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, file, content string
		want                string
		nights              int
	}{
		{"nothing", "", "", "", 2},
		{"a night cut off", night, string(whole[:len(whole)/2]), "is damaged, and this night does not count", 1},
		{"an older night", failures.NightNamed(dir, older), older,
			`its format is "zktorture night 0", and this version reads "zktorture night 1"`, 2},
		{"no night", failures.NightNamed(dir, "[]"), "[]", "is not a night of a campaign: json", 2},
		{"another's file", filepath.Join(dir, "nights", "README"), "hello", "is not of this store", 2},
		{"a hidden file", filepath.Join(dir, "nights", ".gitkeep"), "", "", 2},
		{"a write cut off", night + ".0000.tmp", "{", "was not written to its end", 2},
		{"the same campaign", failures.NightNamed(dir, strings.Replace(string(whole), "c0ffee0", "deadbeef", 1)),
			strings.Replace(string(whole), "c0ffee0", "deadbeef", 1), "is the same campaign, and says otherwise", 2},
		{"a counterexample cut off", example, "{", "is damaged, and cannot be run again", 2},
		{"another's counterexample", filepath.Join(dir, "counterexamples", "lock.json"), "{}", "is not of this store", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.file != "" {
				write(t, tt.file, tt.content)
				defer func() { // as it was
					os.Remove(tt.file)
					write(t, night, string(whole))
					write(t, example, string(wholeExample))
				}()
			}
			n, err := s.Last()
			if err != nil {
				t.Fatal(err)
			}
			if n.Nights != tt.nights || states(n)["w-1"] == "" {
				t.Errorf("%d nights count, want %d; failures %v", n.Nights, tt.nights, states(n))
			}
			problems := strings.Join(n.Problems, "\n")
			if (tt.want == "") != (problems == "") || !strings.Contains(problems, tt.want) || len(n.Problems) > 1 {
				t.Errorf("problems %q, want one with %q", problems, tt.want)
			}
			named := strings.Contains(problems, filepath.Base(tt.file)) && strings.Contains(n.Text(0), "\n"+problems+"\n")
			if tt.want != "" && !named {
				t.Errorf("%s is not named: %q\n%s", tt.file, problems, n.Text(0))
			}
			if left, err := os.ReadFile(cmp.Or(tt.file, night)); err != nil || tt.file != "" && string(left) != tt.content {
				t.Errorf("the file has become %q, error %v", left, err)
			}
		})
	}
}

// A folder that is called like a night is none.
func TestFolderThatIsNoNight(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	record(t, s, 0, report(job("ours")))
	if err := os.Mkdir(failures.NightNamed(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Last(); err != nil || n.Nights != 1 || len(n.Problems) != 1 {
		t.Errorf("%+v, error %v", n, err)
	}
}

// A campaign is known by the second in which it began, wherever that was.
func TestNightIsOneCampaign(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, began := range []time.Time{first, first.In(time.FixedZone("there", 3600)), first.Add(999 * time.Millisecond)} {
		n, err := s.Record(report(job("ours")), failures.Meta{Began: began})
		if err != nil || n.Nights != 1 || !n.Began.Equal(first) {
			t.Errorf("%v: %+v, error %v", began, n, err)
		}
		only(t, dir, "nights", "*")
	}
}

// A counterexample that is not there is told, by the night and where it would be run again; recording it again brings
// it back.
func TestCounterexampleThatIsMissing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	c := counterexample("ours", waits, 1)
	found := report(finds(finds(job("ours"), "w-1", 10, c), "w-2", 10, c)) // both are told, once
	record(t, s, 0, found)
	example := only(t, dir, "counterexamples", "*.json")
	for _, damage := range []func() error{
		func() error { return os.Remove(example) },
		func() error { return os.WriteFile(example, []byte("{"), 0o644) },
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		n, err := s.Last()
		if err != nil || !n.Failures[0].Recipes[0].Missing || len(n.Problems) != 1 {
			t.Errorf("%+v, error %v", n, err)
		}
		suite, err := s.Known(0)
		if err != nil || len(suite.Known) != 0 || len(suite.Problems) != 1 ||
			!strings.Contains(suite.Problems[0], filepath.Base(example)) {
			t.Errorf("%+v, error %v", suite, err)
		}
		if n = record(t, s, 0, found); n.Failures[0].Recipes[0].Missing || len(n.Problems) > 0 || n.Nights != 1 {
			t.Errorf("recorded again: %+v", n)
		}
	}
}

// The store is made by the first night; what cannot be a store, or a night, is refused.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "not", "there"))
	if n, err := s.Last(); n != nil || err != nil {
		t.Errorf("of no store: %v, error %v", n, err)
	}
	if suite, err := s.Known(0); err != nil || len(suite.Known) > 0 {
		t.Errorf("of no store: %v, error %v", suite, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "not")); err == nil {
		t.Error("to read a store makes it")
	}
	write(t, filepath.Join(dir, "file"), "")
	if _, err := failures.Open(filepath.Join(dir, "file")); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("a file as store: error %v", err)
	}
	record(t, s, 0, report(job("ours")))
	for name, call := range map[string]func() error{
		"needs the time": func() error { _, err := s.Record(report(), failures.Meta{}); return err },
		"needs the plan": func() error { _, err := s.Record(&campaign.Report{}, meta(0)); return err },
		"of 0 known failures, and its plan has 1": func() error {
			r := again(report(), "w-1", counterexample("ours", waits, 1), stops)
			r.Again = nil
			_, err := s.Record(r, meta(0))
			return err
		},
		"is the same campaign, and says otherwise": func() error {
			_, err := s.Record(report(job("theirs")), meta(0))
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
	if n, err := s.Last(); err != nil || n.Nights != 1 {
		t.Errorf("what was refused was recorded: %+v, error %v", n, err)
	}
	another := report(job("ours"))
	another.Digest = "d2"
	record(t, s, 0, another)
	if n, err := s.Last(); err != nil || n.Nights != 2 || len(n.Problems) > 0 {
		t.Errorf("another campaign that began in the same second: %+v, error %v", n, err)
	}
}

// recipes are those of known failures, with what their choices begin with.
func recipes(suite *failures.Suite) (list []string) {
	for _, k := range suite.Known {
		list = append(list, fmt.Sprintf("%s %d", k.Counterexample.Recipe, k.Counterexample.Choices[0]))
	}
	return list
}

// Each failure of each recipe is there before any is twice, what is gone comes last, and the first counterexample
// stays.
func TestKnown(t *testing.T) {
	s := open(t, t.TempDir())
	of := func(recipe, id string, number int) campaign.JobReport {
		return finds(job(recipe), id, 10, counterexample(recipe, waits, number))
	}
	lost := counterexample("gone", waits, 1)
	record(t, s, 0, report(finds(job("gone"), "w-1", 10, lost), of("ours", "w-1", 2), of("theirs", "w-1", 3)))
	record(t, s, 1, again(report(of("ours", "w-1", 4), of("theirs", "w-2", 5), job("gone")), "w-1", lost, stops))
	record(t, s, 2, report(of("ours", "w-1", 6)))
	n := record(t, s, 3, report(of("ours", "w-1", 7)))
	if states(n)["w-1 gone"] != failures.Gone {
		t.Fatal(states(n))
	}
	all := []string{"ours 7", "theirs 5", "theirs 3", "gone 1", "ours 2", "ours 6"}
	for limit, want := range map[int][]string{0: all, 100: all, 6: all, 5: all[:5], 1: all[:1]} {
		suite, err := s.Known(limit)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, recipes(suite)); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
		left := "(w-1 in lock (ours)): 3 others of the same failure"
		if len(suite.Left) != 7-len(want) || !strings.Contains(strings.Join(suite.Left, "\n"), left) {
			t.Errorf("limit %d: left out are %q", limit, suite.Left)
		}
	}
}

// A counterexample is the same after it went through the store, and through a report as JSON.
func TestCounterexampleStaysTheSame(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	found := report(finds(job("ours"), "w-1", 10, counterexample("ours", waits, 1)))
	record(t, s, 0, found)
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	found = &campaign.Report{}
	if err := json.Unmarshal(text, found); err != nil {
		t.Fatal(err)
	}
	record(t, s, 1, found)
	only(t, dir, "counterexamples", "*")
	suite, err := s.Known(0)
	if err != nil {
		t.Fatal(err)
	}
	n := record(t, s, 2, again(report(), "w-1", suite.Known[0].Counterexample, stops))
	if states(n)["w-1"] != failures.Changed {
		t.Errorf("the counterexample that was run again is not known as the one that was found: %s", n.Failures[0].Reason)
	}
}

// The command that finds a failure again says all that matters of its job.
func TestCommands(t *testing.T) {
	const same = " --seed 7 --faults loss,expiry --clients 3 --ops 4"
	for _, tt := range []struct {
		change func(j *campaign.JobReport)
		want   string
	}{
		{func(j *campaign.JobReport) {}, "run lock --recipe ours --strategy mix" + same + " --episodes 1000"},
		{func(j *campaign.JobReport) { j.Job.Recipe, j.Job.Exact, j.Episodes = "it's 5", true, 50 },
			`run lock --recipe 'it'\''s 5' --strategy mix` + same + " --episodes 50 --exact"},
		{func(j *campaign.JobReport) { j.Job.Wire = true },
			"run lock --recipe ours --strategy mix" + same + " --episodes 1000 --wire"},
		{func(j *campaign.JobReport) { j.Job.Strategy, j.Job.AtMost, j.Job.Plain = sim.Exhaustive, 2, true },
			"prove lock --recipe ours" + same + " --at-most 2 --plain"},
		{func(j *campaign.JobReport) { j.Job.Animal = "W5" }, "zoo W5 --seed 7"},
		{func(j *campaign.JobReport) { j.Job.Animal, j.Job.Exact = "G1", true }, "zoo G1 --seed 7 --exact"},
	} {
		j := job("ours")
		tt.change(&j)
		m := meta(0)
		m.Program = "go run ./mine"
		n, err := open(t, t.TempDir()).Record(report(finds(j, "w-1", 1, counterexample("ours", waits, 1))), m)
		if err != nil {
			t.Fatal(err)
		}
		r := n.Failures[0].Recipes[0]
		if diff := gocmp.Diff("go run ./mine "+tt.want, r.Command); diff != "" {
			t.Error(diff)
		}
		if want := "go run ./mine replay " + r.Counterexample; r.Replay != want {
			t.Errorf("it is replayed by %s, want %s", r.Replay, want)
		}
	}
}
