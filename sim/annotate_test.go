package sim

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// An annotation is one line, in which nothing ends a property or the command early, at a file of the repository.
func TestAnnotation(t *testing.T) {
	repository := t.TempDir()
	for _, dir := range []string{".git", "a, b/locks"} {
		if err := os.MkdirAll(filepath.Join(repository, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	module := filepath.Join(repository, "a, b")
	for _, file := range []string{"go.mod", "locks/lock.go"} {
		if err := os.WriteFile(filepath.Join(module, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(module, "locks"))
	mine, others := bubble.Place{File: "locks/lock.go", Line: 7}, bubble.Place{File: "example.com/else/lock.go", Line: 8}
	const rest = "title=a%3A b%2C 10 %25::50 %25 of x:%0Ay, z\n"
	for _, c := range []struct {
		on, workspace string
		places        []bubble.Place
		want          string
	}{
		{"true", repository, []bubble.Place{others, mine}, "::error file=a%2C b/locks/lock.go,line=7," + rest},
		{"true", module, []bubble.Place{mine, others}, "::error file=locks/lock.go,line=7," + rest},
		{"true", t.TempDir(), []bubble.Place{{}, mine}, "::error file=a%2C b/locks/lock.go,line=7," + rest},
		{"true", "", []bubble.Place{mine}, "::error file=a%2C b/locks/lock.go,line=7," + rest},
		{"true", repository, []bubble.Place{others, {}}, "::error " + rest},
		{"", repository, []bubble.Place{mine}, ""},
	} {
		t.Setenv("GITHUB_ACTIONS", c.on)
		t.Setenv("GITHUB_WORKSPACE", c.workspace)
		var out strings.Builder
		annotate(&out, "a: b, 10 %", "50 % of x:\ny, z", c.places...)
		if out.String() != c.want {
			t.Errorf("%+v: written is %q", c, out.String())
		}
	}
	page := filepath.Join("testdata", "story.html")
	if got := fromModule(page); got != filepath.FromSlash("locks/testdata/story.html")+" (from the folder of go.mod)" {
		t.Errorf("a file of a package is %q", got)
	}
	t.Chdir(module)
	if got := fromModule(page); got != page {
		t.Errorf("a file of the module's first package is %q", got)
	}
}

// The line of a test that fails for no story is the one that calls this package.
func TestCallerOfSim(t *testing.T) {
	p := sync.OnceValue(callerOfSim)() // through a function that is no test's
	if p.File != "sim/annotate_test.go" || p.Line == 0 || p.Function != "TestCallerOfSim" {
		t.Errorf("%+v", p)
	}
}
