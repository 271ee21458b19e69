package ensemble_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/zkclient"
)

// Three real servers: the leader dies, and a client keeps its session. It needs Java.
func ExampleStart() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	servers, err := ensemble.Start(ctx, ensemble.Options{Nodes: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer servers.Stop()

	client, err := zkclient.Connect(servers.ConnectString(), 2*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.WaitSession(ctx); err != nil {
		log.Fatal(err)
	}
	before := client.SessionID()

	struck, err := servers.Strike(ctx, ensemble.Fault{Kind: strike.Kill, Target: ensemble.Leader})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := client.Get("/"); err != nil { // it is answered when there is another leader
		log.Fatal(err)
	}
	fmt.Println(struck, "and the session is the same:", client.SessionID() == before)
}
