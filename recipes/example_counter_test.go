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

func ExampleCounter() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	visits := recipes.NewCounter(conn, "/visits")
	for range 3 {
		switch _, err := visits.Add(ctx, 1); {
		case errors.Is(err, recipes.ErrUnknownOutcome):
			fmt.Println("perhaps counted; to repeat it might count twice")
		case err != nil:
			log.Fatal(err) // surely not counted
		}
	}
	n, err := visits.Get(ctx)
	fmt.Println(n, err)
	// Output: 3 <nil>
}
