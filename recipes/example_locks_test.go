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

func ExampleReentrantLock() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	owner := recipes.NewReentrantLock(conn, "/ledger/lock")
	book := func() error { // may be called with the lock held, or without
		if err := owner.Lock(ctx); err != nil {
			return err
		}
		defer owner.Unlock(ctx)
		fmt.Println("booked, holds:", owner.Holds())
		return nil
	}
	if err := owner.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	if err := book(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("still held:", owner.Holds())
	if err := owner.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// booked, holds: 2
	// still held: 1
}

func ExampleMultiLock() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	from, to := "/accounts/7/lock", "/accounts/3/lock"
	both := recipes.NewMultiLock(conn, []string{from, to})
	if err := both.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("tokens:", both.Token(from) > 0, both.Token(to) > 0)
	if err := both.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: tokens: true true
}

func ExampleRWLock() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	writer, reader := recipes.NewRWLock(conn, "/config/lock"), recipes.NewRWLock(conn, "/config/lock")
	if err := writer.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	if err := writer.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	for _, l := range []*recipes.RWLock{writer, reader} { // readers hold it together
		if err := l.RLock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(writer.RUnlock(ctx), reader.RUnlock(ctx))
	// Output: <nil> <nil>
}

func ExampleSemaphore() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	for i := range 3 {
		got, err := recipes.NewSemaphore(conn, "/exports", 2).TryAcquire(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(i+1, got)
	}
	// Output:
	// 1 true
	// 2 true
	// 3 false
}

func ExampleSimpleLock() {
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	lock := recipes.NewSimpleWatchLock(conn, "/nightly")
	if err := lock.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	got, err := recipes.NewSimpleRetryLock(conn, "/nightly").TryLock(ctx) // the same lock
	fmt.Println(got, err)
	if err := lock.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: false <nil>
}
