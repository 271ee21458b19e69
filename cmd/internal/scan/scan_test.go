package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/tools/go/packages"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// styles writes the user's module of testdata/styles.txtar, and returns what is to be found in it.
func styles(t *testing.T) (dir, found string) {
	t.Helper()
	all, err := txtar.ParseFile("testdata/styles.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	mod := "module example.com/mine\n\ngo 1.26.0\n\nrequire github.com/go-zookeeper/zk v1.0.4\n"
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	all.Files = append(all.Files, txtar.File{Name: "go.mod", Data: []byte(mod)}, txtar.File{Name: "go.sum", Data: sum})
	dir = t.TempDir()
	if err := txtar.Write(all, dir); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	return dir, string(all.Files[0].Data)
}

// scan is the command's context, as a program has it that was built from this checkout.
func scan(t *testing.T, out io.Writer) *console.Context {
	main, err := filepath.Abs("../../torture/main.go")
	if err != nil {
		t.Fatal(err)
	}
	return &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: out, Stderr: io.Discard, MainFile: main}}
}

// What talks to ZooKeeper is found in each style, and nothing else. What is written compiles; go.mod and a file that is
// there are as they were.
func TestStylesAreFound(t *testing.T) {
	c := scan(t, io.Discard)
	dir, want := styles(t)
	mod, _ := os.ReadFile("go.mod")
	m, err := own(c, dir, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := m.load(c, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(all, func(p *packages.Package) bool { return p.Name == "plugged" }) {
		t.Error("a package that only lets others register themselves is read")
	}
	s := read(all)
	var got strings.Builder
	for _, in := range m.find(s) {
		f := in.file(s)
		for _, found := range f.tests {
			fmt.Fprintf(&got, "%s.%s %s", strings.TrimPrefix(found.of.PkgPath, "example.com/mine/"), found.name(), found.kind)
			if len(found.creates) > 0 {
				fmt.Fprintf(&got, ", creates %s", strings.Join(found.creates, ", "))
			}
			if len(found.Unknown) > 0 {
				fmt.Fprintf(&got, ": %s", strings.Join(found.Unknown, "; "))
			}
			got.WriteString("\n")
		}
		text, err := f.text()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("NewFake")) {
			t.Errorf("a double is tortured:\n%s", text)
		}
		if name := filepath.Join(in.dir, "written_scan_test.go"); len(f.tests) > 0 && in.pkg.Name != "there" {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if _, err := m.goCommand(c, os.Environ(), slices.Concat([]string{"vet"}, m.flags, []string{"./..."})...); err != nil {
		t.Error(err)
	}
	if now, _ := os.ReadFile("go.mod"); string(now) != string(mod) {
		t.Errorf("go.mod has changed:\n%s", now)
	}
}

// A lock that is broken is accused, with its property first; what is not known to be is not.
func TestScanExact(t *testing.T) {
	testkit.NeedExact(t)
	var out bytes.Buffer
	c := scan(t, &out)
	styles(t)
	there, _ := os.ReadFile(filepath.Join("there", fileName))
	packages := testkit.Sized([]string{"./listed", "./kept", "./there"}, []string{"./locked", "./counted", "./elected", "./kept", "./there", "./plain", "./guarded", "./delayed", "./listed", "./followed", "./handed", "./drawn", "./ruled"})
	s := &ScanCmd{Packages: packages, Episodes: 500, Seed: 1, JSON: true}
	if err := s.Run(c); err != console.VerdictError(console.ExitViolation) {
		t.Fatal(err, out.String())
	}
	var results []result
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{ // of several bugs that one is found which is drawn first
		"counted.Counter": "clean", "counted.Rooms": "clean", "counted.Semaphore": "found exclusion", "delayed.Queue": "doubt (lost|false-empty)",
		"delayed.Tickets": "found lost-update", "drawn.IDs": "found lost-update", "drawn.Once": "found done-again", "elected.Caller": "found belief",
		"elected.Election": "look", "followed.Config": "found deaf", "followed.Told": "found deaf", "guarded.Guarded": "found (exclusion|orphan)",
		"handed.Locks": "found (orphan|progress)", "kept.Lock": "look", "listed.Announcer": "found missing", "listed.Registry": "found missing",
		"locked.Lock": "(found orphan|look)", "ruled.Guard": "found (orphan|progress)", "ruled.RWLock": "found exclusion",
		"ruled.Timed": "found lost-wakeup", "there.Lock": "clean",
	}
	looked := func(name string) bool { return slices.Contains(packages, "./"+strings.SplitN(name, ".", 2)[0]) }
	maps.DeleteFunc(wanted, func(name, _ string) bool { return !looked(name) })
	stories := ""
	for _, r := range results {
		stories += r.Story
		name := filepath.Base(r.Package) + "." + r.Type
		got := strings.TrimSpace(r.Outcome + " " + r.Property)
		if want := wanted[name]; !regexp.MustCompile("^(" + want + ")$").MatchString(got) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		delete(wanted, name)
	}
	if len(wanted) > 0 || !slices.IsSortedFunc(results, func(a, b result) int { return a.rank() - b.rank() }) {
		t.Errorf("not the worst first, or without %v", wanted)
	}
	if t.Failed() {
		t.Log(out.String())
	}
	for line, of := range map[string]string{
		"callbacks.go:30, in (*Caller).Run": "elected.", "config.go:25, in Follow": "followed.", "registry.go:19, in (*Registry).Register": "listed.",
		"locks.go:22, in (*Locks).Lock": "handed.", "queue.go:34, in (*Queue).Take": "delayed.", "drawn.go:25, in (*IDs).Next": "drawn.",
		"drawn.go:42, in (*Once).Do": "drawn.", "acts on a stale read: exists done": "drawn.",
		"help: After a connection loss find out what the request did": "drawn.",
	} {
		if looked(of) && !strings.Contains(stories, line) {
			t.Errorf("no story tells of %s:\n%s", line, stories)
		}
	}
	if now, _ := os.ReadFile(filepath.Join("there", fileName)); string(now) != string(there) {
		t.Errorf("a file that was there has changed:\n%s", now)
	}
}

// What comes to no verdict says why.
func TestNoVerdict(t *testing.T) {
	r := result{Test: "TestScanX"}
	r.judge(false, "--- FAIL: TestScanX/alone (5.30s)\n    "+fileName+":58: service: unknown: no progress for 5s\n", filepath.Join(t.TempDir(), "TestScanX_"))
	if want := "no progress for 5s"; r.Outcome != look || !strings.HasSuffix(r.Message, want) {
		t.Errorf("%s: %q, want %q at its end", r.Outcome, r.Message, want)
	}
}

// A package that puts a program together is read if it is named, and else said to be left out.
func TestWidePackage(t *testing.T) {
	c := scan(t, io.Discard)
	var said bytes.Buffer
	c.Stderr = &said
	dir, _ := styles(t)
	text := "package wide\n\nimport (\n\t\"example.com/mine/locked\"\n"
	for n := range widest {
		text += fmt.Sprintf("\t\"example.com/mine/plain/of%d\"\n", n)
	}
	if err := errors.Join(os.Mkdir("wide", 0o755), os.WriteFile("wide/wide.go", []byte(text+")\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	m, err := own(c, dir, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]bool{"./...": false, "./wide": true, "example.com/mine/wide": true} {
		said.Reset()
		if _, err := m.load(c, []string{"./locked", pattern}); err != nil {
			t.Fatal(err)
		}
		if got := !strings.Contains(said.String(), "example.com/mine/wide is not read: it imports 61 packages"); got != want {
			t.Errorf("%s: %v, want %v: %s", pattern, got, want, said.String())
		}
	}
}

// A long story is shortened in its middle: its end says why, where and what helps.
func TestLongStory(t *testing.T) {
	lines := slices.Repeat([]string{"step"}, 3*longestStory)
	lines[0], lines[len(lines)-1] = "what", "why"
	text := told("    " + fileName + ":58: " + strings.Join(lines, "\n"))
	if got := strings.Split(text, "\n"); len(got) != longestStory+1 || !strings.HasSuffix(got[0], "what") || got[longestStory] != "why" {
		t.Errorf("%d lines from %q to %q", len(got), got[0], got[len(got)-1])
	}
}
