package runner

import (
	"fmt"
	"time"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// describeFreeze says why a bubble stands still, from the stacks of its goroutines. In a bubble every goroutine must
// come to wait on a channel, a timer or a WaitGroup, or in exact mode on a mutex of the bubble's; one that waits for another
// sync.Mutex, or computes without end, stops the world. So does a workload that judges for too long, and a bug of the
// simulator: neither is blamed on the recipe.
func describeFreeze() string {
	time.Sleep(200 * time.Millisecond) // by the wall clock: lets healthy worlds come to their end
	return fmt.Sprintf("no progress for %v: %s", FreezeAfter, standsAt())
}

// standsAt says at what a bubble stands still.
func standsAt() string {
	text, reason := bubble.AwakeStacks(), ""
	mutexes := bubble.AwakeAtMutexes()
	judge := bubble.LoopStacks("zktorture/sim/world.judge(")
	switch {
	case judge != "":
		text, reason = judge, "the world has ended and is being judged, "+
			"which takes too long: a mistake of the workload's and not of the recipe"
	case mutexes != "" && bubble.Exact:
		reason = "a goroutine waits in " + mutexes + ", and a goroutine outside of the world keeps that locked"
	case mutexes != "":
		reason = "a goroutine waits in " + mutexes + ", which is kept locked, most likely across a call to ZooKeeper. Only exact " +
			"mode steps over that: test with torture test in place of go test, or with torture run --exact"
	case text != "":
		reason = "a goroutine of the recipe is busy without calling ZooKeeper, or waits for a global channel, or dialled by itself"
	default:
		text, reason = bubble.LoopStacks("zktorture/sim/world."),
			"no goroutine of the recipe runs: it is the simulator itself that stands still, which is a mistake in it"
	}
	return reason + "\n" + text
}
