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

func ExampleCandidate() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	candidate := recipes.NewCandidate(conn, "/scheduler/leader",
		recipes.WithData([]byte("10.0.0.7:8080")),
		recipes.WithListener(recipes.LockListener{
			Acquired: func() { fmt.Println("elected") },
			Released: func() { fmt.Println("no longer the leader") },
		}))
	err = candidate.Lead(context.Background(), func(ctx context.Context, token int64) error {
		address, _, err := candidate.Leader(ctx) // as anybody may ask
		fmt.Printf("%s leads, with a token: %v\n", address, token > 0)
		return err // a real leader goes on until ctx ends, which says that its term is over
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// elected
	// 10.0.0.7:8080 leads, with a token: true
	// no longer the leader
}
