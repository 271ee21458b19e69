package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func ExampleTwoPhase() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	bank := recipes.NewTwoPhase(conn, "/bank")
	for _, tx := range []string{"transfer-1", "transfer-2"} {
		if err := bank.Begin(ctx, tx, []byte("100 from a to b"), "a", "b"); err != nil {
			log.Fatal(err)
		}
		if err := bank.Vote(ctx, tx, "a", true); err != nil {
			log.Fatal(err)
		}
	}
	if err := bank.Vote(ctx, "transfer-1", "b", true); err != nil {
		log.Fatal(err)
	}
	commit, err := bank.Outcome(ctx, "transfer-1")
	fmt.Println("the first commits:", commit, err)

	// The second waits for b, which is slow; a does not want to wait any longer.
	commit, err = bank.Abort(ctx, "transfer-2")
	fmt.Println("the second commits:", commit, err)
	err = bank.Vote(ctx, "transfer-2", "b", true)
	fmt.Println("b is too late:", errors.Is(err, recipes.ErrAborted))
	// Output:
	// the first commits: true <nil>
	// the second commits: false <nil>
	// b is too late: true
}
