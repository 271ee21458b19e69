package zktorture_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zktorture/zktorture/"

// mayImport says for each part of the module which other parts its packages may import. Imports point
// one way, so that the recipes can be used in production without the simulator, and each checker and
// each fake without the rest. What is not listed may import anything.
var mayImport = map[string]string{
	"recipes":          "",
	"recipes/zkclient": "",
	"recipes/cluster":  "recipes",
	"linearizability":  "",

	"fakezk/wire":     "internal/faultset",
	"fakezk":          "fakezk/wire internal/digest",
	"fakezk/goclient": "fakezk fakezk/goclient/parked fakezk/wire internal/digest",
	"fakezk/versions": "fakezk",
	"fakezk/protocol": "fakezk fakezk/wire",
	"fakezk/server":   "fakezk fakezk/protocol fakezk/wire internal/webpage",

	"sim/internal/bubble": "fakezk/goclient fakezk/goclient/parked internal/digest",
	"sim/internal/line":   "fakezk fakezk/protocol fakezk/wire",
	"sim/world":           "fakezk fakezk/goclient fakezk/protocol fakezk/wire sim/internal/bubble sim/internal/line internal",
	"sim/internal":        "fakezk fakezk/goclient fakezk/wire sim/internal/bubble sim/world internal",
	"sim/replay":          "fakezk sim/internal sim/internal/bubble sim/world internal",
	"story":               "fakezk fakezk/wire linearizability sim/replay sim/world internal",
	"sim":                 "fakezk sim/internal sim/internal/bubble sim/internal/checkout sim/replay sim/world story internal",
	"story/reading":       "story",
	"story/index":         "linearizability sim story internal",

	"workload":         "fakezk fakezk/goclient fakezk/wire linearizability recipes sim sim/world internal",
	"workload/cluster": "linearizability recipes recipes/cluster sim sim/world workload",
	"workload/service": "fakezk fakezk/wire linearizability recipes sim sim/world workload",

	"live/ensemble": "fakezk/wire recipes/zkclient",
	"live/worker":   "fakezk/goclient linearizability live/ensemble recipes recipes/zkclient sim/world workload workload/cluster internal",
	"live":          "fakezk/wire linearizability live/ensemble live/worker recipes sim sim/world workload internal/faultset",
	"live/confirm":  "fakezk/wire recipes recipes/zkclient sim sim/world workload",

	// Leaves that need nothing but the standard library:
	"fakezk/goclient/parked": "",
	"sim/internal/checkout":  "",
	"internal/cycle":         "",
	"internal/digest":        "",
	"internal/escape":        "",
	"internal/faultset":      "",
	"internal/resource":      "",
	"internal/webpage":       "",
	"internal/wholefile":     "",
}

// testsOnly are packages that tests of others import, and nothing else, and programs that only tests run.
var testsOnly = map[string]bool{"fakezk/fakezktest": true, "story/reworded": true}

func TestImportsPointOneWay(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Imports \" \"}}")) {
		words := strings.Fields(line)
		part := partOf(words[0])
		seen[part] = true
		allowed, guarded := mayImport[part]
		for _, other := range words[1:] {
			to := partOf(other)
			below, _, _ := strings.Cut(to, "/")
			if guarded && to != "" && to != part && !slices.Contains(strings.Fields(allowed), to) &&
				!(below == "internal" && slices.Contains(strings.Fields(allowed), below)) {
				t.Errorf("%s imports %s: %s may import %s only", words[0], other, part, allowed)
			}
		}
	}
	for part := range mayImport {
		if !seen[part] {
			t.Errorf("there is no %s any more", part)
		}
	}
}

// Package testing brings flags and a way to end the process: of what recipes in production are
// made of, nothing needs it.
func TestRecipesDoNotImportTesting(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Deps \" \"}}")) {
		words := strings.Fields(line)
		for _, dep := range words[1:] {
			if dep == "testing" && (partOf(words[0]) == "recipes" || partOf(words[0]) == "fakezk") {
				t.Errorf("%s imports %s", words[0], dep)
			}
		}
	}
}

// partOf returns the part of this module to which a package belongs: the longest path above it that
// is listed, or else its first folder; "" for other packages.
func partOf(path string) string {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	for at := rest; at != "."; at = filepath.Dir(at) {
		if _, listed := mayImport[at]; listed || testsOnly[at] {
			return at
		}
	}
	part, _, _ := strings.Cut(rest, "/")
	return part
}

func list(t *testing.T, format string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", format, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
