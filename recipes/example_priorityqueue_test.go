package recipes_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func ExamplePriorityQueue() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	queue := recipes.NewPriorityQueue(conn, "/alarms", recipes.WithReceipts())
	for _, alarm := range []struct {
		priority int32
		text     string
	}{{5, "disk full"}, {-1, "fire"}, {5, "fan loud"}} {
		if err := queue.Offer(ctx, alarm.priority, []byte(alarm.text)); err != nil {
			log.Fatal(err)
		}
	}
	for {
		alarm, err := queue.Poll(ctx)
		if err == recipes.ErrEmpty {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", alarm)
	}
	// Output:
	// fire
	// disk full
	// fan loud
}
