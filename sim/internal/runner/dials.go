package runner

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

// dialsForReal says where a goroutine of a bubble waits for the network of this machine, "" if none does.
func dialsForReal() string {
	stacks := bubble.AllStacks(bubble.EveryStackBytesMax)
	for _, stack := range stacks {
		if inNet.MatchString(stack) && bubble.Of(stack) != 0 {
			return world.HowToConnect + ". It waits for the network of this machine at " + callerOf(stack, stacks)
		}
	}
	return ""
}

var (
	inNet     = regexp.MustCompile(`(?m)^net\.\(\*(Dialer|Resolver|netFD|sysDialer)\)`)
	createdBy = regexp.MustCompile(`(?m)^created by .* in (goroutine \d+)$`)
)

// callerOf is the place in the user's code that a stack is about. A goroutine of go-zookeeper's is that of the
// goroutine that has connected, which has gone on since.
func callerOf(stack string, all []string) string {
	_, rest, _ := strings.Cut(stack, "\n")
	place := bubble.PlaceOf(rest)
	by := createdBy.FindStringSubmatch(stack)
	if by == nil || !strings.HasPrefix(place, "zk.") {
		return place
	}
	i := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, by[1]+" [") })
	if i < 0 {
		return place
	}
	_, rest, _ = strings.Cut(all[i], "\n")
	return place + ", of the goroutine that is at " + bubble.PlaceOf(rest) + " by now"
}
