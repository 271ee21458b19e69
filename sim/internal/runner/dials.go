package runner

import (
	"regexp"

	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/world"
)

// dialsForReal says where a goroutine of a bubble waits for the network of this machine, "" if none does; in exact mode none can.
func dialsForReal() string {
	stacks := bubble.AllStacks(bubble.EveryStackBytesMax)
	for _, stack := range stacks {
		if !bubble.Exact && inNet.MatchString(string(stack)) && stack.Bubble() != 0 {
			return world.HowToConnect + ". It waits for the network of this machine at " + stack.Caller(func() []bubble.Stack { return stacks })
		}
	}
	return ""
}

var inNet = regexp.MustCompile(`(?m)^net\.\(\*(Dialer|Resolver|netFD|sysDialer)\)`)
