package stories_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/zoo"
)

// recorded are what was found of the known bugs, a line each: the id, the mechanism that is told, and the choices.
const recorded = "testdata/found.txt"

// helpPage is what is said about each known bug, to be read.
const helpPage = "../../results/help.md"

// again is the story of a known bug by recorded choices.
func again(t *testing.T, a zoo.KnownBug, choices string) *story.Story {
	t.Helper()
	w := a.Broken()
	cfg := sim.Config{NoFaultsAtAll: true, Clients: a.Clients, Faults: a.Faults()}
	found := sim.Found{}
	found.Property = a.Property
	for of := range strings.FieldsSeq(choices) {
		n, err := strconv.Atoi(of)
		if err != nil {
			t.Fatal(err)
		}
		found.Choices = append(found.Choices, n)
	}
	c, err := cfg.Counterexample(sim.Result{Workload: w.Name(), Recipe: w.Recipe()}, found)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Replay(w, c)
	if err != nil || r.Violation == nil || r.Violation.Property != a.Property {
		t.Fatalf("%s: it broke nothing, or something else: %v, %+v; go test ./zoo/stories -run Help -update records it anew", a.ID, err, r)
	}
	c.Trace, c.Hash = replay.Lines(r.Trace), digest.Hex(r.Hash)
	s, err := story.Brief(w, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHelp: each known bug is told by the mechanism that it is known for, so with the help that is right for it, or with none.
func TestHelp(t *testing.T) {
	testkit.ManyWorlds(t)
	if *update {
		record(t)
	}
	data, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		t.Run(parts[0], func(t *testing.T) {
			bugs, err := zoo.Find(parts[:1])
			if err != nil {
				t.Fatal(err)
			}
			s := again(t, bugs[0], parts[2])
			if s.Cause == nil || string(s.Cause.Mechanism) != parts[1] {
				t.Errorf("it is told as %+v, want %q:\n%s", s.Cause, parts[1], s.Text(story.TextOptions{Brief: true}))
			}
			if (s.Help == nil) != (parts[1] == "") {
				t.Errorf("the help against %q is %+v", parts[1], s.Help)
			}
		})
	}
}

// record hunts all known bugs, and writes what is found of them and the page to be read.
func record(t *testing.T) {
	t.Helper()
	var lines, page strings.Builder
	helped, all := 0, 0
	for _, a := range zoo.KnownBugs() {
		a, c := caught(t, a.ID)
		s, err := story.Brief(a.Broken(), c)
		if err != nil {
			t.Fatal(err)
		}
		choices, err := json.Marshal(c.Choices)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\t%s\t%s\n", a.ID, s.Cause.Mechanism, strings.NewReplacer("[", "", "]", "", ",", " ").Replace(string(choices)))
		if all++; s.Help != nil {
			helped++
		}
		tellHelp(&page, a, s)
	}
	head := fmt.Sprintf(helpHead, helped, all)
	for name, text := range map[string]string{recorded: lines.String(), helpPage: head + page.String()} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const helpHead = `# What is said about each known bug

A story says what broke, why, where in the code, and what helps; of the last three only what the run shows. Of %d of %d known bugs a help is given.
The rules that choose it are in [story/rules.go](../story/rules.go). This page is written by

    go test ./zoo/stories -run Help -update

which also records the runs that TestHelp tells again. Lines of code are of the request by which the client knew, and of the one that decides.

| known bug | what is wrong | told as | why | lines | help |
|---|---|---|---|---|---|
`

// tellHelp writes the row of a known bug.
func tellHelp(page *strings.Builder, a zoo.KnownBug, s *story.Story) {
	help := "–"
	if s.Help != nil {
		help = s.Help.Text
	}
	var lines []string
	for _, i := range []int{s.Cause.Read, s.Cause.Event} {
		if i >= 0 && s.Events[i].Code != "" {
			lines = append(lines, strings.TrimPrefix(s.Events[i].Code, "zoo/published/"))
		}
	}
	row := []string{a.ID + " " + a.Property, a.Title, string(s.Cause.Mechanism), s.Cause.Text, strings.Join(slices.Compact(lines), ", "), help}
	for _, cell := range row {
		fmt.Fprintf(page, "| %s ", strings.ReplaceAll(cell, "|", `\|`))
	}
	page.WriteString("|\n")
}
