package zkclient_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
)

// A session with servers of one's own, and a lock in it.
func ExampleConnect() {
	client, err := zkclient.Connect("a:2181,b:2181,c:2181", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.WaitSession(ctx); err != nil {
		log.Fatal(err)
	}
	printer := recipes.NewLock(client, "/locks/printer")
	if err := printer.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	defer printer.Unlock(ctx)
	fmt.Println("the printer is ours")
}

// A server that hangs accepts connections and answers nothing. The wait for a session ends with its context.
func ExampleClient_WaitSession() {
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer hanging.Close()
	client, err := zkclient.Connect(hanging.Addr().String(), 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	err = client.WaitSession(ctx)
	fmt.Println("in time:", !errors.Is(err, context.DeadlineExceeded))
	// Output:
	// in time: false
}
