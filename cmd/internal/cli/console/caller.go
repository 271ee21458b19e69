package console

import (
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
)

// goBuilt matches the files of programs that go run has made: temporary ones, and those in its cache.
var goBuilt = regexp.MustCompile(`/go-build|/[0-9a-f]{64}-d/`)

// selfOf says how a user calls this program again from the working directory. mainFile is where its function main stands.
func selfOf(program, mainFile string) string {
	if !goBuilt.MatchString(filepath.ToSlash(program)) {
		return escape.Shell(program)
	}
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok || info.Path == "" || info.Path == "command-line-arguments": // go run FILE.go
		return "go run ."
	case strings.Contains(mainFile, "@"+info.Main.Version+"/"): // go run PACKAGE@VERSION
		return "go run " + info.Path + "@" + info.Main.Version
	}
	return "go run " + info.Path
}

// File is a file's name as an argument of a command line.
func (s Streams) File(name string) string {
	if name != "-" && strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return escape.Shell(name)
}
