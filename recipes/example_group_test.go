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

func ExampleGroup() {
	servers := goclient.NewLocal(fakezk.Config{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	join := func(name string) *recipes.Group {
		// In production: conn, _, err := zk.Connect(servers, timeout)
		conn, _, err := servers.Connect(10 * time.Second)
		if err != nil {
			log.Fatal(err)
		}
		group := recipes.NewGroup(conn, "/workers", name)
		if err := group.Join(ctx); err != nil {
			log.Fatal(err)
		}
		return group
	}
	anna, bert := join("anna"), join("bert")
	members, err := anna.Members(ctx)
	fmt.Println(members, err)

	if err := bert.Leave(ctx); err != nil {
		log.Fatal(err)
	}
	members, err = anna.Changed(ctx, members) // waits until they are not these any more
	fmt.Println(members, err)
	// Output:
	// [anna bert] <nil>
	// [anna] <nil>
}
