// Package version says which build of the project a program is, so that what it has found can be found again by the same one.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// module is the path of the project.
const module = "github.com/zktorture/zktorture"

// Release is the version that a release build says it is; "" for what the go command has recorded.
var Release string

// Text describes the running program in lines: its version, commit, date, version of Go and platform.
func Text(program string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return text(program, info, Release)
}

func text(program string, info *debug.BuildInfo, release string) string {
	lines := []string{program + " " + versionOf(info, release)}
	set := settings(info)
	if commit := set["vcs.revision"]; commit != "" {
		if set["vcs.modified"] == "true" {
			commit += ", modified"
		}
		lines = append(lines, "commit: "+commit)
	}
	if date := set["vcs.time"]; date != "" {
		lines = append(lines, "date: "+date)
	}
	lines = append(lines, "go: "+runtime.Version(), fmt.Sprintf("platform: %s/%s", runtime.GOOS, runtime.GOARCH))
	return strings.Join(lines, "\n")
}

// settings are those of a build, by their keys.
func settings(info *debug.BuildInfo) map[string]string {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return set
}

// versionOf is the version of the project. A program of another module has the project as a dependency.
func versionOf(info *debug.BuildInfo, release string) string {
	if release != "" {
		return release
	}
	if ours(info.Main.Path) {
		return known(info.Main.Version)
	}
	for _, dep := range info.Deps {
		if dep.Path == module {
			return fmt.Sprintf("%s, of %s %s", known(dep.Version), info.Main.Path, known(info.Main.Version))
		}
	}
	return known("")
}

// ours reports whether a module is the project's, or is within it.
func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// known is a version as the go command knows it, which is nothing of one built in its working tree without VCS.
func known(version string) string {
	if version == "" || version == "(devel)" {
		return "devel"
	}
	return version
}
