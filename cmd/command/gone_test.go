package command

import (
	"io"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// What is gone is answered by what to use instead, and is no command or flag that is there.
func TestGone(t *testing.T) {
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: io.Discard, Stderr: io.Discard, Self: "torture"}}
	for what, instead := range gone {
		if _, _, err := parse(c, append(strings.Fields(what), "x")); err == nil || !strings.HasSuffix(err.Error(), instead) {
			t.Errorf("%s: %v", what, err)
		}
		command, flag, _ := strings.Cut(what, " --")
		parser, err := newParser(kong.Exit(func(int) {}))
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range parser.Model.Children {
			if node.Name != command {
				continue
			}
			if flag == "" {
				t.Errorf("there is a command %s", command)
			}
			for _, f := range node.Flags {
				if f.Name == flag {
					t.Errorf("%s has a flag --%s", command, flag)
				}
			}
		}
	}
}
