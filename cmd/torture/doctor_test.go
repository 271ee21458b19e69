package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
)

// diagnosed runs torture doctor --json.
func diagnosed(t *testing.T, want int) map[string]about.Diagnosis {
	t.Helper()
	status, stdout, stderr := command(t, "doctor", "--json")
	var all about.Diagnoses
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || status != want || stderr != "" {
		t.Fatalf("exit status %d, want %d: %v\n%s%s", status, want, err, stdout, stderr)
	}
	byName := map[string]about.Diagnosis{}
	for _, d := range all.Probes {
		byName[d.Name] = d
		if d.OK && (d.Found == "" || d.Problem+d.Get != "") || !d.OK && (d.Problem == "" || d.Without == "" || d.Get == "") {
			t.Errorf("this says too little, or too much: %+v", d)
		}
	}
	if len(byName) != len(about.Probes) {
		t.Errorf("%d probes, and %d diagnoses", len(about.Probes), len(byName))
	}
	return byName
}

// What is missing is said with what does not work and how to get it. The exit status is 0 as long as the simulator runs.
func TestDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	found := diagnosed(t, console.ExitOK)
	for _, name := range []string{"simulator", "temporary folder", "this folder", "loopback", "Go"} {
		if !found[name].OK {
			t.Errorf("this test runs without %s: %+v", name, found[name])
		}
	}
	for name, value := range map[string]string{"PATH": "", "CC": "", "JAVA_HOME": "", "CHROMIUM": "", "ZOOKEEPER_HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	found = diagnosed(t, console.ExitOK)
	for _, name := range []string{"Go", "C compiler", "Java", "ZooKeeper", "kazoo", "Chromium"} {
		if found[name].OK {
			t.Errorf("%s is found where nothing is: %+v", name, found[name])
		}
	}
	_, text, _ := command(t, "doctor")
	for _, line := range []string{"\nok       simulator ", "\nmissing  Java                ",
		"\n                             without it: go test -race\n                             to get it:  apt-get install gcc\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

func TestDoctorWithoutWhatIsNeeded(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	t.Setenv("TMP", os.Getenv("TMPDIR"))
	if d := diagnosed(t, console.ExitUnknown)["temporary folder"]; d.OK || !d.Needed {
		t.Errorf("%+v", d)
	}
	if _, text, _ := command(t, "doctor"); !strings.Contains(text, "\nneeded   temporary folder ") {
		t.Errorf("it is not said to be needed:\n%s", text)
	}
}

func TestDoctorKnowsTheVersionOfGo(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(repository(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(strings.Split(string(mod), "\n"), func(line string) bool {
		return line == "go "+about.GoNeeded || strings.HasPrefix(line, "go "+about.GoNeeded+".")
	}) {
		t.Errorf("go.mod does not need Go %s", about.GoNeeded)
	}
}
