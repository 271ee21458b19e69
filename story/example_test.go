package story_test

import (
	"context"
	"fmt"
	"log"

	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// What a campaign has found becomes a counterexample; run again, it becomes a story.
func ExampleTell() {
	lock, err := workload.Find("lock", "broken")
	if err != nil {
		log.Fatal(err)
	}
	config := sim.Config{Seed: 1, NoFaultsAtAll: true, Until: "lost-wakeup"}
	result, err := sim.Run(context.Background(), lock, config)
	if err != nil || len(result.Violations) == 0 {
		log.Fatal("nothing was found: ", err)
	}
	counterexample, err := config.Counterexample(result, result.Violations[0])
	if err != nil {
		log.Fatal(err)
	}
	told, err := story.Tell(context.Background(), lock, counterexample)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(told.Text(story.TextOptions{Width: 100})) // as a page: told.HTML(file)
	// Output:
	// lock (broken): c2 still waits in acquire: it watches x-…-0000, which does not exist; its own
	// x-…-0001 is first in the queue, so the lock is free and nothing will ever wake it (lost-wakeup)
	//
	//   step     time  c1                                         c2
	// *    0   0.000s  ┌ acquire()                                ┌ acquire()
	//      1           │ exists lock ok                           │
	//      2           │ children lock = []                       │
	//      3           │ create x-…-0000                          │
	//      4           │                                          │ exists lock ok
	//      5           │                                          │ children lock = [x-…-0000]
	//      6           │                                          │ create x-…-0001
	//      7           │                                          │ children lock = [x-…-0001 x-…-0000]
	// =>   8           │ children lock = [x-…-0001 x-…-0000]      │
	//                  └ acquire() ok: 0                          │
	//                  ┌ release()                                │
	//      9           │ delete x-…-0000 ok                       │
	//                  └ release() ok                             │
	//     10                                                      │ exists+watch x-…-0000 = node does not
	//                                                             │   exist
	// *                                                           ╎ acquire waits for ever
	//
	//   * an operation that the verdict is about   => the pivotal step
	//
	// sessions
	//   s1 = 0x100000000000001, client c1, open from step 0, never ends
	//   s2 = 0x100000000000002, client c2, open from step 0, never ends
	//
	// znodes involved
	//   x-…-0000 = /t/lock/x-72057594037927937-0000000000
	//   - step 3: created by c1's acquire (ephemeral, s1); step 9: deleted by c1's release
	//   x-…-0001 = /t/lock/x-72057594037927938-0000000001
	//   - step 6: created by c2's acquire (ephemeral, s2); never deleted
	//
	// stuck: who waits for what, with all faults healed
	//   c2 in acquire() since step 0, session s2: for x-…-0000 to be created (deleted at step 9)
	//
	// pivotal step
	//   step 8 (c1: children lock = [x-…-0001 x-…-0000]): from before it 17 of 100 random runs end in
	//     lost-wakeup, from after it 75; from after step 9 all
	//   why: c2 acts on a stale read: children lock at step 7, then c1: delete x-…-0000 ok at step 9; its
	//     next request arrives at step 10
	//   from step 0 to 10: ▁▁▁▁▁▁▁▂▆██
}
