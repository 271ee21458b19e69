package sim

import (
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// goTest is the command that runs a test of this process again, in the same mode, from any folder of its module. It names
// the package, because go test runs in the folder of the package, which need not be the user's.
func goTest(name string) string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	command := "go test"
	if bubble.Exact {
		command = "torture test"
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" && info.Path != "command-line-arguments" {
		command += " " + strings.TrimSuffix(info.Path, ".test")
	}
	return command + " -run " + escape.Shell(strings.Join(parts, "/"))
}
