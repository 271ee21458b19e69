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

func ExampleLockingQueue() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	queue := recipes.NewLockingQueue(conn, "/payments")
	if err := queue.Offer(ctx, []byte("10 to Ada")); err != nil {
		log.Fatal(err)
	}
	paid := map[string]bool{} // in production: a table, written in the transaction that pays
	for {
		claim, err := queue.TryClaim(ctx)
		if err == recipes.ErrEmpty {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if claim.Attempt() == 1 { // say that the first consumer has to give up
			if err := claim.Release(ctx); err != nil {
				log.Fatal(err)
			}
			continue
		}
		if !paid[claim.Token()] {
			paid[claim.Token()] = true
			fmt.Printf("pay %s\n", claim.Data())
		}
		if err := claim.Done(ctx); err != nil {
			log.Print(err) // it may come again; the token tells
		}
	}
	// Output: pay 10 to Ada
}
