package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/zktorture/zktorture/cmd/internal/cli/exact"
	"github.com/zktorture/zktorture/live/ensemble/posix"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/reading"
)

// ofModule is the section of list that is about the user's code.
const ofModule = "module"

// simulator is the package whose users can be tested.
const simulator = "github.com/zktorture/zktorture/sim"

// tested is a package whose tests use the simulator.
type tested struct {
	Package         string   `json:"package" jsonschema:"its import path"`
	Dir             string   `json:"dir" jsonschema:"its folder"`
	Tests           []string `json:"tests"`
	Counterexamples []string `json:"counterexamples" jsonschema:"files, for explain and replay"`
}

// packages lists the packages of a module whose tests use the simulator.
func (s *server) packages(ctx context.Context, dir string) (all []tested, err error) {
	if dir, err = s.inside(cmp.Or(dir, ".")); err != nil {
		return nil, err
	}
	cmd := goCommand(ctx, dir, os.Environ(), "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles,TestImports,XTestImports", "./...")
	out, err := cmd.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return nil, fmt.Errorf("go list failed in %s: %s", dir, bytes.TrimSpace(failed.Stderr))
	} else if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir                                      string
			TestGoFiles, XTestGoFiles, TestImports, XTestImports []string
		}
		if err := decoder.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if !slices.Contains(append(p.TestImports, p.XTestImports...), simulator) {
			continue
		}
		if p.Dir, err = s.inside(p.Dir); err != nil {
			return nil, err
		}
		files, _ := filepath.Glob(filepath.Join(p.Dir, "testdata", "zktorture", "*", "*.json"))
		one := tested{Package: p.ImportPath, Dir: filepath.ToSlash(p.Dir), Tests: []string{}, Counterexamples: []string{}}
		for _, file := range files {
			one.Counterexamples = append(one.Counterexamples, filepath.ToSlash(file))
		}
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			one.Tests = append(one.Tests, testsOf(filepath.Join(p.Dir, file))...)
		}
		all = append(all, one)
	}
}

// testsOf lists the tests in a file, as far as it can be parsed.
func testsOf(file string) (names []string) {
	parsed, _ := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if parsed == nil {
		return nil
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

type testInput struct {
	Dir      string   `json:"dir,omitempty" jsonschema:"the folder of the module or package; default: that of the server"`
	Packages []string `json:"packages,omitempty" jsonschema:"as seen from dir, such as ./lock or ./...; default ./..."`
	Run      string   `json:"run,omitempty" jsonschema:"a regular expression of tests, as for go test -run; default: all"`
	Seed     uint64   `json:"seed,omitempty" jsonschema:"draw these episodes; only for packages whose tests use the simulator; default: others each time"`
	Episodes uint32   `json:"episodes,omitempty" jsonschema:"how many a test runs; only for such packages; default: what the test says, or 2000"`
	Faults   string   `json:"faults,omitempty" jsonschema:"what may strike; only for such packages; default: what the test says"`
	Exact    bool     `json:"exact,omitempty" jsonschema:"draw what the Go runtime decides, too, as torture test does: for code whose goroutines race"`
}

// outcome is what came of tests.
type outcome struct {
	Verdict sim.Verdict `json:"verdict" jsonschema:"ok: all passed; violation: see stories; unknown: they could not be built or failed otherwise, see output"`
	Stories []*told     `json:"stories" jsonschema:"of the properties that broke; their text is in output"`
	Output  string      `json:"output" jsonschema:"of go test -v, the end of it"`
}

func (s *server) test(ctx context.Context, req *mcp.CallToolRequest, in testInput) (_ *mcp.CallToolResult, out outcome, err error) {
	dir, err := s.inside(cmp.Or(in.Dir, "."))
	if err != nil {
		return nil, out, err
	}
	var flags []string
	if in.Run != "" {
		if _, err := regexp.Compile(in.Run); err != nil {
			return nil, out, fmt.Errorf("run: %w", err)
		}
		flags = append(flags, "-run="+in.Run)
	}
	for _, name := range in.Packages {
		if name != "." && !strings.HasPrefix(name, "./") || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, out, fmt.Errorf("package %q: name a folder below dir, such as ./... or ./lock", name)
		}
	}
	if flags = append(flags, in.Packages...); len(in.Packages) == 0 {
		flags = append(flags, "./...")
	}
	if in.Seed != 0 {
		flags = append(flags, "-zktorture.seed="+strconv.FormatUint(in.Seed, 10))
	}
	if in.Episodes != 0 {
		flags = append(flags, "-zktorture.episodes="+strconv.FormatUint(uint64(in.Episodes), 10))
	}
	if in.Faults != "" {
		flags = append(flags, "-zktorture.faults="+in.Faults)
	}
	seen, err := s.goTest(ctx, req, dir, in.Exact, flags...)
	if err != nil {
		return nil, out, err
	}
	out = outcome{Verdict: sim.VerdictUnknown, Stories: []*told{}, Output: seen.output}
	switch {
	case len(seen.stories) > 0:
		out.Verdict = sim.VerdictViolation
	case seen.passed:
		out.Verdict = sim.VerdictOK
	}
	for _, one := range seen.stories {
		t := tellStory(one, s.fileOf(ctx, dir, one), false)
		t.Text = ""
		out.Stories = append(out.Stories, t)
	}
	return nil, out, nil
}

// again is the command that runs a test's counterexample again.
var again = regexp.MustCompile(`^(?:go|torture) test (\S+) .*-zktorture\.replay=(\S+)$`)

// fileOf is the counterexample of a story that a test has told, as seen from the root.
func (s *server) fileOf(ctx context.Context, dir string, one *story.Story) string {
	for _, c := range one.Commands {
		m := again.FindStringSubmatch(c.Line)
		if m == nil {
			continue
		}
		folder, err := goCommand(ctx, dir, os.Environ(), "list", "-f={{.Dir}}", m[1]).Output()
		if err != nil {
			continue
		}
		if file, err := s.inside(filepath.Join(strings.TrimSpace(string(folder)), strings.Trim(m[2], "'"))); err == nil {
			return file
		}
	}
	return ""
}

// play runs the counterexample of a test again.
func (s *server) play(ctx context.Context, req *mcp.CallToolRequest, x example) (seen, error) {
	return s.goTest(ctx, req, cmp.Or(x.dir, "."), x.Exact, "-run="+pattern(x.test), ".",
		"-zktorture.replay="+filepath.Join(s.root, x.file))
}

// pattern matches the test that has a folder of that name: "_" may be one, the end of the test's name before a subtest's,
// or another character of that.
func pattern(folder string) string {
	parts := strings.Split(folder, "_")
	all := []string{"^" + folder + "$"}
	for i := 1; i < len(parts); i++ {
		all = append(all, "^"+strings.Join(parts[:i], "_")+"$/^"+strings.Join(parts[i:], ".")+"$")
	}
	return strings.Join(all, "|")
}

// seen is what a run of go test has shown.
type seen struct {
	passed  bool
	output  string
	stories []*story.Story
}

// goTest runs go test in a folder. The error is that it could not be run.
func (s *server) goTest(ctx context.Context, req *mcp.CallToolRequest, dir string, exactly bool, args ...string) (all seen, err error) {
	stories, err := os.MkdirTemp("", "torture-mcp")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(stories)
	env, flags := os.Environ(), []string{"test", "-v", "-count=1"}
	if exactly {
		build, err := exact.Prepare(ctx)
		if err != nil {
			return all, err
		}
		env, flags = build.Env, append(flags, "-vet=off", "-overlay="+build.Overlay, "-tags="+exact.Tag)
	}
	cmd := goCommand(ctx, dir, append(env, "ZKTORTURE_STORIES="+stories), append(flags, args...)...)
	out := &tail{tell: progress(ctx, req)}
	cmd.Stdout, cmd.Stderr = out, out
	out.tell("go test has begun in " + dir)
	err = cmd.Run()
	if ctx.Err() != nil {
		posix.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) // what the interrupt has left
		return all, ctx.Err()
	}
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		return all, fmt.Errorf("go test: %w", err)
	}
	all.passed, all.output = err == nil, out.String()
	all.stories, err = readStories(stories)
	return all, err
}

// readStories reads the stories that tests have written into a folder, by the commands that run them again.
func readStories(dir string) (all []*story.Story, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		one, err := reading.Read(file)
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("a story that a test has told: %w", err)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *story.Story) int {
		return strings.Compare(fmt.Sprint(a.Commands, a.Title), fmt.Sprint(b.Commands, b.Title))
	})
	return all, nil
}

// goCommand is a go command in a folder, which ends with all that it has started when the context does. It downloads
// nothing.
func goCommand(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(env, "GOPROXY=off")
	cmd.SysProcAttr, cmd.WaitDelay = posix.OwnGroup(), 5*time.Second
	cmd.Cancel = func() error {
		if posix.SignalGroup(cmd.Process.Pid, syscall.SIGINT) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	return cmd
}

// outputMax is how much of an output an agent is shown, in bytes.
const outputMax = 20_000

// tail keeps the end of an output, and tells of its lines.
type tail struct {
	kept []byte
	cut  bool
	tell func(string)
}

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if more := len(t.kept) - outputMax; more > 0 {
		t.kept, t.cut = slices.Clone(t.kept[more:]), true
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(string(p)), "\n"); line != "" {
		t.tell(line)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if t.cut {
		return "…" + strings.ToValidUTF8(string(t.kept), "")
	}
	return string(t.kept)
}
