package docs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/zoo"
)

// defect is a row of found.md.
type defect struct{ what, needs, where, by, real, reported string }

var (
	project     = regexp.MustCompile(`(?m)^## (.+) \(([^)]+)\)$`)
	byZoo       = regexp.MustCompile("^`(\\w+)`")
	byForeign   = regexp.MustCompile("`go -C zoo/foreign (run ./torture )?test -run (Test\\w+)/([\\w-]+)`")
	realServers = regexp.MustCompile(`^(no|the project|the project, by hand|mechanism(, \d of \d)?)$`)
)

// TestFound checks that each row of found.md names a known bug, or a test of an unmodified module, that needs the
// faults which the row names, and that the page and README.md count right.
func TestFound(t *testing.T) {
	var known string
	for _, name := range glob(t, "../zoo/foreign/*_test.go", "../zoo/foreign/known.tsv", "../zoo/foreign/recipes.go") {
		known += testkit.File(t, name)
	}
	confirmed := testkit.File(t, "../results/confirmed.md")
	text := testkit.File(t, "found.md")
	var languages []string
	rows, unreported, always, projects := 0, 0, 0, project.FindAllStringSubmatchIndex(text, -1)
	for i, at := range projects {
		end := len(text)
		if i+1 < len(projects) {
			end = projects[i+1][0]
		}
		languages = append(languages, text[at[4]:at[5]])
		all := defects(text[at[1]:end])
		if len(all) == 0 {
			t.Errorf("found.md: %s has no row", text[at[2]:at[3]])
		}
		for _, d := range all {
			rows++
			if d.reported == "—" {
				unreported++
			}
			if m := byZoo.FindStringSubmatch(d.by); m != nil && replays(m[1], confirmed) == "5 of 5" {
				always++
			}
			if err := d.check(known, confirmed); err != nil {
				t.Errorf("found.md: %s: %v", d.what, err)
			}
		}
	}
	slices.Sort(languages)
	languages = slices.Compact(languages)
	last := len(languages) - 1
	where := strings.Join(languages[:last], ", ") + " and " + languages[last]
	for counts, name := range map[string]string{
		fmt.Sprintf("the counterexamples of %d rows did in 5 of 5 replays", always): "found.md",
		fmt.Sprintf("finds %d defects in %d projects, in %s; of %d of them we know no report", rows,
			len(projects), where, unreported): "found.md",
		fmt.Sprintf("[%d defects in %d projects](docs/found.md), in %s languages", rows, len(projects),
			strings.Fields("no one two three four five six seven eight nine ten")[len(languages)]): "../README.md",
	} {
		if !strings.Contains(strings.Join(strings.Fields(testkit.File(t, name)), " "), counts) {
			t.Errorf("%s does not say %q", name, counts)
		}
	}
}

func glob(t *testing.T, patterns ...string) (names []string) {
	t.Helper()
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v %v", pattern, found, err)
		}
		names = append(names, found...)
	}
	return names
}

// defects are the rows of a table.
func defects(text string) (all []defect) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == 6 && !strings.Contains(line, "| found by |") {
			all = append(all, defect{strings.TrimSpace(cells[0]), cells[1], cells[2], cells[3], cells[4], strings.TrimSpace(cells[5])})
		}
	}
	return all
}

// replays says in how many replays results/confirmed.md confirms a known bug.
func replays(id, confirmed string) string {
	m := regexp.MustCompile(`(?m)^\| ` + id + ` \|.*\| confirmed (\d of \d)`).FindStringSubmatch(confirmed)
	if m == nil {
		return ""
	}
	return m[1]
}

// check returns why a row is wrong. known are package foreign's recipes and tests, and the table of what these find.
func (d defect) check(known, confirmed string) error {
	if !realServers.MatchString(d.real) {
		return fmt.Errorf("it says %q of real servers", d.real)
	}
	if m := byZoo.FindStringSubmatch(d.by); m != nil {
		animals, err := zoo.Find(m[1:])
		if err != nil || animals[0].Needs != d.needs {
			return fmt.Errorf("%s does not need %s: %v", m[1], d.needs, err)
		}
		told, found := strings.CutPrefix(d.real, "mechanism")
		if told = cmp.Or(strings.TrimPrefix(told, ", "), "5 of 5"); found && told != replays(m[1], confirmed) {
			return fmt.Errorf("results/confirmed.md does not confirm %s %s", m[1], told)
		}
		return nil
	}
	m := byForeign.FindStringSubmatch(d.by)
	if m == nil {
		return fmt.Errorf("no command finds it: %s", d.by)
	}
	row := regexp.MustCompile(`(?m)^\w+\t([\w-]+)\t` + m[3] + `\t` + d.needs + `\t[a-z]`).FindStringSubmatch(known)
	if !strings.Contains(known, "func "+m[2]+"(") || m[2] == "TestKnownDefectsAreFound" && row == nil {
		return fmt.Errorf("zoo/foreign has no test that finds it: %s", d.by)
	}
	if row != nil && (m[1] != "") != regexp.MustCompile(`Name: "`+row[1]+`".*Dials:`).MatchString(known) {
		return fmt.Errorf("it is found in exact mode if the recipe connects by itself, and else without: %s", d.by)
	}
	return nil
}
