package cli

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/cli/console"
)

// A program without the zoo says where its commands are, and lists none.
func TestWithoutTheZoo(t *testing.T) {
	for line, want := range map[string]string{
		"zoo W1":        "zoo is about recipes with known bugs, which this program does not have: use torture, or ",
		"list zoo":      `unknown section "zoo": there are kinds, faults, strategies, models and properties`,
		"zoos":          `unknown command "zoos": see torture --help`,
		"list everyone": `unknown section "everyone": there are kinds, faults, strategies, models and properties`,
	} {
		var said strings.Builder
		status := Run(t.Context(), strings.Fields(line), console.Streams{Stdout: &said, Stderr: &said, Self: "torture"})
		if status != console.ExitUnknown || !strings.HasPrefix(said.String(), "torture: "+want) {
			t.Errorf("%s: exit status %d, %s", line, status, said.String())
		}
	}
}
