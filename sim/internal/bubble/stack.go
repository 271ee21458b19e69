package bubble

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// Stack is a goroutine as the runtime prints it, without labels.
type Stack string

// frame is a function's part of a stack.
type frame struct {
	function, file string
	line           int
	creator        bool // it is that of who has started the goroutine
}

// How much is read of all stacks: to find some, or one among all, as recipes leave goroutines behind. Most stacks take less
// than stackBytes, so that one dump suffices; a message shows stacksMax different ones.
const (
	StackBytesMax      = 1 << 20
	EveryStackBytesMax = 1 << 26

	stackBytes = 1 << 11
	stacksMax  = 5
)

// AllStacks returns the stacks of all goroutines that fit into the bytes, the caller's first.
func AllStacks(most int) (stacks []Stack) {
	buf := make([]byte, min(most, max(StackBytesMax, runtime.NumGoroutine()*stackBytes)))
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < most {
		buf = make([]byte, min(most, 2*n))
		n = runtime.Stack(buf, true)
	}
	for stack := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		head, rest, _ := strings.Cut(stack, "\n")
		if state, _, labelled := strings.Cut(head, " labels:{"); labelled {
			stack = state + "]:\n" + rest
		}
		stacks = append(stacks, Stack(stack))
	}
	return stacks
}

// Goroutines returns the stacks of the caller's bubble by goroutine, the simulator's own left out, of those that fit into
// the bytes.
func Goroutines(most int) map[string]Stack {
	stacks, all := AllStacks(most), map[string]Stack{}
	mine := stacks[0].Bubble()
	for _, stack := range stacks[1:] {
		if stack.Bubble() == mine && !stack.ofSimulator() {
			id, _, _ := strings.Cut(string(stack), " [")
			all[id] = stack
		}
	}
	return all
}

// Number is the number of the caller's synctest bubble, 0 if there is none.
func Number() int {
	var buf [128]byte
	return Stack(buf[:runtime.Stack(buf[:], false)]).Bubble()
}

func (s Stack) head() string {
	head, _, _ := strings.Cut(string(s), "\n")
	return head
}

// Bubble is the number of the goroutine's bubble, 0 if it is in none.
func (s Stack) Bubble() int {
	_, rest, _ := strings.Cut(s.head(), "synctest bubble ")
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }) // "]" or labels follow
	n, _ := strconv.Atoi(rest[:max(digits, 0)])
	return n
}

// awake reports whether it is in a bubble, and not durably blocked.
func (s Stack) awake() bool {
	return strings.Contains(s.head(), "synctest bubble") && !strings.Contains(s.head(), "durable")
}

func (s Stack) ofSimulator() bool {
	return s.Loops() || strings.Contains(string(s), "testing.tRunner(")
}

// Loops reports whether it is a world's loop.
func (s Stack) Loops() bool { return strings.Contains(string(s), "zktorture/sim/world.(*World).run(") }

// Asks reports whether it waits for the answer to a request through go-zookeeper.
func (s Stack) Asks() bool { return strings.Contains(string(s), "zk.(*Conn).request(") }

// frames are its frames, innermost first.
func (s Stack) frames() (frames []frame) {
	lines := strings.Split(string(s), "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function, creator := strings.CutPrefix(lines[i], "created by ")
		if creator {
			function, _, _ = strings.Cut(function, " in goroutine ")
		} else {
			function = function[:max(strings.LastIndexByte(function, '('), 0)]
		}
		if at := fileAndLine.FindStringSubmatch(lines[i+1]); at != nil {
			line, _ := strconv.Atoi(at[2])
			frames = append(frames, frame{function, at[1], line, creator})
		}
	}
	return frames
}

var fileAndLine = regexp.MustCompile(`^\t(.*):(\d+)`)

// place is its innermost function of the recipe; if there is none, the innermost of go-zookeeper.
func (s Stack) place() (place string) {
	for _, f := range s.frames() {
		if whose(f.function) < ofLibrary {
			continue
		}
		at := fmt.Sprintf("%s (%s:%d)", path.Base(f.function), baseOf(f.file), f.line)
		if !strings.HasPrefix(at, "zk.") {
			return at
		}
		place = cmp.Or(place, at)
	}
	return place
}

// At says where it is in the recipe, with a word before it; "" if it is nowhere.
func (s Stack) At() string {
	if places := s.places(); len(places) > 0 {
		return fmt.Sprintf(" at %v", places[0])
	}
	return ""
}

// Mutex says in which call for a mutex it waits, and where in the recipe that is: sync.Mutex.Lock at file.go:12. It is empty
// if it waits for none.
func (s Stack) Mutex() (call string) {
	for _, f := range s.frames() {
		if strings.HasPrefix(f.function, "sync.") && !strings.Contains(f.function, "runtime_") {
			call = strings.NewReplacer("(*", "", ")", "", ".doSlow", ".Do", ".lockSlow", ".Lock").Replace(f.function)
		} else if call != "" {
			return call + s.At()
		}
	}
	return ""
}

// plain is it without what differs between equal runs: numbers of goroutines and addresses.
func (s Stack) plain() string { return varying.ReplaceAllString(string(s), "$1$2") }

var varying = regexp.MustCompile(`(?m)^(goroutine) \d+|, (?:\d+ minutes, )?synctest bubble \d+|` +
	`(\.\w+)?\((?:[^()\n]*0x[^()\n]*)\)$| \+0x[0-9a-f]+$| in goroutine \d+$`)

// tellAll tells some stacks, without those of the simulator: different texts, in their order, and not too many.
func tellAll(wanted func(Stack) bool, most int, text func(Stack) string, between string) string {
	var all []string
	for _, stack := range AllStacks(most) {
		if stack.ofSimulator() || !wanted(stack) {
			continue
		}
		if t := text(stack); !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	slices.Sort(all)
	if more := len(all) - stacksMax; more > 0 {
		all = append(all[:stacksMax], fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(all, between)
}

// AwakeStacks returns the stacks of the goroutines in bubbles that are not durably blocked.
func AwakeStacks() string { return tellAll(Stack.awake, StackBytesMax, Stack.plain, "\n\n") }

// AwakeAtMutexes says at which mutexes goroutines in bubbles wait, not durably.
func AwakeAtMutexes() string {
	return tellAll(func(s Stack) bool {
		return s.awake() && (strings.Contains(s.head(), "[sync.Mutex") || strings.Contains(s.head(), "[sync.RWMutex"))
	}, StackBytesMax, Stack.Mutex, ", ")
}

// Stacks returns the stacks of the goroutines in a bubble. What other episodes have left behind does not matter.
func Stacks(number int) string {
	return tellAll(func(s Stack) bool { return s.Bubble() == number }, EveryStackBytesMax, Stack.plain, "\n\n")
}

// LeftPlaces names the functions at which goroutines stand that have been left behind in a bubble.
func LeftPlaces(number int) string {
	if number == 0 { // nobody wanted to know it
		return "a process that has died"
	}
	return tellAll(func(s Stack) bool { return s.Bubble() == number }, EveryStackBytesMax, Stack.place, ", ")
}

// LeftBehind names the functions at which goroutines stand in all bubbles.
func LeftBehind() string {
	return tellAll(func(s Stack) bool { return s.Bubble() != 0 }, EveryStackBytesMax, Stack.place, ", ")
}

// LoopStacks returns the stacks of worlds' loops in which a function is under way.
func LoopStacks(function string) string {
	var out []string
	for _, stack := range AllStacks(EveryStackBytesMax) {
		if stack.Loops() && strings.Contains(string(stack), function) {
			out = append(out, stack.plain())
		}
	}
	return strings.Join(out[:min(len(out), stacksMax)], "\n\n")
}

// Caller is the place in the user's code at which the goroutine stands that calls it.
func Caller() string {
	stack := make([]byte, 1<<14)
	return Stack(stack[:runtime.Stack(stack, false)]).Caller(func() []Stack { return AllStacks(EveryStackBytesMax) })
}

// Caller is the place in the user's code that it is about. A goroutine of go-zookeeper's, or of the standard library's, is
// that of the goroutine that has started it, which has gone on since.
func (s Stack) Caller(all func() []Stack) string {
	place, by := s.place(), createdBy.FindStringSubmatch(string(s))
	if by == nil || place != "" && !strings.HasPrefix(place, "zk.") {
		return place
	}
	for _, other := range all() {
		if strings.HasPrefix(string(other), by[1]+" [") {
			return strings.TrimPrefix(place+", of the goroutine that is at "+other.place()+" by now", ", of ")
		}
	}
	return place
}

var createdBy = regexp.MustCompile(`(?m)^created by .* in (goroutine \d+)$`)

// PanicStack returns the stack of a goroutine that has panicked or is ended, from the place of that on.
func PanicStack() string {
	stack := string(debug.Stack())
	for _, by := range []string{"\nruntime.Goexit(", "\npanic("} {
		if _, after, ok := strings.Cut(stack, by); ok {
			_, after, _ = strings.Cut(after, "\n") // arguments
			_, stack, _ = strings.Cut(after, "\n") // place
		}
	}
	return Stack(stack).plain()
}
