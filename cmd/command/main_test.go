package command

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "paste what came out into README.md and docs/")

// asMain makes this program torture.
const asMain = "ZKTORTURE_TEST_MAIN"

// TestMain lets tests run the command as a process of its own. A run inside of a test starts its own program as workers,
// which must not run the tests again.
func TestMain(m *testing.M) {
	if os.Getenv(asMain) != "" {
		Main()
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "worker":
			Main()
		case "lying":
			lie(os.Args[2])
			return
		}
	}
	testscript.Main(m, map[string]func(){"torture": func() { Main() }})
}

// A release build says the version that it was given.
func TestReleaseVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", "-ldflags", "-X main.version=v9.8.7", "../torture", "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "torture v9.8.7\n") {
		t.Errorf("%v: %s", err, out)
	}
}
