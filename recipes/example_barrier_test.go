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

func ExampleBarrier() {
	// In production: conn, _, err := zk.Connect(servers, timeout)
	conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ctx := context.Background()
	maintenance := recipes.NewBarrier(conn, "/shop/maintenance")
	if err := maintenance.Shut(ctx); err != nil {
		log.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if err := maintenance.Wait(soon); errors.Is(err, context.DeadlineExceeded) {
		fmt.Println("closed for maintenance")
	}
	if err := maintenance.Open(ctx); err != nil {
		log.Fatal(err)
	}
	if err := maintenance.Wait(ctx); err == nil {
		fmt.Println("come in")
	}
	// Output:
	// closed for maintenance
	// come in
}
