package recipes_test

import (
	"context"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func ExampleDoubleBarrier() {
	servers := goclient.NewLocal(fakezk.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	const parties, rounds = 3, 2
	var mu sync.Mutex
	done := make([]int, rounds)
	var workers sync.WaitGroup
	for range parties {
		// In production each worker is a process with: conn, _, err := zk.Connect(servers, timeout)
		conn, _, err := servers.Connect(10 * time.Second)
		if err != nil {
			log.Fatal(err)
		}
		defer conn.Close()
		workers.Go(func() {
			barrier := recipes.NewDoubleBarrier(conn, "/simulation/step", parties)
			for round := range rounds {
				if err := barrier.Enter(ctx); err != nil {
					log.Fatal(err) // do not compute: the others are not there
				}
				mu.Lock()
				done[round]++
				mu.Unlock()
				if err := barrier.Leave(ctx); err != nil {
					log.Fatal(err) // ErrPlaceLost: the others went on without this one
				}
				mu.Lock()
				if done[round] != parties {
					fmt.Println("somebody left too early")
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	fmt.Println(done)
	// Output: [3 3]
}
