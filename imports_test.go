// Package zktorture_test guards the shape of the module.
package zktorture_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zktorture/zktorture/"

// mayImport says for each part of the module which other parts its packages may import, directly
// or not. Imports point one way, so that the recipes can be used in production without the
// simulator, and each checker and each fake without the rest. What is not listed may import
// anything.
var mayImport = map[string]string{
	"recipes":         "recipes",
	"fakezk":          "fakezk internal/digest",
	"fakezk/protocol": "fakezk fakezk/protocol wire internal/digest",
	"fakezk/server":   "fakezk fakezk/protocol fakezk/server wire internal/digest internal/ownpages",
	"linearizability": "linearizability",
	"ensemble":        "ensemble wire zkclient",
	"zkclient":        "zkclient",
	"wire":            "wire",
	"sim":             "sim fakezk fakezk/protocol wire internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"story":           "story sim fakezk fakezk/protocol wire linearizability internal internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"zoo/published":   "zoo/published recipes",
	"workload":        "workload story sim fakezk fakezk/protocol wire recipes linearizability internal zoo/published internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"worker":          "worker workload story sim fakezk fakezk/protocol wire recipes linearizability internal zoo/published ensemble zkclient internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"zoo":             "zoo zoo/published live live/confirm worker workload story sim fakezk fakezk/protocol wire recipes linearizability internal ensemble zkclient internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"live":            "live worker workload story sim fakezk fakezk/protocol wire recipes linearizability internal zoo/published ensemble zkclient internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"live/confirm":    "live/confirm live worker workload story sim fakezk fakezk/protocol wire recipes linearizability internal zoo/published ensemble zkclient internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",
	"campaign":        "campaign zoo zoo/published live live/confirm worker workload story sim fakezk fakezk/protocol wire recipes linearizability internal ensemble zkclient internal/checkout internal/cputime internal/cycle internal/digest internal/shellword internal/wholefile",

	// Leaves that need nothing but the standard library:
	"internal/checkout":  "internal/checkout",
	"internal/cputime":   "internal/cputime",
	"internal/cycle":     "internal/cycle",
	"internal/digest":    "internal/digest",
	"internal/ownpages":  "internal/ownpages",
	"internal/shellword": "internal/shellword",
	"internal/wholefile": "internal/wholefile",
}

// testsOnly are packages that tests of others import, and nothing else.
var testsOnly = map[string]bool{"fakezk/fakezktest": true}

func TestImportsPointOneWay(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{join .Deps \" \"}}")) {
		words := strings.Fields(line)
		part := partOf(words[0])
		seen[part] = true
		allowed, guarded := mayImport[part]
		for _, dep := range words[1:] {
			if guarded && partOf(dep) != "" && !strings.Contains(" "+allowed+" ", " "+partOf(dep)+" ") {
				t.Errorf("%s imports %s: %s may import %s only", words[0], dep, part, allowed)
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

// partOf returns the part of this module to which a package belongs, which is its first folder if no other is listed;
// "" for other packages.
func partOf(path string) string {
	rest, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	if _, listed := mayImport[rest]; listed || testsOnly[rest] {
		return rest
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

// Every package says what it is for.
func TestPackagesAreDocumented(t *testing.T) {
	for line := range strings.Lines(list(t, "{{.ImportPath}} {{len .GoFiles}} {{.Doc}}")) {
		words := strings.Fields(line)
		if len(words) < 3 && words[1] != "0" {
			t.Errorf("%s has no package comment", words[0])
		}
	}
	for _, path := range []string{"ensemble", "linearizability", "sim", "story", "worker", "workload", "zkclient"} {
		if !hasExample(t, path) {
			t.Errorf("%s%s has no Example function: what its user writes first", module, path)
		}
	}
}

func hasExample(t *testing.T, path string) bool {
	t.Helper()
	tests, err := filepath.Glob(path + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tests, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte("\nfunc Example"))
	})
}

// Users of this module get what its go.mod requires. Developers' tools are in tools/go.mod.
func TestFewModulesAreRequired(t *testing.T) {
	const most = 32
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^(\t|require )\S+ v\d`).FindAll(mod, -1)
	if n := len(required); n == 0 || n > most {
		t.Errorf("go.mod requires %d modules, direct and indirect; at most %d are allowed", n, most)
	}
	if regexp.MustCompile(`(?m)^tool\b`).Match(mod) {
		t.Error("go.mod has tools: they belong in tools/go.mod")
	}
}

// Modules within this one, such as that of campaigns over many machines, bring dependencies that its users do not get.
func TestNestedModulesAreNotImported(t *testing.T) {
	nested := nestedModules(t)
	if !slices.Contains(nested, module+"torture-campaign") {
		t.Fatalf("torture-campaign is no module of its own: %v", nested)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	packages := list(t, "{{.ImportPath}} {{join .Deps \" \"}} {{join .TestImports \" \"}} {{join .XTestImports \" \"}}")
	for _, other := range nested {
		if bytes.Contains(mod, []byte(other)) {
			t.Errorf("go.mod names %s", other)
		}
		for line := range strings.Lines(packages) {
			words := strings.Fields(line)
			for _, dep := range words[1:] {
				if strings.HasPrefix(dep+"/", other+"/") {
					t.Errorf("%s imports %s", words[0], dep)
				}
			}
		}
	}
}

// nestedModules are the modules in folders of this one, by the paths that they would be imported by.
func nestedModules(t *testing.T) (found []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Name() == "go.mod" && path != "go.mod" {
			found = append(found, module+filepath.ToSlash(filepath.Dir(path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The command torture is made of these modules and of no others.
func TestTortureIsMadeOf(t *testing.T) {
	want := strings.Fields(`
		github.com/VividCortex/ewma
		github.com/alecthomas/kong
		github.com/anishathalye/porcupine
		github.com/beorn7/perks
		github.com/cespare/xxhash/v2
		github.com/cheggaaa/pb/v3
		github.com/clipperhouse/uax29/v2
		github.com/fatih/color
		github.com/go-zookeeper/zk
		github.com/mattn/go-colorable
		github.com/mattn/go-isatty
		github.com/mattn/go-runewidth
		github.com/munnerz/goautoneg
		github.com/prometheus/client_golang
		github.com/prometheus/client_model
		github.com/prometheus/common
		github.com/prometheus/procfs
		github.com/zktorture/zktorture
		go.yaml.in/yaml/v2
		golang.org/x/sync
		golang.org/x/sys
		golang.org/x/term
		golang.org/x/time
		google.golang.org/protobuf
		pgregory.net/rapid`)
	format := "{{with .Module}}{{.Path}}{{end}}"
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./cmd/torture")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	is := strings.Fields(string(out))
	slices.Sort(is)
	if is = slices.Compact(is); !slices.Equal(is, want) {
		t.Errorf("torture is made of\n%s\nand should be of\n%s", strings.Join(is, "\n"), strings.Join(want, "\n"))
	}
}

// A kind is judged by what its World knows, whichever it is: no file of package workload names one of the worlds.
func TestKindsNameNoRealServers(t *testing.T) {
	files := 0
	for name, source := range sources(t) {
		if filepath.Base(filepath.Dir(name)) != "workload" {
			continue
		}
		files++
		words := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToLower(source), "//", " ")), " ")
		if i := strings.Index(words, "real server"); i >= 0 {
			t.Errorf("%s names real servers: %q. Say what the world does not know", name, words[max(0, i-30):min(len(words), i+40)])
		}
	}
	if files < 20 {
		t.Errorf("only %d files were looked at", files)
	}
}

// sources are the module's files, without tests, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(list(t, `{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}`)) {
		if name := strings.TrimSpace(line); name != "" {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(source)
		}
	}
	return all
}

// Texts are made for people. What a program needs of one is in a field, so nothing scans values out of a text.
func TestNothingIsScannedOutOfTexts(t *testing.T) {
	all := sources(t)
	for name, source := range all {
		if strings.Contains(source, "fmt.Sscan") {
			t.Errorf("%s scans a text: have what it looks for in a field where the text is made", name)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d files were looked at", len(all))
	}
}
