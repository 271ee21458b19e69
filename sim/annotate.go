package sim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/checkout"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
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

// guilty returns the line of the recipe that sent the last request of the operations that show a violation, or of all
// if they are not known.
func guilty(w world.Workload, example *replay.Counterexample) (p bubble.Place) {
	r, err := replay.Replay(w, example)
	if err != nil || r.Violation == nil {
		return p
	}
	for _, s := range slices.Backward(r.Trace) {
		for _, at := range s.Places {
			if fromRepository(at.File) == "" {
				continue
			}
			if slices.ContainsFunc(r.Violation.Ops, func(o *world.Op) bool { return o.Number == s.Op }) {
				return at
			}
			if p.File == "" {
				p = at
			}
			break
		}
	}
	return p
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
