package bubble

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// stacksMax is how many different stacks a message shows, and StackBytesMax how much is read to find them.
const (
	stacksMax     = 5
	StackBytesMax = 1 << 20
)

// stackBytes is more than most stacks take, so that one dump suffices.
const stackBytes = 1 << 11

// EveryStackBytesMax is how much is read to find one stack among all: recipes leave goroutines behind.
const EveryStackBytesMax = 1 << 26

// AwakeStacks returns the stacks of the goroutines in bubbles that are not durably blocked.
func AwakeStacks() string { return stacksThat(awake, StackBytesMax) }

func awake(stack string) bool {
	head, _, _ := strings.Cut(stack, "\n")
	return strings.Contains(head, "synctest bubble") && !strings.Contains(head, "durable")
}

// Stacks returns the stacks of the goroutines in a bubble. What other episodes have left behind does not matter.
func Stacks(number int) string {
	return stacksThat(func(stack string) bool { return Of(stack) == number }, EveryStackBytesMax)
}

// stacksThat returns some stacks, each once, without those of the simulator.
func stacksThat(wanted func(stack string) bool, most int) string {
	var out []string
	for _, stack := range AllStacks(most) {
		if ofSimulator(stack) || !wanted(stack) {
			continue
		}
		if stack = plainStack(stack); !slices.Contains(out, stack) {
			out = append(out, stack)
		}
	}
	slices.Sort(out)
	if more := len(out) - stacksMax; more > 0 {
		out = append(out[:stacksMax], fmt.Sprintf("… and %d more", more))
	}
	return strings.Join(out, "\n\n")
}

// LoopStacks returns the stacks of worlds' loops in which a function is under way.
func LoopStacks(function string) string {
	var out []string
	for _, stack := range AllStacks(EveryStackBytesMax) {
		if runsLoop(stack) && strings.Contains(stack, function) {
			out = append(out, plainStack(stack))
		}
	}
	return strings.Join(out[:min(len(out), stacksMax)], "\n\n")
}

// AllStacks returns the stacks of all goroutines that fit into the bytes, the caller's first, without labels.
func AllStacks(most int) []string {
	buf := make([]byte, min(most, max(StackBytesMax, runtime.NumGoroutine()*stackBytes)))
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < most {
		buf = make([]byte, min(most, 2*n))
		n = runtime.Stack(buf, true)
	}
	stacks := strings.Split(string(buf[:n]), "\n\n")
	for i, stack := range stacks {
		head, rest, _ := strings.Cut(stack, "\n")
		if state, _, labelled := strings.Cut(head, " labels:{"); labelled {
			stacks[i] = state + "]:\n" + rest
		}
	}
	return stacks
}

// Of is the number of the bubble of a stack's goroutine, 0 if it is in none.
func Of(stack string) int {
	head, _, _ := strings.Cut(stack, "\n")
	_, rest, _ := strings.Cut(head, "synctest bubble ")
	digits := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }) // "]" or labels follow
	n, _ := strconv.Atoi(rest[:max(digits, 0)])
	return n
}

func ofSimulator(stack string) bool {
	return runsLoop(stack) || strings.Contains(stack, "testing.tRunner(")
}

// runsLoop reports whether a stack is that of a world's loop, or of a goroutine that leads it.
func runsLoop(stack string) bool {
	return strings.Contains(stack, "zktorture/sim/world.(*World).run(") || strings.Contains(stack, "zktorture/sim/world.leads(")
}

// PanicStack returns the stack of a goroutine that has panicked or is ended, from the place of that on.
func PanicStack() string {
	stack := string(debug.Stack())
	for _, by := range []string{"\nruntime.Goexit(", "\npanic("} {
		if _, after, ok := strings.Cut(stack, by); ok {
			_, after, _ = strings.Cut(after, "\n") // arguments
			_, stack, _ = strings.Cut(after, "\n") // place
		}
	}
	return plainStack(stack)
}

// plainStack removes what differs between equal runs: numbers of goroutines and addresses.
func plainStack(stack string) string { return varying.ReplaceAllString(stack, "$1$2") }

var varying = regexp.MustCompile(`(?m)^(goroutine) \d+|, (?:\d+ minutes, )?synctest bubble \d+|` +
	`(\.\w+)?\((?:[^()\n]*0x[^()\n]*)\)$| \+0x[0-9a-f]+$| in goroutine \d+$`)
