package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
)

func TestWantsColor(t *testing.T) {
	for _, c := range []struct {
		env      string
		terminal bool
		want     bool
	}{
		{"", true, true}, {"", false, false},
		{"NO_COLOR=1", true, false}, {"NO_COLOR=", true, true}, {"NO_COLOR=1 CLICOLOR_FORCE=1", true, false},
		{"CLICOLOR_FORCE=1", false, true}, {"CLICOLOR_FORCE=0", false, false}, {"FORCE_COLOR=1", false, true},
		{"FORCE_COLOR=0", true, true}, {"FORCE_COLOR=false", false, false},
		{"TERM=dumb", true, false}, {"TERM=xterm", true, true}, {"TERM=dumb FORCE_COLOR=1", true, true},
		{"CLICOLOR=0", true, false}, {"CLICOLOR=1", false, false},
	} {
		getenv := func(name string) string {
			for _, set := range strings.Fields(c.env) {
				if k, v, _ := strings.Cut(set, "="); k == name {
					return v
				}
			}
			return ""
		}
		if got := console.WantsColor(getenv, c.terminal); got != c.want {
			t.Errorf("%s, a terminal: %v: colours: %v", c.env, c.terminal, got)
		}
	}
}

// Colours come from this program alone, and what they are around is guarded as ever.
func TestPaint(t *testing.T) {
	var out bytes.Buffer
	s, _ := console.Streams{Stdout: &out, Stderr: &out, Color: true}.Guarded()
	console.Paint(s.Stdout, console.Red, "a\x1b[2Jb")
	if got, want := out.String(), "\x1b[1;31ma\\u001b[2Jb\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The words of verdicts are coloured if that is wanted, and the text is the same.
func TestColouredRun(t *testing.T) {
	t.Chdir(t.TempDir())
	texts := map[bool]string{}
	for _, color := range []bool{false, true} {
		var out bytes.Buffer
		args := strings.Fields("run lock --recipe published/WriteLock --faults none --seed 1 --episodes 20 --no-shrink")
		cli.Run(t.Context(), args, console.Streams{Stdout: &out, Stderr: &out, Self: "torture", Color: color})
		texts[color] = timeless(atOnce.ReplaceAllString(out.String(), ""))
	}
	colours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	plain := regexp.MustCompile(" +\n").ReplaceAllString(colours.ReplaceAllString(texts[true], ""), "\n")
	if texts[false] == texts[true] || texts[false] != plain {
		t.Errorf("without colours:\n%s\nwith:\n%q", texts[false], texts[true])
	}
	if !strings.HasPrefix(texts[true], "\x1b[1;31mVIOLATION\x1b[0m\x1b[1m of ") {
		t.Errorf("the verdict is not red: %q", texts[true])
	}
}
