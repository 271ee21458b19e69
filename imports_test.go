package zktorture_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zktorture/zktorture/"

// mayImport says for folders of the module which others their packages may import. Imports point one way, so that the
// recipes can be used in production without the simulator, and each checker and each fake without the rest.
var mayImport = map[string]string{
	"recipes":         "internal",
	"linearizability": "",
	"fakezk":          "internal",
	"sim":             "fakezk story linearizability internal",
	"story":           "fakezk linearizability sim internal",
	"workload":        "fakezk linearizability recipes sim internal",
	"live":            "fakezk linearizability recipes sim workload internal",
}

func TestImportsPointOneWay(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Imports \" \"}}")) {
		words := strings.Fields(line)
		from := folder(words[0])
		allowed, guarded := mayImport[from]
		if !guarded || strings.Contains(words[0], "/conformance/") {
			continue
		}
		for _, other := range words[1:] {
			if to := folder(other); to != "" && to != from && !slices.Contains(strings.Fields(allowed), to) {
				t.Errorf("%s imports %s: %s may import %s only", words[0], other, from, allowed)
			}
		}
	}
}

// Package testing brings flags and a way to end the process: of what recipes in production are made of, nothing needs it.
func TestRecipesDoNotImportTesting(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Deps \" \"}}")) {
		words := strings.Fields(line)
		if folder(words[0]) == "recipes" && slices.Contains(words[1:], "testing") {
			t.Errorf("%s imports testing", words[0])
		}
	}
}

// folder is the folder of this module that a package is in; "" for other packages.
func folder(path string) string {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	first, _, _ := strings.Cut(rest, "/")
	return first
}

func list(t *testing.T, format string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", format, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
