package sim

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Build names the code of this program: the revision of the source if that was built as it is, else the program file's
// SHA-256.
var Build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "program " + programSum()
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	if revision := set["vcs.revision"]; revision != "" && set["vcs.modified"] == "false" {
		return fmt.Sprintf("revision %.12s, %s", revision, info.GoVersion)
	}
	return fmt.Sprintf("program %s, %s", programSum(), info.GoVersion)
})

func programSum() string {
	name, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	file, err := os.Open(name)
	if err != nil {
		return "unknown"
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}
