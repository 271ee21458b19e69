package zktorture_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

const (
	// readmeWords is how long README.md may be, counted as wc -w does: with code, links and comments.
	readmeWords = 900
	// proseWords is how much people may have to read: README.md and the pages that are written by hand, counted as wc -w
	// does, without fenced code and comments.
	proseWords = 45_000
)

func TestPagesAreShort(t *testing.T) {
	if n := len(strings.Fields(testkit.File(t, "README.md"))); n > readmeWords {
		t.Errorf("README.md has %d words; it may have %d: move something to a page below docs/", n, readmeWords)
	}
	prose := 0
	for name, text := range pages(t) {
		if name == "README.md" || strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/reference/") {
			prose += len(strings.Fields(fenced.ReplaceAllString(text, "")))
		}
	}
	if prose > proseWords {
		t.Errorf("the pages have %d words; they may have %d: what nobody needs goes, and a fact has one home", prose, proseWords)
	}
	if prose < proseWords/2 {
		t.Errorf("only %d words were counted", prose)
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$|<!--.*?-->")
	code    = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```$|<!--.*?-->|`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	link    = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]*)\)`)
	marked  = regexp.MustCompile(`(?s)\[[^\]]*\]\([^)]*\)|\*[^*]+\*`)
)

// pages are the documents by their names.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := testkit.Documents(".")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		all[name] = testkit.File(t, name)
	}
	return all
}

// anchor is the fragment by which GitHub links to a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

// terms are the headings of the third level of the glossary.
func terms(t *testing.T) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(testkit.File(t, "docs/glossary.md"), -1) {
		if m[1] == "###" {
			all = append(all, m[2])
		}
	}
	if len(all) == 0 {
		t.Fatal("the glossary has no terms")
	}
	return all
}

// TestTermsAreExplained checks that README.md explains a term of the glossary where it first uses it: by a link, or by a
// sentence that has the term in italics.
func TestTermsAreExplained(t *testing.T) {
	text := code.ReplaceAllString(testkit.File(t, "README.md"), "")
	explained := marked.FindAllStringIndex(text, -1)
	for _, term := range terms(t) {
		word := regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(term), " ", `\s+`) + `s?\b`)
		use := word.FindStringIndex(text)
		inside := func(span []int) bool { return span[0] <= use[0] && use[1] <= span[1] }
		if use != nil && !slices.ContainsFunc(explained, inside) {
			t.Errorf("README.md uses %q without a link or an explanation (*%s*): %q", term, strings.ToLower(term),
				text[max(0, use[0]-40):min(len(text), use[1]+40)])
		}
	}
}

// TestGlossaryIsLinked checks that another page leads to each term.
func TestGlossaryIsLinked(t *testing.T) {
	linked := map[string]bool{}
	for name, text := range pages(t) {
		for _, target := range targets(name, text) {
			linked[target] = linked[target] || name != "docs/glossary.md"
		}
	}
	for _, term := range terms(t) {
		if !linked["docs/glossary.md#"+anchor(term)] {
			t.Errorf("no page links to docs/glossary.md#%s", anchor(term))
		}
	}
}

// targets are what a page links to in this repository, as paths from its root.
func targets(name, text string) (all []string) {
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, "`code`"), -1) {
		file, fragment, _ := strings.Cut(m[2], "#")
		switch {
		case strings.Contains(file, "://"):
			continue
		case file == "":
			file = name
		default:
			file = path.Join(path.Dir(name), file)
		}
		if fragment != "" {
			file += "#" + fragment
		}
		all = append(all, file)
	}
	return all
}

// TestLinksResolve checks the links of all pages within this repository.
func TestLinksResolve(t *testing.T) {
	for name, text := range pages(t) {
		for _, target := range targets(name, text) {
			if err := resolve(t, target); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestTargetsAreThere checks that the Makefile has what pages tell to make.
func TestTargetsAreThere(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := testkit.Commands(".", "make")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	for _, c := range commands {
		for _, target := range c.Args {
			if named.MatchString(target) && !regexp.MustCompile(`(?m)^`+target+`:`).Match(makefile) {
				t.Errorf("%s shows %q, and the Makefile has no %s", c.Where, c.Line, target)
			}
		}
	}
	if len(commands) < 20 {
		t.Errorf("only %d were found", len(commands))
	}
}

func resolve(t *testing.T, target string) error {
	file, fragment, _ := strings.Cut(target, "#")
	if _, err := os.Stat(file); err != nil || fragment == "" || path.Ext(file) != ".md" {
		return err
	}
	for _, m := range heading.FindAllStringSubmatch(testkit.File(t, file), -1) {
		if anchor(m[2]) == fragment {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading for #%s", file, fragment)
}

var animal = regexp.MustCompile(`\b(W|L|LK|ZL|DQ|SP|P|B|Q|S|E|X|C|R|F|D|T|G|M)\d+\b`)

// TestCookbook checks that the index of the cookbook lists each page, that each page leads to the glossary and names
// published bugs, and that the zoo has them.
func TestCookbook(t *testing.T) {
	index := targets("docs/cookbook/index.md", testkit.File(t, "docs/cookbook/index.md"))
	for name, text := range pages(t) {
		if path.Dir(name) != "docs/cookbook" || path.Base(name) == "index.md" {
			continue
		}
		if !slices.Contains(index, name) {
			t.Errorf("docs/cookbook/index.md does not list %s", name)
		}
		if !slices.Contains(targets(name, text), "docs/glossary.md") {
			t.Errorf("%s does not link to the glossary", name)
		}
		_, published, _ := strings.Cut(text, "## Published recipes that had it")
		ids := animal.FindAllString(link.ReplaceAllString(published, ""), -1)
		if len(ids) == 0 {
			t.Errorf("%s names no published recipe that had the bug", name)
		}
		for _, id := range ids {
			if !strings.Contains(testkit.File(t, "zoo/animals.tsv"), "\n"+id+"\t") {
				t.Errorf("%s names %s, which the zoo does not have", name, id)
			}
		}
	}
}

var (
	results = regexp.MustCompile(`[\w/.]*results/[\w]+\.md`)
	figure  = regexp.MustCompile(`\b\d[\d,]*\d\d\b`)
)

// TestFiguresAreMeasured checks that figures beside a link to a file of results/ are in that file. A table's rows, and
// paragraphs, are looked at one by one.
func TestFiguresAreMeasured(t *testing.T) {
	checked := 0
	for _, name := range []string{"README.md", "docs/explanation/what-a-pass-proves.md", "docs/explanation/fidelity.md"} {
		for _, block := range regexp.MustCompile(`\n\n|\n\|`).Split(testkit.File(t, name), -1) {
			sources := results.FindAllString(block, -1)
			if len(sources) == 0 {
				continue
			}
			var measured string
			for _, source := range sources {
				measured += testkit.File(t, path.Join(path.Dir(name), source))
			}
			for _, n := range figure.FindAllString(link.ReplaceAllString(block, "$1"), -1) {
				checked++
				if !regexp.MustCompile(`\b` + regexp.QuoteMeta(n) + `\b`).MatchString(measured) {
					t.Errorf("%s: %s is not in %v", name, n, sources)
				}
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d figures were looked at", checked)
	}
}

var format = regexp.MustCompile(`"(zktorture [a-z]+ \d+)(?:\\n)?"`)

// TestFormatsAreListed checks that the page on compatibility names each format of a file, with its number.
func TestFormatsAreListed(t *testing.T) {
	text, seen := testkit.File(t, "docs/explanation/compatibility.md"), 0
	for file := range strings.SplitSeq(tracked("*.go"), "\n") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range format.FindAllStringSubmatch(testkit.File(t, file), -1) {
			seen++
			if !strings.Contains(text, "`"+m[1]+"`") {
				t.Errorf("docs/explanation/compatibility.md does not name the format %q of %s", m[1], file)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d formats were found in the code", seen)
	}
}

// TestGoVersionIsSaid checks that the pages which name the oldest version of Go name that of go.mod.
func TestGoVersionIsSaid(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(testkit.File(t, "go.mod"))[1]
	for _, name := range []string{"README.md", "docs/explanation/compatibility.md", "docs/tutorial/index.md"} {
		if !strings.Contains(testkit.File(t, name), "Go "+version+" or newer") {
			t.Errorf("%s does not say that Go %s or newer is needed, as go.mod does", name, version)
		}
	}
}

// A merge that was not finished leaves its marks.
func TestNoMergeIsUnfinished(t *testing.T) {
	mark := regexp.MustCompile(`(?m)^(<{7}|>{7}) `)
	for name, text := range pages(t) {
		if at := mark.FindStringIndex(text); at != nil {
			t.Errorf("%s has the mark of a merge: %s", name, text[at[0]:])
		}
	}
}
