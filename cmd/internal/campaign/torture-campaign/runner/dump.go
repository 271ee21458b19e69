package runner

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What the Go runtime writes when a program ends by a panic, a fatal error or SIGQUIT: package runtime, traceback.go.
// It is no stable format, so nothing but the text of errors depends on it.

// crashBegins is how the first line of a crash begins.
var crashBegins = regexp.MustCompile(
	`(?m)^(panic: |fatal error: |runtime: out of memory|unexpected fault address|SIG(SEGV|BUS|FPE|ILL|TRAP|SYS|ABRT): )`)

// quitBegins is the first line of what a process says that was sent SIGQUIT.
var quitBegins = regexp.MustCompile(`(?m)^SIGQUIT: quit$`)

const (
	crashLines = 8   // of a crash that are shown
	crashMax   = 600 // bytes of them
	framesMax  = 6   // of a stack that are shown
)

// crashIn finds the first lines of the last crash in what a process wrote, "" if there is none, and where it was.
func crashIn(said string) (first, where string) {
	at := -1
	for _, m := range crashBegins.FindAllStringIndex(said, -1) {
		if at < 0 || strings.Contains(said[at:m[0]], "\n\ngoroutine ") { // else it belongs to the one before
			at = m[0]
		}
	}
	if at < 0 {
		return "", ""
	}
	first, _, _ = strings.Cut(said[at:], "\n\n")
	lines := strings.Split(first, "\n")
	first = strings.Join(lines[:min(len(lines), crashLines)], "\n")
	first = first[:min(len(first), crashMax)]
	if stacks := stacksIn(said[at:]); len(stacks) > 0 {
		where = stacks[0].String()
	}
	return first, where
}

// outOfMemory says whether a crash is that of a process that got no more memory.
func outOfMemory(crash string) bool {
	return strings.Contains(crash, "out of memory") || strings.Contains(crash, "cannot allocate memory")
}

// doing finds what a process that was sent SIGQUIT was doing: the goroutines that ran, or else those that are likely
// to be the reason, as there is code of a recipe in them.
func doing(said string) string {
	stacks := stacksIn(said)
	slices.SortStableFunc(stacks, func(a, b stack) int { return cmp.Compare(a.rank(), b.rank()) })
	if len(stacks) == 0 {
		return ""
	}
	text := stacks[0].String()
	for _, s := range stacks[1:] {
		if s.rank() == stacks[0].rank() && s.rank() == blockedRecipe && s.String() != text {
			return text + "\n" + s.String()
		}
	}
	return text
}

// stack is what a goroutine is doing.
type stack struct {
	name   string // as "goroutine 7"
	state  string // as "running"
	frames []frame
}

type frame struct {
	function string
	place    string // file and line
}

// stackBegins is the first line of a stack; between number and state there may be addresses, after the state a bubble.
var stackBegins = regexp.MustCompile(`^(goroutine [1-9][0-9]*) [^[]*\[([^],]*).*\]:$`)

// stacksIn finds all stacks in what the runtime wrote, but for those of goroutine 0, which is the runtime's own.
func stacksIn(said string) (all []stack) {
	lines := strings.Split(said, "\n")
	for i := 0; i < len(lines); i++ {
		m := stackBegins.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		s := stack{name: m[1], state: m[2]}
		for ; i+2 < len(lines) && strings.HasPrefix(lines[i+2], "\t"); i += 2 {
			if !strings.HasPrefix(lines[i+1], "created by ") {
				s.frames = append(s.frames, frameOf(lines[i+1], lines[i+2]))
			}
		}
		if len(s.frames) > 0 {
			all = append(all, s)
		}
	}
	return all
}

func frameOf(function, place string) frame {
	if at := strings.LastIndexByte(function, '('); at > 0 {
		function = function[:at]
	}
	place, _, _ = strings.Cut(strings.TrimSpace(place), " +0x") // a folder may have a space
	return frame{function, place}
}

// Ranks of stacks, the likeliest reason first.
const (
	runningRecipe = iota
	blockedRecipe
	runningOther
	blockedOther
)

func (s stack) rank() int {
	running := s.state == "running" || s.state == "runnable"
	switch recipe := slices.ContainsFunc(s.frames, frame.ofRecipe); {
	case recipe && running:
		return runningRecipe
	case recipe:
		return blockedRecipe
	case running && slices.ContainsFunc(s.frames, func(f frame) bool { return !f.standard() }):
		return runningOther
	}
	return blockedOther
}

// String shows the frames of a recipe, or if there are none those that are not the standard library's, or all.
func (s stack) String() string {
	shown := s.only(frame.ofRecipe)
	if len(shown) == 0 {
		shown = s.only(func(f frame) bool { return !f.standard() })
	}
	if len(shown) == 0 {
		shown = s.frames
	}
	text := s.name + ", " + s.state
	for _, f := range shown[:min(len(shown), framesMax)] {
		text += fmt.Sprintf("\n\t%s at %s", f.function, f.place)
	}
	return text
}

func (s stack) only(f func(frame) bool) (some []frame) {
	for _, frame := range s.frames {
		if f(frame) {
			some = append(some, frame)
		}
	}
	return some
}

// machinery is what runs recipes.
var machinery = regexp.MustCompile(`^github\.com/zktorture/zktorture\.Main$|^github\.com/zktorture/zktorture/` +
	`(campaign(/failures|/units|/command)?\.|(sim|workload|internal|fakezk|linearizability|story|live)\b)|` +
	`^github\.com/alecthomas/kong\b|^main\.main$`)

// ofRecipe says whether a frame is likely to be of a recipe.
func (f frame) ofRecipe() bool { return !f.standard() && !machinery.MatchString(f.function) }

// standardLibrary are the first elements of its packages' paths.
var standardLibrary = strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
	vendor weak panic`)

// standard says whether a frame is of the standard library, or of no package, as those in assembly.
func (f frame) standard() bool {
	first, _, _ := strings.Cut(f.function, "/")
	first, _, _ = strings.Cut(first, ".")
	return first == f.function || slices.Contains(standardLibrary, first)
}
