package sim

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// outsider says whose code connects without the world, [ByDialer]: it began an operation, or panicked, and has never
// dialled by the door. It is "" if all have. An ordinary build cannot hold code that dials by itself; it sees what
// comes of it: this, and [dialsForReal].
func (w *World) outsider() string {
	if w.door != ByDialer {
		return ""
	}
	for _, p := range w.procs {
		if p.door == nil || p.door.dead() || len(p.door.lines) > 0 {
			continue
		}
		i := slices.IndexFunc(w.ops, func(op *Op) bool { return op.Client == p.id && op.Incarnation == p.incarnation })
		switch {
		case i >= 0 && w.ops[i].Err != nil:
			return fmt.Sprintf("%s. c%d never dialled, and its %s failed: %v", howToConnect, p.id+1, w.ops[i].Name, w.ops[i].Err)
		case len(w.panicked) > 0:
			return howToConnect + ". It never dialled, and " + w.panicked[0].Message
		case i >= 0:
			return fmt.Sprintf("%s. c%d began its %s, and never dialled", howToConnect, p.id+1, w.ops[i].Name)
		}
	}
	return ""
}

// prepareNet lets package net make its own things before code in a bubble looks a name up: the channels among them
// would belong to that bubble, and end the process when anybody else uses them.
var prepareNet = sync.OnceFunc(func() {
	host, _, _ := net.SplitHostPort(addresses[0])
	net.LookupHost(host)
})

const howToConnect = "the code connects without the option that the simulated world gives. Pass it on: " +
	"zk.Connect(s.Addresses, timeout, s.Option), s being the workload.Servers; or, where the code takes a dialer only, " +
	"zk.Connect(s.Literals, timeout, zk.WithDialer(s.Dial))"

// dialsForReal says where a goroutine of a bubble waits for the network of this machine, "" if none does.
func dialsForReal() string {
	stacks := allStacks(everyStackBytesMax)
	for _, stack := range stacks {
		if inNet.MatchString(stack) && bubbleOf(stack) != 0 {
			return howToConnect + ". It waits for the network of this machine at " + callerOf(stack, stacks)
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
	place := placeOf(rest)
	by := createdBy.FindStringSubmatch(stack)
	if by == nil || !strings.HasPrefix(place, "zk.") {
		return place
	}
	i := slices.IndexFunc(all, func(s string) bool { return strings.HasPrefix(s, by[1]+" [") })
	if i < 0 {
		return place
	}
	_, rest, _ = strings.Cut(all[i], "\n")
	return place + ", of the goroutine that is at " + placeOf(rest) + " by now"
}
