package zktorture_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// packaging are the files around the code.
func packaging(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{
		".github/*.md", ".github/*/*.yml", ".goreleaser.yaml", "*.md", "docs/*.md", "Makefile", "campaign/deploy/Containerfile*",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, name := range names {
			files[filepath.ToSlash(name)] = testkit.File(t, name)
		}
	}
	return files
}

// An action is named by the hash of a commit, which nobody can move, and by the same one everywhere.
func TestActionsArePinned(t *testing.T) {
	pinned := map[string]string{}
	uses := regexp.MustCompile(`(?m)^\s*(?:- )?uses: +(\S+)@(.*)$`)
	for name, content := range packaging(t) {
		for _, use := range uses.FindAllStringSubmatch(content, -1) {
			action, version := use[1], use[2]
			if !regexp.MustCompile(`^[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(version) {
				t.Errorf("%s uses %s@%s: name a commit, with its version in a comment", name, action, version)
			}
			if other, seen := pinned[action]; seen && other != version {
				t.Errorf("%s uses %s@%s, and others %s", name, action, version, other)
			}
			pinned[action] = version
		}
	}
	if len(pinned) < 4 {
		t.Errorf("only %d actions were found", len(pinned))
	}
}

// A base image is named by its digest, which nobody can move.
func TestImagesArePinned(t *testing.T) {
	from := regexp.MustCompile(`(?m)^FROM +(\S+)`)
	pinned := regexp.MustCompile(`^docker\.io/library/golang:1\.\d+\.\d+@sha256:[0-9a-f]{64}$`)
	for name, content := range packaging(t) {
		if !strings.HasPrefix(name, "campaign/deploy/Containerfile") {
			continue
		}
		for _, image := range from.FindAllStringSubmatch(content, -1) {
			if image[1] != "scratch" && !pinned.MatchString(image[1]) {
				t.Errorf("%s is made from %s, which may be another image tomorrow", name, image[1])
			}
		}
	}
}

// A workflow may read, a job of it what it says beside, and what it checks out has no token that code could take.
func TestWorkflowsHaveFewRights(t *testing.T) {
	rights := regexp.MustCompile(`(?m)^permissions:( \{\}|\n  contents: read)\n\n`)
	for name, content := range packaging(t) {
		if !strings.HasPrefix(name, ".github/workflows/") {
			continue
		}
		if !rights.MatchString(content) {
			t.Errorf("%s: its permissions are neither none nor contents: read", name)
		}
		if checkouts := strings.Count(content, "actions/checkout@"); checkouts != strings.Count(content, "persist-credentials: false") {
			t.Errorf("%s: not each checkout has persist-credentials: false", name)
		}
	}
}

// All modules of this repository get pull requests with updates.
func TestAllModulesAreUpdated(t *testing.T) {
	bot := testkit.File(t, ".github/dependabot.yml")
	for _, nested := range append(nestedModules(t), module) {
		folder := "/" + strings.TrimPrefix(nested, module)
		if !strings.Contains(bot, `"`+folder+`"`) {
			t.Errorf(".github/dependabot.yml does not list %s", folder)
		}
	}
}

// What a release has programs for is what make cross builds.
func TestReleasesHaveCrossBuilds(t *testing.T) {
	list := func(what, content, pattern string) []string {
		match := regexp.MustCompile(pattern).FindStringSubmatch(content)
		if match == nil {
			t.Fatalf("%s is missing", what)
		}
		return strings.FieldsFunc(match[1], func(r rune) bool { return r == ' ' || r == ',' })
	}
	config := testkit.File(t, ".goreleaser.yaml")
	want := list("TARGETS in Makefile", testkit.File(t, "Makefile"), `(?m)^TARGETS := (.*)$`)
	var is []string
	for _, system := range list("goos", config, `goos: \[(.*)\]`) {
		for _, processor := range list("goarch", config, `goarch: \[(.*)\]`) {
			is = append(is, system+"/"+processor)
		}
	}
	if !slices.Equal(is, want) || len(is) == 0 {
		t.Errorf("releases are for %v, and make cross builds %v", is, want)
	}
	for _, key := range []string{"goos:", "goarch:", "flags: [-trimpath", `ldflags: ["-s -w -X main.version=v{{ .Version }}"]`,
		`mod_timestamp: "{{ .CommitTimestamp }}"`} {
		if builds := strings.Count(config, "\n    binary: "); strings.Count(config, "    "+key) != builds || builds != 3 {
			t.Errorf("%d builds, of which not each has %s once", builds, key)
		}
	}
}

// What the files around the code tell people to run, and link to, is there.
func TestPackagingNamesWhatIsThere(t *testing.T) {
	makefile := testkit.File(t, "Makefile")
	target := regexp.MustCompile("(?m)(?:`|run: |- )make ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)")
	link := regexp.MustCompile(`\]\(([^)#:]+)[^):]*\)`)
	for name, content := range packaging(t) {
		for _, named := range target.FindAllStringSubmatch(content, -1) {
			for one := range strings.FieldsSeq(named[1]) {
				if strings.HasSuffix(one, "-") { // as in bug-ID
					one += "%"
				}
				if !strings.Contains(makefile, "\n"+one+":") {
					t.Errorf("%s: make %s: there is no such target", name, one)
				}
			}
		}
		for _, to := range link.FindAllStringSubmatch(content, -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), to[1])); strings.HasSuffix(name, ".md") && err != nil {
				t.Errorf("%s links to %s: %v", name, to[1], err)
			}
		}
	}
}

// A change log has what is not released first, and then versions, the newest first, each with a date.
func TestChangelog(t *testing.T) {
	headings := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(testkit.File(t, "CHANGELOG.md"), -1)
	if len(headings) == 0 || headings[0][1] != "[Unreleased]" {
		t.Fatalf("it begins with %v", headings)
	}
	for _, heading := range headings[1:] {
		if !regexp.MustCompile(`^\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d$`).MatchString(heading[1]) {
			t.Errorf("%q is no version with a date, as in [0.1.0] - 2030-01-31", heading[1])
		}
	}
}
