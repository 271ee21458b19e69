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
	fmt.Print(told.Text(story.TextOptions{Brief: true})) // as a page: told.HTML(file)
	// Output:
	// lock (broken): c1 waits forever in acquire: it watches x-…-0000, which does not exist; its own
	// x-…-0001 is first in the queue, so the lock is free and nothing will ever wake it (lost-wakeup)
	//
	//   step  c1
	//      0  ┌ u1 acquire()
	//         ┌ u2 acquire()
	//      1  │ u1 exists lock ok
	//      2  │ u2 exists lock ok
	//      3  │ u1 children lock = []
	//      4  │ u2 children lock = []
	//      5  │ u1 create x-…-0000
	//      6  │ u2 create x-…-0001
	//      7  │ u1 children lock = [x-…-0000 x-…-0001]
	//         └ u1 acquire() ok
	//         ┌ u1 release()
	// ┌    8  │ u2 children lock = [x-…-0000 x-…-0001]
	// │    9  │ u1 delete x-…-0000 ok
	// │       └ u1 release() ok
	// └   10  │ u2 exists+watch x-…-0000 = node does not exist
	//         ╎ acquire waits forever
	//
	// why: c1 (user 2)'s acquire() watches x-…-0000 from step 10 on, and that was gone since step 9
	//
	// help: It was gone before you watched it, and nothing will make it again: use GetW, which fails then,
	//      or read the list again when ExistsW finds nothing
	//       https://github.com/zktorture/zktorture/blob/main/docs/cookbook/lost-wake-up.md
}
