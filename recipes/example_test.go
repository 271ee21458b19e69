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

func ExampleLock() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	lock := recipes.NewLock(conn, "/billing/lock")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	select {
	case <-lock.Lost():
		fmt.Println("somebody else may be at it")
	default:
		fmt.Println("write with a token:", lock.Token() > 0)
	}
	if err := lock.Unlock(ctx); errors.Is(err, recipes.ErrLost) {
		fmt.Println("the lock was lost on the way")
	}
	// Output: write with a token: true
}

func ExampleQueue() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	queue := recipes.NewQueue(conn, "/jobs", recipes.WithReceipts())
	for _, job := range []string{"wash", "rinse"} {
		if err := queue.Offer(ctx, []byte(job)); err != nil {
			log.Fatal(err)
		}
	}
	for {
		job, err := queue.Poll(ctx)
		if err == recipes.ErrEmpty {
			break
		}
		if unknown := new(recipes.UnknownOutcomeError); errors.As(err, &unknown) {
			fmt.Printf("perhaps taken by this process: %s\n", unknown.Data)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", job)
	}
	// Output:
	// wash
	// rinse
}
