package command

import (
	"os/exec"
	"strings"
	"testing"
)

// A release build says the version that it was given.
func TestReleaseVersion(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "run", "-ldflags", "-X main.version=v9.8.7", "../torture", "--version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "torture v9.8.7\n") {
		t.Errorf("%v: %s", err, out)
	}
}
