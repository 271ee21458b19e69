package recipes_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// In production the connection is zk.Connect's. Each reader gets every event.
func ExampleWithEvents() {
	servers := goclient.NewLocal(fakezk.Config{})
	plain, events, err := servers.Connect(10 * time.Second) // or zk.Connect
	if err != nil {
		fmt.Println(err)
		return
	}
	conn := recipes.WithEvents(plain, events)
	one, other := recipes.SessionEvents(conn), recipes.SessionEvents(conn)
	for e := range one {
		if e.State == zk.StateHasSession {
			break
		}
	}
	conn.Close()
	for e := range other {
		fmt.Println(e.State)
	}
	// Output:
	// StateConnecting
	// StateConnected
	// StateHasSession
	// StateDisconnected
}
