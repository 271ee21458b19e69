package story

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim/world"
)

// Source is some lines of a recipe around one that sent a request, or led there.
type Source struct {
	At       string   `json:"at"`       // recipes/lock.go:42, as events name it
	Function string   `json:"function"` // (*Lock).Lock
	First    int      `json:"first"`    // number of the first of the lines
	Lines    []string `json:"lines"`    // with spaces for tabs
	Marked   int      `json:"marked"`   // index of the line that is meant
	From     int      `json:"from"`     // what is meant of it, in characters: the call …
	Until    int      `json:"until"`    // … and its end
}

// sourceAround is how many lines a source has before and after the one that is meant.
const sourceAround = 4

// addSources reads the code that events name, while it is known where on this machine it is: programs that were built with
// -trimpath do not know, and a file that is newer than the program may have other lines.
func (b *storyBuilder) addSources() {
	built := builtAt()
	files := map[string][]string{}
	for _, step := range b.trace {
		called := step.Request
		for _, p := range step.Places {
			name := called
			called = p.Function[strings.LastIndexByte(literal.ReplaceAllString(p.Function, ""), '.')+1:]
			known := slices.ContainsFunc(b.story.Sources, func(s Source) bool { return s.At == p.String() })
			if known || !filepath.IsAbs(p.Path) {
				continue
			}
			lines, read := files[p.Path]
			if !read {
				if info, err := os.Stat(p.Path); err == nil && (built.IsZero() || info.ModTime().Before(built)) {
					text, _ := os.ReadFile(p.Path)
					lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
				}
				files[p.Path] = lines
			}
			if p.Line <= len(lines) {
				b.story.Sources = append(b.story.Sources, sourceOf(p, name, lines))
			}
		}
	}
}

// sourceOf cuts the lines around a place out of a file, and marks the call on its line: of the request or function, else the first.
func sourceOf(p world.Place, called string, file []string) Source {
	from, until := max(p.Line-1-sourceAround, 0), min(p.Line+sourceAround, len(file))
	s := Source{At: p.String(), Function: literal.ReplaceAllString(p.Function, ""), First: from + 1, Marked: p.Line - 1 - from}
	for _, line := range file[from:until] {
		s.Lines = append(s.Lines, strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " \r"))
	}
	s.mark(called)
	return s
}

// mark marks a call on the line that is meant: of a function or request, else the first.
func (s *Source) mark(called string) {
	line := s.Lines[s.Marked]
	calls := call.FindAllStringSubmatchIndex(line, -1)
	s.From, s.Until = len(line)-len(strings.TrimLeft(line, " ")), length(line)
	for i, c := range slices.Backward(calls) {
		if name := strings.ToLower(line[c[2]:c[3]]); strings.HasPrefix(name, strings.ToLower(called)) || i == 0 {
			s.From, s.Until = length(line[:c[2]]), length(line[:c[3]])
			break
		}
	}
}

// literal matches what the runtime names a function literal by, after the function that it is in.
var literal = regexp.MustCompile(`(\.func\d+)?(\.\d+)*$`)

// call matches the name of a called function or method.
var call = regexp.MustCompile(`([A-Za-z_]\w*)\(`)

// builtAt is when this program was built; zero if that is not known.
var builtAt = sync.OnceValue(func() time.Time {
	if name, err := os.Executable(); err == nil {
		if info, err := os.Stat(name); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
})

// spot is a request of the cause, with the code that led to it.
type spot struct {
	Title  string   // read here
	Frames []Source // of the method that was called to where the request was sent
}

// spots are the requests by which the client knew, and which decides; without those whose code is not at hand.
func (s *Story) spots() (all []spot) {
	if s.Cause == nil {
		return nil
	}
	for _, i := range []int{s.Cause.Read, s.Cause.Event} {
		if i < 0 || s.Events[i].Code == "" || len(all) > 0 && i == s.Cause.Read {
			continue
		}
		z := spot{Title: s.Events[i].role() + " here"}
		if i == s.Cause.Event && len(all) > 0 {
			z.Title = "decided here"
		}
		for _, at := range s.frames(i) {
			if len(all) > 0 && all[0].Frames[0].At == at && at != s.Events[i].Code {
				continue // it is told above
			}
			if k := slices.IndexFunc(s.Sources, func(f Source) bool { return f.At == at }); k >= 0 {
				z.Frames = append(z.Frames, s.Sources[k])
				if at == s.Events[i].Code { // several requests may be sent from one line
					z.Frames[len(z.Frames)-1].mark(s.Events[i].request())
				}
			}
		}
		if len(z.Frames) > 0 {
			all = append(all, z)
		}
	}
	return all
}

// role says what a request does, as a participle.
func (e Event) role() string {
	switch of := e.request(); {
	case e.Refused != "" && e.writes():
		return "refused"
	case e.Kind == kindFault || e.Kind == kindFails:
		return "lost"
	case of == "create" || of == "multi":
		return "made"
	case of == "delete":
		return "deleted"
	case of == "set":
		return "set"
	case e.watches():
		return "watched"
	}
	return "read"
}

// frames are the lines of code of a request that say most: that of the method that the test, or the harness, has called, and that
// where it was sent; and the one above that, if several lines send their requests by it.
func (s *Story) frames(i int) []string {
	all := s.Events[i].places()
	if len(all) == 0 {
		return nil
	}
	outer := len(all) - 1
	for outer > 0 && strings.Contains(all[outer], "_test.go:") {
		outer--
	}
	chosen := []string{all[outer]}
	if outer > 1 && slices.ContainsFunc(s.Events, func(e Event) bool {
		other := e.places()
		return len(other) > 1 && other[0] == all[0] && other[1] != all[1]
	}) {
		chosen = append(chosen, all[1])
	}
	if outer > 0 {
		chosen = append(chosen, all[0])
	}
	return chosen
}

// places are the lines of code that an event names, innermost first, without those between a function literal and the line that it
// is in: they call it on behalf of that.
func (e Event) places() (all []string) {
	if e.Code == "" {
		return nil
	}
	for _, at := range append([]string{e.Code}, strings.Split(e.Callers, ", ")...) {
		if k := slices.Index(all, at); k >= 0 {
			all = all[:k]
		}
		if at != "" {
			all = append(all, at)
		}
	}
	return all
}

// Where names the line, and its function if that says something.
func (s *Source) Where() string {
	if s.Function == "" || s.Function == "init" {
		return s.At
	}
	return s.At + ", in " + s.Function
}

// Number is the number of a line, as wide as the last one's.
func (s *Source) Number(line int) string {
	return fmt.Sprintf("%*d", len(strconv.Itoa(s.First+len(s.Lines)-1)), s.First+line)
}

// indent is what all of some lines are indented by at least.
func (s *Source) indent(first, last int) int {
	least := s.From
	for _, line := range s.Lines[first:last] {
		if text := strings.TrimLeft(line, " "); text != "" {
			least = min(least, len(line)-len(text))
		}
	}
	return least
}
