package digest

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"sync"
)

// Build names the code of this program: the revision of the source if that was built as it is, else the program file's
// SHA-256.
var Build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "program " + shortSum()
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if revision := set["vcs.revision"]; revision != "" && set["vcs.modified"] == "false" {
		return fmt.Sprintf("revision %.12s, %s", revision, info.GoVersion)
	}
	return fmt.Sprintf("program %s, %s", shortSum(), info.GoVersion)
})

// shortSum is the beginning of the program file's SHA-256.
func shortSum() string { return fmt.Sprintf("%.12s", cmp.Or(Program(), "unknown")) }
