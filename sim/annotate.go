package sim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/checkout"
	"github.com/zktorture/zktorture/story"
)

// onGitHub reports whether this runs in a job of GitHub Actions.
func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// annotate writes the command by which GitHub shows a message at a line of code: at the first of the places that is a
// file of the module. Elsewhere it writes nothing. GitHub wants the command at the begin of a line, after spaces.
func annotate(w io.Writer, title, message string, places ...bubble.Place) {
	if !onGitHub() {
		return
	}
	at := ""
	for _, p := range places {
		if file := fromRepository(p.File); file != "" {
			at = fmt.Sprintf("file=%s,line=%d,", forProperty.Replace(file), p.Line)
			break
		}
	}
	fmt.Fprintf(w, "::error %stitle=%s::%s\n", at, forProperty.Replace(title), forMessage.Replace(message))
}

// What GitHub's commands cannot hold as it is.
var (
	forMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	forProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// fromModule names a file of the package's folder so that the name can be copied. go test does not tell where it was
// called: that is mostly the folder of the module.
func fromModule(name string) string {
	file, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	modules := checkout.Here().Modules
	if len(modules) == 0 {
		return name
	}
	from, err := filepath.Rel(modules[0].Dir, file)
	if err != nil || from == filepath.Clean(name) || !filepath.IsLocal(from) {
		return name
	}
	return from + " (from the folder of go.mod)"
}

// fromRepository returns a file of the module whose test runs as the repository names it, "" if there is no such file.
func fromRepository(file string) string {
	here := checkout.Here()
	if len(here.Modules) == 0 || file == "" {
		return ""
	}
	return here.Name(filepath.Join(here.Modules[0].Dir, filepath.FromSlash(file)))
}

// annotateStory shows a story at the line that decides, or else at the test.
func annotateStory(w io.Writer, told *story.Story, test bubble.Place) {
	if !onGitHub() {
		return
	}
	annotate(w, told.Property+" in "+told.Subject, told.Text(story.TextOptions{Brief: true}), append(placesOf(told.Decisive()), test)...)
}

// placesOf are the lines of the deciding request: the recipe's own, and those that called it.
func placesOf(lines story.Lines) (places []bubble.Place) {
	for _, line := range lines {
		file, number, _ := strings.Cut(strings.TrimPrefix(line, bubble.SourceModule()+"/"), ":")
		n, _ := strconv.Atoi(number)
		places = append(places, bubble.Place{File: file, Line: n})
	}
	return places
}

// callerOfSim returns the innermost line of a test that is calling this package.
func callerOfSim() bubble.Place {
	pc := make([]uintptr, bubble.FramesMax)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.File, "_test.go") {
			return bubble.FramePlace(frame.Function, frame.File, frame.Line)
		}
		if !more {
			return bubble.Place{}
		}
	}
}
