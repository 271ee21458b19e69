package torturecli

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/completion"
	"github.com/zktorture/zktorture/linearizability"
)

// completions returns what can come next on a command line, its kind of files among it.
func completions(t *testing.T, words ...string) (found []string) {
	t.Helper()
	answer := completion.Candidates(model(t), words, values.Of)
	for _, c := range answer.Words {
		found = append(found, c.Word)
	}
	if answer.Files != "" {
		found = append(found, string(answer.Files))
	}
	return found
}

// Each source of values is of a flag or an argument that there is.
func TestCompletionIsOfWhatThereIs(t *testing.T) {
	known := map[string]bool{}
	for _, node := range model(t).Leaves(true) {
		for _, flag := range node.Flags {
			known["--"+flag.Name], known[node.Path()+" --"+flag.Name] = true, true
		}
		for _, arg := range node.Positional {
			known["<"+arg.Name+">"], known[node.Path()+" <"+arg.Name+">"] = true, true
		}
	}
	for name := range values {
		if !known[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// Flags whose values are files, or folders, say so by their placeholders.
func TestCompletionOfFiles(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"run lock --plan ", "files"}, {"run lock --near=", "files"}, {"run lock --junit ", "files"},
		{"run lock --out ", "folders"}, {"serve --data ", "folders"}, {"part --out ", "files"}, {"replay ", "files"},
		{"merge --plan plan.json a b ", "files"}, {"explain --html ", "files"}, {"run lock --root ", ""},
	} {
		if got := strings.Join(completions(t, strings.Split(c.line, " ")...), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

// What is offered is taken.
func TestCompletionOffersWhatIsKnown(t *testing.T) {
	for _, backend := range completions(t, "run", "--backend", "") {
		_, _, said := command(t, "run", "lock", "--backend", backend, "--clients", "0")
		if !strings.Contains(said, "--clients") {
			t.Errorf("--backend %s: %s", backend, said)
		}
	}
	for _, name := range completions(t, "check", "--model", "") {
		if _, err := linearizability.ByName(name); err != nil {
			t.Error(err)
		}
	}
	for _, faults := range completions(t, "serve", "--faults", "loss,") {
		s := serveCmd{Servers: 3, Faults: faults}
		if _, err := s.faults(); err != nil {
			t.Error(err)
		}
	}
}
