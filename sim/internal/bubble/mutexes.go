package bubble

import (
	"fmt"
	"slices"
	"strings"
)

// MutexPlace says in which call for a mutex a goroutine waits, and where in the recipe that is, from its stack without the
// first line: sync.Mutex.Lock at file.go:12. It is empty if it waits for none.
func MutexPlace(stack string) string {
	var call string
	for line := range strings.Lines(stack) {
		function := line[:max(strings.LastIndexByte(line, '('), 0)]
		switch {
		case strings.HasPrefix(line, "\t"):
		case strings.HasPrefix(function, "sync.") && !strings.Contains(function, "runtime_"):
			call = strings.NewReplacer("(*", "", ")", "", ".doSlow", ".Do", ".lockSlow", ".Lock").Replace(function)
		case call != "":
			return call + At(stack)
		}
	}
	return ""
}

// AwakeAtMutexes says at which mutexes goroutines in bubbles wait, not durably.
func AwakeAtMutexes() string {
	var places []string
	for _, stack := range AllStacks(StackBytesMax) {
		head, rest, _ := strings.Cut(stack, "\n")
		if !awake(stack) || ofSimulator(stack) || !strings.Contains(head, "[sync.Mutex") && !strings.Contains(head, "[sync.RWMutex") {
			continue
		}
		if place := MutexPlace(rest); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return strings.Join(places[:min(len(places), stacksMax)], ", ")
}

// At says where a stack is in the recipe, with a word before it; "" if it is nowhere.
func At(stack string) string {
	if places := placesOfStack(stack); len(places) > 0 {
		return fmt.Sprintf(" at %v", places[0])
	}
	return ""
}
