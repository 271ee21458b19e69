package ensemble_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/zktorture/zktorture/ensemble"
	"github.com/zktorture/zktorture/zkclient"
)

// Three real servers, of which the leader dies: a client keeps its session. It needs Java.
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

	struck, err := servers.Strike(ctx, ensemble.Fault{Kind: ensemble.Kill, Target: ensemble.Leader})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := client.Get("/"); err != nil { // it is answered when there is another leader
		log.Fatal(err)
	}
	fmt.Println(struck, "and the session is the same:", client.SessionID() == before)
}

// Faults are read as they print: in a plan, say, or a flag.
func ExampleParseFault() {
	for _, text := range []string{"partition leader", "lag follower 1s", "lossy server.2 30%", "explode leader"} {
		fault, err := ensemble.ParseFault(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s strikes %v\n", fault.Kind, fault.Target)
	}
	// Output:
	// partition strikes leader
	// lag strikes follower
	// lossy strikes server.2
	// ensemble: fault "explode leader": there is no kind "explode": the kinds are kill, stop, lag, partition, mute, deaf and lossy
}
