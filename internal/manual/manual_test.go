package manual

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

type grammar struct {
	Hit struct {
		Nail  string `arg:"" help:"Which nail: see tool hit, docs/nails.md, <b> and --hard."`
		Hard  bool   `short:"H" help:"Hit hard."`
		Times int    `default:"3" aliases:"count" help:"How often."`
		Glue  string `hidden:""`
	} `cmd:"" help:"Hit a nail."`
	Secret struct{} `cmd:"" hidden:""`
}

func app(t *testing.T) *kong.Application {
	t.Helper()
	return kong.Must(&grammar{}, kong.Name("tool"), kong.Description("A tool.")).Model
}

var hit = Entry{[]Status{{0, "It is in."}}, []Example{{Meaning: "Hit one.", Line: `tool hit .one 'a\b'`}}}

func TestMarkdown(t *testing.T) {
	pages, err := Pages(app(t), Manual{"hit": hit})
	if err != nil || len(pages) != 2 {
		t.Fatalf("%v, %d pages", err, len(pages))
	}
	want := "# tool hit\n\nHit a nail.\n\n```text\ntool hit <nail> [flags]\n```\n" +
		"\n## Arguments\n\n- `<nail>`: Which nail: see [`tool hit`](tool-hit.md), [docs/nails.md](../nails.md), \\<b\\> and `--hard`.\n" +
		"\n## Flags\n\n### `--hard`\n\nHit hard.\n\n`-H, --hard`\n" +
		"\n### `--times`\n\nHow often.\n\n`--times=NUMBER`, default: `3`, also: `--count`\n" +
		"\nWith every command: `--help`.\n" +
		"\n## Exit status\n\n| status | meaning |\n|---|---|\n| 0 | It is in. |\n" +
		"\n## Examples\n\nHit one.\n\n```sh\ntool hit .one 'a\\b'\n```\n"
	if got := pages[1].Markdown(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A manual is of all commands, and of no others.
func TestManualIsWhole(t *testing.T) {
	for name, m := range map[string]Manual{
		"none": {}, "no examples": {"hit": {Statuses: hit.Statuses}}, "another": {"hit": hit, "hti": hit},
	} {
		if _, err := Pages(app(t), m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestWrap(t *testing.T) {
	long := strings.Repeat("word ", 23) + "and - `some code` follows"
	for line := range strings.Lines(Wrap(long)) {
		if len(line) > columns+1 || strings.HasPrefix(line, "- ") || strings.Count(line, "`")%2 != 0 {
			t.Errorf("%q", line)
		}
	}
	if got := strings.ReplaceAll(Wrap(long), "\n", " "); got != long {
		t.Errorf("%q became %q", long, got)
	}
}
