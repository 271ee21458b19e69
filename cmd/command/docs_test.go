package command

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// TestDocs keeps README.md and every page below docs/ true. A comment on the line before a fenced block says what the block is:
//
//	<!-- file: NAME -->     a file; .go files form a module example.com/mylock that uses this one; may be followed by
//	                        ; import: A B    what a .go file imports, and the document does not show
//	<!-- from: PATH -->     lines of a file of this repository, which the document's folder gets as well; may be followed
//	                        by ; show: A .. B, see below
//	<!-- step: N NAME -->   the same for a file of the tutorial's lock after its step N
//	<!-- step: N -->        the patch of step N, which patch -p1 applies in the folder
//	<!-- patch -->          a diff of such files, for git apply
//	<!-- shell -->          lines for a shell, which must succeed; may set variables: shell: NAME=VALUE
//	<!-- run: COMMAND -->   a command and what it prints; it is run here and must print the same,
//	                        but for times. COMMAND begins with torture, or go run ./cmd/torture, or
//	                        go test, or go run; it may begin with NAME=VALUE before that, and be followed by
//	                        ; show: A .. B    only the lines from the first that matches A to the
//	                                          next that matches B; the rest is shown as …
//
// The blocks of a document run in order, in one folder. Only README.md runs what it shows, unless ZKTORTURE_DOCS=all has all documents
// do so. With -update the output of commands is pasted into the documents.
func TestDocs(t *testing.T) {
	root := repository(t)
	names, err := testkit.Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range names {
		t.Run(name, func(t *testing.T) { checkDocument(t, root, bin, filepath.Join(root, name)) })
	}
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// block is a comment and the fenced block after it.
var block = regexp.MustCompile("(?m)^<!-- (file|from|step|patch|shell|run)(?:: (.*?))? -->\n```([a-z]*)\n((?:.*\n)*?)```$")

// allPages reports whether what pages show is run, and not that of README.md alone.
func allPages() bool { return os.Getenv("ZKTORTURE_DOCS") == "all" }

func checkDocument(t *testing.T, root, bin, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &document{t: t, root: root, bin: bin, dir: t.TempDir(), runs: allPages() || filepath.Base(name) == "README.md"}
	d.module()
	t.Chdir(d.dir)
	out := block.ReplaceAllFunc(text, func(match []byte) []byte {
		m := block.FindSubmatch(match)
		kind, what, language, body := string(m[1]), string(m[2]), string(m[3]), string(m[4])
		comment := match[:bytes.IndexByte(match, '\n')+1]
		return fmt.Appendf(nil, "%s```%s\n%s```", comment, language, d.carryOut(kind, what, body))
	})
	if n, m := bytes.Count(text, []byte("<!-- run:")), d.ran; n != m {
		t.Errorf("%d comments say run, but %d blocks follow one", n, m)
	}
	if *update && !bytes.Equal(out, text) {
		if err := os.WriteFile(name, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// document is a document under test.
type document struct {
	t    *testing.T
	root string // of the repository
	bin  string // has the commands of this repository that were needed so far
	dir  string
	runs bool // its commands
	ran  int
	env  []string // of the command that is run
}

// module makes the folder a module that uses this one, with the same dependencies.
func (d *document) module() {
	mod := d.read(filepath.Join(d.root, "go.mod"))
	_, mod, _ = strings.Cut(mod, "\n")
	mod += "\nrequire github.com/zktorture/zktorture v0.0.0\nreplace github.com/zktorture/zktorture => " + strconv.Quote(d.root) + "\n"
	d.write("go.mod", "module example.com/mylock\n"+mod)
	d.write("go.sum", d.read(filepath.Join(d.root, "go.sum")))
}

func (d *document) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *document) write(name, text string) {
	d.t.Helper()
	name = filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// carryOut executes a block and returns what it should contain.
func (d *document) carryOut(kind, what, body string) string {
	switch kind {
	case "file":
		name, imports, _ := strings.Cut(what, "; import: ")
		d.write(name, importing(strings.Fields(imports))+body)
		return body
	case "from":
		return d.hold(what, d.fromFile(what), body)
	case "step":
		return d.hold("step "+what, d.step(what), body)
	case "run":
		d.ran++
	}
	if !d.runs {
		return body
	}
	switch kind {
	case "patch":
		d.write("block.diff", body)
		d.tool("git", "apply", "--recount", "block.diff")
		return body
	case "shell":
		d.install("cmd", "torture", "./torture")
		shell := exec.Command("sh", "-e", "-c", body)
		shell.Env = append(os.Environ(), strings.Fields(what)...)
		if out, err := shell.CombinedOutput(); err != nil {
			d.t.Errorf("%s%v\n%s", body, err, out)
		}
		return body
	}
	what, show, _ := strings.Cut(what, "; show: ")
	out := atOnce.ReplaceAllString(d.output(strings.Fields(what)), "")
	out = strings.NewReplacer(d.dir, "/home/me/mylock", d.root, "/home/me/zktorture").Replace(out)
	want := "$ " + what + "\n" + d.excerpt(out, show)
	if diff := cmp.Diff(timeless(want), timeless(body)); diff != "" && !*update {
		d.t.Errorf("%s prints something else (-is, +document); -update pastes it:\n%s", what, diff)
	}
	return want
}

// importing is what a Go file that imports something begins with.
func importing(what []string) (text string) {
	if len(what) == 0 {
		return ""
	}
	for _, path := range what {
		text += fmt.Sprintf("\t%q\n", path)
	}
	return "package mylock\n\nimport (\n" + text + ")\n\n"
}

// output runs a command, before which environment variables may be set, and returns its output.
func (d *document) output(args []string) string {
	for d.env = nil; strings.Contains(args[0], "="); args = args[1:] {
		d.env = append(d.env, args[0])
	}
	self := "torture"
	if strings.HasPrefix(strings.Join(args, " "), "go run ./cmd/torture ") {
		args, self = args[2:], "go run github.com/zktorture/zktorture/cmd/torture"
	}
	switch {
	case args[0] == "torture" || args[0] == "./cmd/torture":
		if line := strings.Join(args, " "); args[1] == "run" && !strings.Contains(line, "--shrink-time") {
			args = append(slices.Clone(args), "--shrink-time=0s") // what is shown is minimal
		}
		var out bytes.Buffer
		run(d.t.Context(), args[1:], console.Streams{Stdout: &out, Stderr: &out, Self: self})
		return out.String()
	case args[0] == "go" && (args[1] == "test" || args[1] == "run"):
		return d.tool(args[0], args[1:]...)
	}
	d.t.Errorf("it is not known how to run %q", args)
	return ""
}

// install puts the commands of this repository into the path, of which it builds one unless that is there. Those of other
// modules need the checkout's workspace.
func (d *document) install(module, name, command string) {
	d.t.Helper()
	first := d.bin + string(filepath.ListSeparator)
	if path := os.Getenv("PATH"); !strings.HasPrefix(path, first) {
		d.t.Setenv("PATH", first+path)
	}
	if _, err := exec.LookPath(filepath.Join(d.bin, name)); err == nil {
		return
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", d.bin+string(filepath.Separator), command)
	build.Dir = filepath.Join(d.root, module)
	if build.Env = os.Environ(); module != "." {
		build.Env = append(build.Env, "GOWORK=")
	}
	if out, err := build.CombinedOutput(); err != nil {
		d.t.Fatalf("%v\n%s", err, out)
	}
}

// tool runs a program. It may fail, as a test in an example may, but it must exist.
func (d *document) tool(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod -vet=off", "GOWORK=off", "GITHUB_ACTIONS="), d.env...)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || name == "git") {
		d.t.Errorf("%s %s: %v %v\n%s", name, strings.Join(args, " "), err, exit, out)
	}
	return string(out)
}

// excerpt cuts the lines from one that matches A to the next that matches B out of a command's output.
func (d *document) excerpt(out, show string) string {
	from, to, ok := strings.Cut(show, " .. ")
	if show == "" {
		return out
	}
	begin, end := regexp.MustCompile(from), regexp.MustCompile(to)
	var kept []string
	for line := range strings.Lines(out) {
		if len(kept) > 0 || begin.MatchString(line) {
			kept = append(kept, line)
		}
		if len(kept) > 0 && end.MatchString(strings.TrimRight(line, "\n")) {
			return dots(!strings.HasPrefix(out, kept[0])) + strings.Join(kept, "") + dots(!strings.HasSuffix(out, line))
		}
	}
	d.t.Errorf("no lines %q (%v) in\n%s", show, ok, out)
	return out
}

func dots(some bool) string {
	if some {
		return "…\n"
	}
	return ""
}

// atOnce are lines about violations as they are found, which depends on the machine.
var atOnce = regexp.MustCompile(`(?m)^found: .*\n(  .*\n)*`)

var times = regexp.MustCompile(` +\d[\d.m]*s  |\b(in|after) \d[\d.]*(ms|s|µs)\b|\b\d+ (episodes/s|further episodes)|\t\d[\d.]*s\n|` +
	`\b(digest|program|SHA-256) [0-9a-f]{12}|\bgo1\.\d+\.\d+|\b\d{4}-\d\d-\d\d( \d\d:\d\d UTC)?|` +
	`\(\d[\d.]*(ms|s|µs)\)|\bpanic\.go:\d+|"(elapsed_s|episodes_per_s)":[\d.e+-]+`)

// timeless replaces durations, dates, positions in Go's source, and what differs from build to build.
func timeless(s string) string { return times.ReplaceAllString(s, "…") }
