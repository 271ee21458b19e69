package command

import (
	"bytes"
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/testkit"
)

var update = flag.Bool("update", false, "write this command's pages of docs/reference")

// quiet are the streams of a command that prints nothing.
var quiet = console.Streams{Stdout: io.Discard, Stderr: io.Discard}

func model() *kong.Application {
	return newParser(&cli{}, quiet, func(int) {}).Model
}

// TestReference keeps the pages of this command in docs/reference what the code says, and every flag on them. With
// -update they are written anew.
func TestReference(t *testing.T) {
	app := model()
	pages, err := manual.Pages(app, commands)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, p := range pages {
		files[p.File()+".md"] = testkit.Notice + p.Markdown()
	}
	for _, node := range append(app.Leaves(true), app.Node) {
		for _, flag := range node.Flags {
			page := files[strings.ReplaceAll(node.FullPath(), " ", "-")+".md"]
			if !flag.Hidden && !strings.Contains(page, "\n### `--"+flag.Name+"`\n") {
				t.Errorf("the page of %s lacks --%s", node.FullPath(), flag.Name)
			}
		}
	}
	testkit.Generated(t, filepath.Join("..", "..", "docs", "reference"), files, *update, "torture-campaign*.md")
}

// Examples are command lines that the parser takes.
func TestExamplesOfTheManual(t *testing.T) {
	for _, entry := range commands {
		for _, x := range entry.Examples {
			_, line, _ := strings.Cut(x.Line, "torture-campaign ")
			line, _, _ = strings.Cut(strings.TrimSuffix(line, `)"`), " | ")
			_, err := newParser(&cli{}, quiet, func(int) {}).Parse(strings.Fields(line))
			if err != nil {
				t.Errorf("%s: %v", x.Line, err)
			}
		}
	}
}

// The version and completion are there.
func TestWhatEveryCommandHas(t *testing.T) {
	for args, want := range map[string]string{
		"--version":          "torture-campaign ",
		"completion -c bash": "complete -o default",
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Split(args, " "), console.Streams{Stdout: &out, Stderr: &errs}); status != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit status %d, %s%s", args, status, &out, &errs)
		}
	}
}
