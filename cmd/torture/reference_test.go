package main

import (
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// TestReference keeps docs/reference what the code says. With -update it is written anew.
func TestReference(t *testing.T) {
	app := model(t)
	files := map[string]string{
		"kinds.md": kindsPage(), "faults.md": faultsPage(),
		"strategies.md": strategiesPage(), "zoo.md": zooPage(), "packages.md": packagesPage(t),
	}
	pages, err := manual.Pages(app, cli.Manual)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		files[p.File()+".md"] = p.Markdown()
	}
	for name, text := range files {
		files[name] = testkit.Notice + text
	}
	files["index.md"] = testkit.Notice + indexPage(pages)
	testkit.Generated(t, filepath.Join(repository(t), "docs", "reference"), files, *update, "torture.md", "torture-[^c]*.md",
		"torture-c[^a]*.md")
}

func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := cli.Parser(kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// Every flag and argument that the parser knows is on the page of its command.
func TestReferenceHasEveryFlag(t *testing.T) {
	app := model(t)
	dir := filepath.Join(repository(t), "docs", "reference")
	d := &document{t: t}
	flags := 0
	for _, node := range append(app.Leaves(true), app.Node) {
		page := d.read(filepath.Join(dir, strings.ReplaceAll(node.FullPath(), " ", "-")+".md"))
		for _, flag := range node.Flags {
			if flags++; !flag.Hidden && !strings.Contains(page, "\n### `--"+flag.Name+"`\n") {
				t.Errorf("the page of %s lacks --%s", node.FullPath(), flag.Name)
			}
		}
		for _, arg := range node.Positional {
			if !strings.Contains(page, "\n- `"+arg.Summary()+"`: ") {
				t.Errorf("the page of %s lacks %s", node.FullPath(), arg.Summary())
			}
		}
	}
	if flags < 100 {
		t.Errorf("only %d flags were looked at", flags)
	}
}

// Examples are command lines that the parser takes. In make pages those of what can be run here end as they say.
func TestExamplesOfTheManual(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, node := range model(t).Leaves(true) {
		for _, x := range cli.Manual[node.Path()].Examples {
			args := arguments(t, x.Line)
			parser, err := cli.Parser(kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
			if err != nil {
				t.Fatal(err)
			}
			if parsed, err := parser.Parse(args); err != nil || parsed.Command() == "" {
				t.Errorf("%s: %v", x.Line, err)
			}
			if x.Unrun || !allPages() {
				continue
			}
			if status, _, stderr := command(t, args...); status != x.Status {
				t.Errorf("%s: exit status %d, want %d: %s", x.Line, status, x.Status, stderr)
			}
		}
	}
}

// arguments are those of the command torture in a line, as a shell would take them.
func arguments(t *testing.T, line string) (args []string) {
	t.Helper()
	_, line, ok := strings.Cut(line, "torture ")
	line, _, _ = strings.Cut(strings.TrimSuffix(line, `)"`), " | ")
	if !ok {
		t.Fatalf("%s is no line of torture", line)
	}
	for _, word := range strings.Fields(line) {
		found, err := filepath.Glob(word)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			found = []string{word}
		}
		args = append(args, found...)
	}
	return args
}

var plain = manual.Prose(nil)

func indexPage(pages []manual.Page) string {
	var b strings.Builder
	b.WriteString("# Reference\n\nEvery command, name and file format. These pages are generated from the code.\n\n" +
		"## Commands\n\n| command | what it does |\n|---|---|\n")
	for _, p := range pages {
		help, _, _ := strings.Cut(p.Help, "\n")
		fmt.Fprintf(&b, "| [`%s`](%s.md) | %s |\n", p.FullPath(), p.File(), plain(help))
	}
	b.WriteString("| [`torture-campaign`](torture-campaign.md) | Runs campaigns: a plan of many recipes, on many machines. |\n\n" + `## Names

| page | what it lists |
|---|---|
| [Kinds and recipes](kinds.md) | what can be tortured, what each kind promises, and what a violation is of |
| [Faults](faults.md) | what may strike |
| [Strategies](strategies.md) | how episodes are chosen |
| [Zoo](zoo.md) | recipes that are known to be broken |

## Files and code

| page | what it has |
|---|---|
| [File formats](formats.md) | every file and JSON output, with its JSON Schema |
| [Control port](control.openapi.json) | requests and answers of [torture serve --control](../serve.md#in-any-language), in OpenAPI 3.1 |
| [Packages](packages.md) | the public Go packages |
`)
	return b.String()
}

func kindsPage() string {
	var b strings.Builder
	b.WriteString("# Kinds and recipes\n\nA kind is an object with an interface and promises, such as a lock. " +
		"A recipe implements it.\n`torture run KIND --recipe RECIPE` tortures one; " +
		"without `--recipe` it is the first of the list.\n\nA violation is of a property. It has the name of the promise that it breaks, " +
		"or one that stands in brackets behind it.\n")
	for _, kind := range workload.Kinds() {
		fmt.Fprintf(&b, "\n## %s\n\n| promise | what it means |\n|---|---|\n", kind.Name)
		notes := ""
		for _, p := range kind.Promises {
			if p.Name() == "" {
				notes += "\n" + plain(p.Help()) + "\n"
				continue
			}
			fmt.Fprintf(&b, "| %s | %s |\n", plain(p.Name()), plain(p.Help()))
		}
		b.WriteString(notes)
		b.WriteString("\n| recipe | what it is |\n|---|---|\n")
		for _, e := range kind.Recipes {
			fmt.Fprintf(&b, "| `%s` | %s |\n", e.Recipe, plain(e.Help))
		}
	}
	return b.String()
}

func faultsPage() string {
	var b strings.Builder
	b.WriteString("# Faults\n\n`--faults` takes names with commas between them, or one of the sets `all` and `none`. `all,-wrap` leaves a fault\n" +
		"out of what stands before it.\n\n" +
		"## In simulation\n\nThe set `all` has those up to `stall`.\n\n| fault | what happens | to clients of real servers |\n|---|---|---|\n")
	real := live.ClientFaults | live.ProcessFaults
	for f := range world.EveryFault.Each() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f, plain(f.Help()), yes(real.Has(strike.Fault(f.String()))))
	}
	b.WriteString("\n## Of real servers\n\nThese strike servers, of `torture live --serve` or `--start`.\n\n" +
		"| fault | what happens |\n|---|---|\n")
	for f := range live.ServerFaults.Each() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f, plain(f.Help()))
	}
	b.WriteString("\n## Of torture proxy and torture serve\n\nEach strikes at a request of a client of " +
		"[`torture proxy`](torture-proxy.md) or [`torture serve`](torture-serve.md).\n\n" +
		"| fault | what happens | torture proxy |\n|---|---|---|\n")
	proxied := strike.Faults(strike.OnProxy)
	for _, f := range strike.Faults(strike.OnServe) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f, plain(f.Help()), yes(slices.Contains(proxied, f)))
	}
	return b.String()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func strategiesPage() string {
	var b strings.Builder
	b.WriteString("# Strategies\n\n`--strategy` says how episodes are chosen. [`torture prove`](torture-prove.md) chooses none: it runs all.\n\n| strategy | what it does |\n|---|---|\n")
	for _, name := range about.Strategies() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, plain(sim.Strategies[name]))
	}
	return b.String()
}

// zooPage lists the known bugs of each kind, folded.
func zooPage() string {
	var b strings.Builder
	b.WriteString("# The zoo\n\nA known bug is a recipe that is known to be broken in one respect. Its fixed version is the same recipe " +
		"without that mistake.\n[`torture zoo`](torture-zoo.md) finds every known bug, and nothing wrong with its fixed version.\n")
	rows, exact := map[string][]string{}, []string{}
	for _, a := range slices.Concat(zoo.Animals(), zoo.Skipped()) {
		kind := a.Broken().Name()
		rows[kind] = append(rows[kind], fmt.Sprintf("| `%s` | %s | `%s` | %s | %s |\n", a.ID, plain(a.Title), a.Property, plain(a.Needs), plain(a.Source)))
		if a.Exact {
			exact = append(exact, "`"+a.ID+"`")
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&b, "\n<details><summary>%s: %s</summary>\n\n| id | what is wrong | what it breaks | faults it needs | published |\n"+
			"|---|---|---|---|---|\n%s\n</details>\n", kind, console.Count(len(rows[kind]), "known bug"), strings.Join(rows[kind], ""))
	}
	fmt.Fprintf(&b, "\n%s need [exact mode](../exact.md).\n", strings.Join(exact, ", "))
	return b.String()
}

// packagesPage lists the packages that others can import, and that are not made for tests of this project.
func packagesPage(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", "{{.ImportPath}}\t{{.Name}}\t{{.Doc}}", "./...")
	list.Dir = repository(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Packages\n\n`go get github.com/zktorture/zktorture`\n\n| package | what it is for |\n|---|---|\n")
	for line := range strings.Lines(string(out)) {
		parts := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		short := strings.TrimPrefix(parts[0], "github.com/zktorture/zktorture/")
		if parts[1] == "main" || short == parts[0] || !public(short) {
			continue
		}
		fmt.Fprintf(&b, "| [`%s`](https://pkg.go.dev/%s) | %s |\n", short, parts[0], synopsis(parts[1], parts[2]))
	}
	return b.String()
}

// synopsis is the first sentence about a package, without its name.
func synopsis(name, doc string) string {
	doc = strings.NewReplacer("[", "", "]", "").Replace(strings.TrimPrefix(doc, "Package "+name+" "))
	return plain(strings.TrimRight(doc, ".:"))
}

// public reports whether a package is part of what the project offers.
func public(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains("/"+path+"/", "/internal/") && !slices.Contains([]string{"cmd", "examples", "results", "docs"}, first)
}
