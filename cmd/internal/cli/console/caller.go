package console

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
)

// Commands that are printed are for the folder in which the user ran this one. Mostly that is the working directory;
// after go run -C, env -C and the like it is another one, which the shell has left in PWD.

// selfOf says how a user calls this program again, and from which folder that command sees files; "" is the working
// directory. mainFile is where its function main stands.
func selfOf(program, mainFile string) (self, base string) {
	work, user := folders()
	info, _ := debug.ReadBuildInfo()
	if byGoRun(program) {
		return goRun(info, mainFile, work, user), ""
	}
	if strings.ContainsAny(program, `/\`) {
		program = seenFrom(user, program)
		if !filepath.IsAbs(program) && !strings.HasPrefix(program, ".") {
			program = "." + string(filepath.Separator) + program
		}
	}
	return escape.Shell(program), user
}

// folders are the working directory and the folder of the user's shell.
func folders() (work, user string) {
	work, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	user = os.Getenv("PWD")
	if info, err := os.Stat(user); err != nil || !info.IsDir() || !filepath.IsAbs(user) {
		return work, work
	}
	return work, user
}

// goBuilt matches the files of programs that go run has made: temporary ones, and those in its cache.
var goBuilt = regexp.MustCompile(`/go-build|/[0-9a-f]{64}-d/`)

func byGoRun(program string) bool { return goBuilt.MatchString(filepath.ToSlash(program)) }

// goRun is the command of a program that go run has made.
func goRun(info *debug.BuildInfo, mainFile, work, user string) string {
	command := "go run "
	if work != user {
		command += "-C " + escape.Shell(seenFrom(user, work)) + " "
	}
	if info == nil || info.Path == "" || info.Path == "command-line-arguments" { // go run FILE.go
		dir, err := filepath.Rel(work, filepath.Dir(mainFile))
		if err != nil || dir == "." || strings.HasPrefix(dir, "..") {
			return command + "."
		}
		return command + escape.Shell("./"+filepath.ToSlash(dir))
	}
	fetched := strings.HasPrefix(info.Main.Version, "v") && strings.Contains(mainFile, "@"+info.Main.Version+"/")
	if fetched && !requires(work, info.Main.Path) {
		return command + info.Path + "@" + info.Main.Version
	}
	return command + info.Path
}

// requires reports whether a folder is in a module that requires another one.
func requires(dir, module string) bool {
	for {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			return bytes.Contains(mod, []byte(module))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// File is a file's name as an argument of a command line that begins with self.
func (s Streams) File(name string) string {
	if name == "-" { // standard input
		return name
	}
	name = seenFrom(s.Base, name)
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return escape.Shell(name)
}

// seenFrom is the name of a file for those who are in a folder: relative if it is in there.
func seenFrom(dir, name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil || dir == "" {
		return name
	}
	relative, err := filepath.Rel(dir, absolute)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		if work, err := os.Getwd(); err == nil && work == dir {
			return name // as the user gave it
		}
		return absolute
	}
	return relative
}
