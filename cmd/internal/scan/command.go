// Package scan is the command torture scan: it finds in a Go module what talks to ZooKeeper, writes a test of each, and
// runs them.
//
// What it cannot know it marks in the tests, and what a test of its own making cannot show is said to need a look: nobody is
// accused by a guess.
package scan

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"golang.org/x/tools/go/packages"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/story"
)

// Manual is what --help says of the command beside its flags.
var Manual = manual.Entry{
	Statuses: []manual.Status{
		{Code: console.ExitOK, Meaning: "No test has found anything."},
		{Code: console.ExitViolation, Meaning: "A property is broken."},
		{Code: console.ExitUnknown, Meaning: "Nothing was found that talks to ZooKeeper, or there was an error."},
	},
	Examples: []manual.Example{
		{Meaning: "Scan your module.", Line: "torture scan ./..."},
		{Meaning: "Scan somebody else's, which is not changed.", Line: "torture scan --out tried github.com/docker/libkv@v0.2.1"},
	},
}

type ScanCmd struct {
	Packages []string `arg:"" optional:"" help:"Packages of the module in this folder, or one MODULE@VERSION for --out. Default: ./..."`
	Out      string   `placeholder:"DIR" help:"A folder for a new module with the tests of MODULE@VERSION."`
	Write    bool     `help:"Have go.mod require zktorture. By default the tests are run with a copy that does."`
	Episodes int      `default:"500" range:"1.." help:"Run so many episodes of each test."`
	Seed     uint64   `default:"1" help:"Draw the episodes from this number."`
	JSON     bool     `name:"json" help:"Print the results as JSON."`
}

// fileName is the test file of a package.
const fileName = "zktorture_scan_test.go"

// Run executes the command.
func (s *ScanCmd) Run(c *console.Context) error {
	temp, err := os.MkdirTemp("", "torture-scan-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	m, patterns, err := s.module(c, temp)
	if err != nil {
		return err
	}
	all, err := m.load(c, patterns)
	if err != nil {
		return err
	}
	for _, p := range all {
		for _, e := range p.Errors {
			fmt.Fprintf(c.Stderr, "%s: %v\n", p.PkgPath, e)
		}
	}
	results, err := s.tests(c, m, read(all), temp)
	if err != nil {
		return err
	}
	slices.SortStableFunc(results, func(a, b result) int { return a.rank() - b.rank() })
	return s.print(c, results)
}

// module is where the tests are to be, and the packages to scan.
func (s *ScanCmd) module(c *console.Context, temp string) (*module, []string, error) {
	if s.Out == "" {
		if slices.ContainsFunc(s.Packages, func(p string) bool { return strings.Contains(p, "@") }) {
			return nil, nil, errors.New("MODULE@VERSION needs a folder for its tests: name one by --out")
		}
		if len(s.Packages) == 0 {
			s.Packages = []string{"./..."}
		}
		dir, err := os.Getwd()
		if err != nil {
			return nil, nil, err
		}
		m, err := own(c, dir, temp, s.Write)
		return m, s.Packages, err
	}
	if len(s.Packages) != 1 || !strings.Contains(s.Packages[0], "@") {
		return nil, nil, errors.New("--out takes one MODULE@VERSION: leave it out to scan the module in this folder")
	}
	dir, err := filepath.Abs(s.Out)
	if err != nil {
		return nil, nil, err
	}
	m, err := other(c, dir, s.Packages[0])
	name, _, _ := strings.Cut(s.Packages[0], "@")
	return m, []string{name + "/..."}, err
}

// foundIn is a package with what was found in it.
type foundIn struct {
	pkg     *packages.Package
	within  *types.Package // that the test is in; nil: it is outside
	dir     string         // of the test
	targets []*target
}

// sees reports whether a test can name an object: it is exported, and its package can be imported.
func (p *foundIn) sees(o types.Object) bool {
	if f, is := o.(*types.Func); is && f.Signature().Recv() != nil {
		if receiver := named(f.Signature().Recv().Type()); receiver == nil || !receiver.Exported() && !types.IsInterface(receiver.Type()) {
			return false
		}
	}
	hidden := o.Pkg().Name() == "main" || p.within == nil && strings.Contains("/"+o.Pkg().Path()+"/", "/internal/")
	return o.Exported() && (o.Pkg() == p.within || !hidden)
}

// file is the test file, unwritten.
func (p *foundIn) file(s *sources) *file {
	name := "scan_test"
	if p.within != nil {
		name = p.pkg.Name
	}
	f := fileOf(name, p.within)
	for _, g := range p.targets {
		f.add(s, g, p.sees)
	}
	return f
}

// find looks for targets in each package, and chooses how to make them.
func (m *module) find(s *sources) (all []*foundIn) {
	for _, p := range s.packages {
		in := &foundIn{pkg: p, within: p.Types, dir: filepath.Dir(p.GoFiles[0])}
		if m.out {
			in.within, in.dir = nil, filepath.Join(m.dir, filepath.FromSlash(p.PkgPath))
		}
		in.targets = best(s.targets(p, in.sees), func(g *target) int {
			copied := *g
			if f := (&foundIn{p, in.within, in.dir, []*target{&copied}}).file(s); len(f.tests) > 0 {
				return len(f.tests[0].Unknown)
			}
			return 1000 // nothing makes it
		})
		all = append(all, in)
	}
	return all
}

// tests writes, compiles and runs the tests of each package. Those that fail alone are tried in other ways.
func (s *ScanCmd) tests(c *console.Context, m *module, sources *sources, temp string) (results []result, err error) {
	for _, in := range m.find(sources) {
		name := filepath.Join(in.dir, fileName)
		_, missing := os.Stat(name)
		fresh, err := s.file(c, m, in.file(sources), in.dir, temp, func(*test) bool { return true })
		for err == nil && missing != nil {
			tried := in.otherwise(fresh)
			if len(tried) == 0 {
				break
			}
			for _, t := range tried { // what the former test has left is not the next one's
				err = errors.Join(err, os.RemoveAll(filepath.Join(in.dir, "testdata", "zktorture", t+"_alone")))
			}
			if err = errors.Join(err, os.Remove(name)); err == nil {
				var more []result
				more, err = s.file(c, m, in.file(sources), in.dir, temp, func(t *test) bool { return slices.Contains(tried, t.Name) })
				fresh = append(slices.DeleteFunc(fresh, func(r result) bool { return slices.Contains(tried, r.Test) }), more...)
			}
		}
		if err != nil {
			return nil, err
		}
		results = append(results, fresh...)
	}
	return results, nil
}

// otherwise has the targets whose tests fail alone be tested in another way: a path that the servers refuse is given as a
// key; what misses a znode gets one at the path; then nothing is there. It returns the names of the tests.
func (p *foundIn) otherwise(results []result) (tests []string) {
	for _, r := range results {
		for _, g := range p.targets {
			switch refuses, missing := strings.Contains(r.Message, "invalid path"), strings.Contains(r.Message, zk.ErrNoNode.Error()); {
			case !r.alone || g.name() != r.Type || g.kind != r.Kind:
				continue
			case refuses && !g.bare:
				g.bare = true
			case missing && !g.present:
				g.present = true
			case !slices.Contains([]string{"service", "registry", "cache"}, g.kind) && !g.moved:
				g.moved, g.absent, g.present = true, !g.absent, false
			default:
				continue
			}
			tests = append(tests, r.Test)
		}
	}
	return tests
}

// file writes a file, unless there is one, compiles it and runs its tests. What the compiler refuses is taken out, and said.
func (s *ScanCmd) file(c *console.Context, m *module, f *file, dir, temp string, wanted func(*test) bool) (results []result, err error) {
	name, program := filepath.Join(dir, fileName), filepath.Join(temp, "tests")
	changed, missing := os.ReadFile(name)
	for range slices.Clone(f.tests) {
		text := changed
		if missing != nil {
			if text, err = f.text(); err != nil {
				return nil, fmt.Errorf("the test of %s: %w", dir, err)
			}
			if err := errors.Join(os.MkdirAll(dir, 0o755), wholefile.Write(name, text)); err != nil {
				return nil, err
			}
		}
		wrong, said, err := m.compile(c, dir, program)
		if err != nil {
			return nil, err
		}
		if said == "" {
			break
		}
		bad := f.blamed(text, wrong)
		if missing == nil || len(bad) == 0 {
			bad = slices.Clone(f.tests)
		}
		for _, t := range slices.DeleteFunc(slices.Clone(bad), func(t *test) bool { return !wanted(t) }) {
			results = append(results, t.result(refused, name, said))
		}
		f.tests = slices.DeleteFunc(f.tests, func(t *test) bool { return slices.Contains(bad, t) })
		if len(f.tests) == 0 && missing != nil {
			return results, os.Remove(name)
		}
	}
	for _, t := range slices.DeleteFunc(slices.Clone(f.tests), func(t *test) bool { return !wanted(t) }) {
		r := t.result(compiles, name, "")
		fmt.Fprintf(c.Stderr, "%s %s: %s\n", t.of.PkgPath, t.name(), t.kind)
		switch {
		case missing == nil && !strings.Contains(string(changed), "func "+t.Name+"("):
			r.Outcome, r.Message = look, "there is a "+fileName+" without this test, which is not changed: rename it to have it written anew"
		case missing != nil && t.apart:
			r.Outcome, r.Message = look, "the adapter needs a look: it could not be known what its users share, so it is not run"
		default:
			if err := r.run(c, missing != nil, dir, program, fmt.Sprintf("-zktorture.episodes=%d", s.Episodes), fmt.Sprintf("-zktorture.seed=%d", s.Seed)); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// result is a test's.
func (t *test) result(outcome, file, message string) result {
	return result{Package: t.of.PkgPath, Type: t.name(), Kind: t.kind, Creates: t.creates, File: file, Test: t.Name, Unknown: t.Unknown,
		Outcome: outcome, Message: message}
}

// blamed are the tests in whose lines of the file something is wrong.
func (f *file) blamed(text []byte, lines []int) (all []*test) {
	var now *test
	for i, line := range strings.Split(string(text), "\n") {
		for _, t := range f.tests {
			if strings.HasPrefix(line, "// "+t.Name+" ") {
				now = t
			}
		}
		if strings.HasPrefix(line, "// scanned ") || strings.HasPrefix(line, "// scanTest ") {
			now = nil
		}
		if now != nil && slices.Contains(lines, i+1) && !slices.Contains(all, now) {
			all = append(all, now)
		}
	}
	return all
}

// print prints the results, the worst first.
func (s *ScanCmd) print(c *console.Context, results []result) error {
	broken := slices.ContainsFunc(results, func(r result) bool { return r.Outcome == found })
	switch {
	case s.JSON:
		out := json.NewEncoder(c.Stdout)
		out.SetIndent("", "  ")
		if err := out.Encode(results); err != nil {
			return err
		}
	case len(results) == 0:
		fmt.Fprintln(c.Stdout, "nothing was found that talks to ZooKeeper and can be made")
	default:
		printText(c, results)
	}
	switch {
	case broken:
		return console.VerdictError(console.ExitViolation)
	case len(results) == 0:
		return console.VerdictError(console.ExitUnknown)
	}
	return nil
}

func printText(c *console.Context, results []result) {
	for _, r := range results {
		switch r.Outcome {
		case found:
			fmt.Fprintf(c.Stdout, "%s in %s.%s\n%s\n", r.Property, r.Package, r.Type, r.Story)
		case doubt:
			fmt.Fprintf(c.Stdout, "%s in %s.%s, in doubt: a lost reply alone does it, and no client dies. What promises at most once may do so.\n%s\n", r.Property, r.Package, r.Type, r.Story)
		default:
			continue
		}
		for _, a := range story.AllAdvice() {
			if slices.Contains(a.Properties, r.Property) {
				fmt.Fprintf(c.Stdout, "%s\n", console.Wrap("help: "+a.Meaning+": torture explain "+r.Property, console.Columns))
			}
		}
		fmt.Fprintln(c.Stdout)
	}
	fmt.Fprintf(c.Stdout, "%-9s %-9s %-16s %s\n", "outcome", "kind", "property", "type")
	for _, r := range results {
		fmt.Fprintf(c.Stdout, "%-9s %-9s %-16s %s.%s\n", r.Outcome, r.Kind, r.Property, r.Package, r.Type)
		if r.Outcome == look || r.Outcome == refused {
			first, _, _ := strings.Cut(r.Message, "\n")
			fmt.Fprintf(c.Stdout, "%10s%s (%s in %s)\n", "", first, r.Test, r.File)
		}
		for _, u := range r.Unknown {
			fmt.Fprintf(c.Stdout, "%10sTODO(scan): %s\n", "", u)
		}
	}
}
