package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// exactTests are a user's module. Its tests pass in exact mode only, one fails in any, and go vet finds something in another
// package.
var exactTests = map[string]string{
	"good/good_test.go": `package good

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestIsExact(t *testing.T) {
	if !sim.Exact() {
		t.Error("this is an ordinary build")
	}
}

func TestLock(t *testing.T) {
	sim.Check(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return recipes.NewLock(c, path)
	}), sim.WithEpisodes(20))
}

func TestFails(t *testing.T) { t.Error("as it should") }
`,
	"vetted/vetted_test.go": `package vetted

import ("fmt"; "testing")

func TestVetted(t *testing.T) { fmt.Printf("ran %d\n", "not a number") }
`,
}

// The exit status, the output and the flags are those of go test.
func TestTortureTest(t *testing.T) {
	testkit.NeedExact(t)
	dir := usersModule(t, exactTests)
	for _, test := range []struct {
		args, says string
		exit       int
	}{
		{"-count=1 -run IsExact|Lock ./good", "ok", 0},
		{"-count=1 -json -run IsExact ./good", `"Action":"pass"`, 0},
		{"-count=1 -run Fails ./good", "as it should", 1},
		{"-count=1 ./vetted", "has arg", 1},
		{"-count=1 -v -vet=off ./vetted", "ran", 0},
		{"-overlay=o.json ./good", "-overlay for itself", 2},
	} {
		cmd := exec.CommandContext(t.Context(), "torture", append([]string{"test"}, strings.Fields(test.args)...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		exit := 0
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			exit = failed.ExitCode()
		}
		if exit != test.exit || !strings.Contains(string(out), test.says) {
			t.Errorf("torture test %s: exit status %d, want %d, and %q:\n%s", test.args, exit, test.exit, test.says, out)
		}
	}
}

// torture test --help needs no module.
func TestHelpOfTest(t *testing.T) {
	t.Chdir(t.TempDir())
	if status, text, stderr := command(t, "test", "--help"); status != 0 || stderr != "" || !strings.HasPrefix(text, "Usage: torture test ") {
		t.Errorf("exit status %d: %s%s", status, text, stderr)
	}
}

// usersModule makes a module that uses this one.
func usersModule(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	const library, command = "github.com/zktorture/zktorture", "github.com/zktorture/zktorture/cmd"
	files["go.mod"] = strings.Replace(string(mod), "module "+command, "module example.com/mine", 1) +
		"\nrequire " + command + " v0.0.0\nreplace " + library + " => " + strconv.Quote(root) +
		"\nreplace " + command + " => " + strconv.Quote(filepath.Join(root, "cmd")) + "\n"
	files["go.sum"] = string(sum)
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
