package recipes_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// integers is the queue of integers of ZooKeeper's tutorial ("Programming with ZooKeeper - A basic
// tutorial"), with produce and consume as there. What goes wrong there does not here: the queue
// finds items by the names that the servers gave them, of two consumers that meet each gets an
// item of its own, and an integer that may have been consumed is in the error.
type integers struct{ queue *recipes.Queue }

func (i integers) produce(ctx context.Context, n int32) error {
	return i.queue.Offer(ctx, binary.BigEndian.AppendUint32(nil, uint32(n)))
}

// consume waits for an integer.
func (i integers) consume(ctx context.Context) (int32, error) {
	data, err := i.queue.Take(ctx)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(data)), nil
}

func ExampleQueue_producerConsumer() {
	servers := goclient.NewLocal(fakezk.Config{})
	connect := func() integers {
		// In production: conn, _, err := zk.Connect(servers, timeout)
		conn, _, err := servers.Connect(10 * time.Second)
		if err != nil {
			log.Fatal(err)
		}
		return integers{recipes.NewQueue(conn, "/app1", recipes.WithReceipts())}
	}
	producer, consumer := connect(), connect()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		for n := range int32(5) {
			if err := producer.produce(ctx, 10+n); err != nil {
				log.Fatal(err)
			}
		}
	}()
	for range 5 {
		n, err := consumer.consume(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 10
	// 11
	// 12
	// 13
	// 14
}
