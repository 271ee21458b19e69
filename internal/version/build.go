package version

import (
	"cmp"
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
		return "program " + shortSum()
	}
	set := settings(info)
	if revision := set["vcs.revision"]; revision != "" && set["vcs.modified"] == "false" {
		return fmt.Sprintf("revision %.12s, %s", revision, info.GoVersion)
	}
	return fmt.Sprintf("program %s, %s", shortSum(), info.GoVersion)
})

// shortSum is the beginning of the program file's SHA-256.
func shortSum() string { return fmt.Sprintf("%.12s", cmp.Or(Sum(), "unknown")) }

// Sum is the SHA-256 of the program file of this process, in hexadecimal; "" if it cannot be read any more.
var Sum = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return ""
	}
	return fmt.Sprintf("%x", h.Sum(nil))
})
